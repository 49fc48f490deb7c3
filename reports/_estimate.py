"""What a run will use, before it starts: samples, calls, tokens and price."""

import hashlib
import os
import tempfile
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from statistics import mean
from typing import Any

import yaml
from inspect_ai import Task
from inspect_ai.event import ModelEvent
from inspect_ai.log import read_eval_log_samples
from inspect_ai.model import ChatMessage, get_model
from pydantic import TypeAdapter, ValidationError

from misstep.registry import (
    CHARACTERS_PER_TOKEN,
    MisstepError,
    Price,
    Replies,
    assumed_replies,
    evals,
    parse_yaml,
    price_of,
    service_model,
)
from misstep.reports._read_runs import read_logs, read_run
from misstep.reports._runs import Run
from misstep.reports._tasks import DryRun, dry_run, load_task, run_coroutine

_PROTOCOL = ("critic", "style", "calls", "votes", "adaptive", "structured")
"""Task arguments that decide how long completions are."""
_ENCODINGS = "https://openaipublic.blob.core.windows.net/encodings/{}.tiktoken"
"""Where tiktoken downloads an encoding; the name of its cache file derives from it."""
_TOKENS_PER_MESSAGE, _TOKENS_PER_REPLY = 4, 3
"""Tokens around each message and before the reply, from OpenAI's cookbook ("How to count tokens
with tiktoken"), for all chat models since 2023. A role is one more token."""


@dataclass(frozen=True)
class RunEstimate:
    """What a run will use."""

    task: str
    model: str
    samples: int
    calls: int
    completions: int
    prompt_tokens: int
    prompt_rule: str
    prompt_exact: bool
    completion_tokens: int
    completion_rule: str
    price: float | None
    """In dollars, if it is known."""
    price_source: str | None
    roles: tuple[str, ...]
    """The roles of other models that are called. Their tokens are included."""
    measured: int
    """Samples of the dry run. In a search they stand for all samples."""
    failed: int
    """Samples whose dry run failed."""
    failure: str | None

    @property
    def tokens(self) -> int:
        """Prompt tokens and completion tokens."""
        return self.prompt_tokens + self.completion_tokens


def estimate(
    task: Task,
    model: str,
    completion: int | None = None,
    runs: Sequence[Run] = (),
    price: tuple[Price, str] | None = None,
    limit: int | None = None,
    roles: Sequence[str] = (),
    replies: Replies | None = None,
) -> RunEstimate:
    """Estimate what a run of a task will use, by a dry run.

    `completion` is the number of tokens of a reply. By default the replies are as assumed, or as
    long as in earlier runs.
    """
    replies = replies or Replies()
    if completion is not None:
        replies = replies.model_copy(update={"tokens": [completion]})
    counter = token_counter(model)
    walked = run_coroutine(dry_run(task, replies, limit, roles, model))
    if walked.samples and walked.failed == walked.samples:
        raise MisstepError(_failure(task, walked))

    async def count_prompts() -> int:
        return sum([await counter.count(call.messages) for call in walked.calls])

    scale = walked.total / max(1, walked.samples)
    prompt_tokens = round(scale * run_coroutine(count_prompts()))
    completion_tokens, rule = _completion_tokens(walked, replies, () if completion else runs)
    cost = None
    if price is not None:
        cost = (prompt_tokens * price[0].input + completion_tokens * price[0].output) / 1e6
    return RunEstimate(
        task=task.name,
        model=model,
        samples=walked.total,
        calls=round(scale * len(walked.calls)),
        completions=round(scale * walked.completions),
        prompt_tokens=prompt_tokens,
        prompt_rule=counter.rule + (f"; {walked.samples} samples, scaled" if scale > 1 else ""),
        prompt_exact=counter.exact and scale == 1,
        completion_tokens=completion_tokens,
        completion_rule=rule,
        price=cost,
        price_source=price[1] if price else None,
        roles=tuple(sorted({call.role for call in walked.calls if call.role})),
        measured=walked.samples,
        failed=walked.failed,
        failure=walked.failure,
    )


def _failure(task: Task, walked: DryRun) -> str:
    reason = walked.failure or ""
    cure = " Add --model-role ROLE=<model>." if "Model role" in reason else ""
    return f"{task.name}: all samples failed in the dry run: {reason}{cure}"


def estimate_eval(
    name: str,
    arguments: dict[str, Any],
    model: str,
    limit: int | tuple[int, int] | None = None,
    roles: Sequence[str] = (),
    completion: int | None = None,
    runs: Sequence[Run] = (),
    prices: Path | None = None,
) -> RunEstimate:
    """Estimate a run of a registered eval, as `estimate` does.

    The limit may be a range (start and stop, counted from 0). `prices` is a file of prices in
    Inspect's format, which overrides the registry.
    """
    task = load_task(name, arguments)
    start, stop = limit if isinstance(limit, tuple) else (0, limit)
    if start:
        task.dataset = task.dataset[start:stop]
        stop = None
    return estimate(
        task,
        model,
        completion,
        runs,
        price_with_source(model, prices),
        stop,
        roles,
        assumed_replies(name.removeprefix("misstep/")),
    )


def comparable_runs(
    logs: Sequence[str], name: str, model: str, arguments: dict[str, Any]
) -> list[Run]:
    """Return earlier runs of the same eval and model that were asked in the same way."""
    base = name.removeprefix("misstep/").partition(".")[0].replace("-", "_")
    return [
        run
        for run in read_logs(*logs).runs
        if run.eval == base
        and run.model == model
        and all(run.settings.get(key) == arguments.get(key) for key in _PROTOCOL)
    ]


def estimate_notes(arguments: dict[str, Any], result: RunEstimate) -> Iterator[str]:
    """Yield sentences on the limits of an estimate."""
    eval_name, _, variant = result.task.removeprefix("misstep/").partition(".")
    if variant:
        arguments = evals()[eval_name].variants[variant].args | arguments
    if arguments.get("adaptive"):
        yield "Adaptive voting: this is the smallest number of calls, if all votes agree."
    ways = {arguments.get("critic"), arguments.get("protocol")}
    if ways & {"stepwise", "step_by_step", "step", "step_cot"}:
        yield "By step: this is the largest number of calls, if every step is judged right."
    if result.roles:
        yield f"Other models are called too; all tokens are counted at the price of {result.model}."
    if result.failed:
        yield (
            f"{result.failed:,} of {result.measured:,} samples failed in the dry run; only their "
            f"calls before the failure are counted: {result.failure}"
        )


def price_with_source(model: str, file: Path | None = None) -> tuple[Price, str] | None:
    """Return the price of a model and where it comes from: a file of prices, or the registry."""
    if file is not None and (given := _prices_in(file).get(model)):
        return given, str(file)
    known = price_of(model)
    return (known, f"{known.source}, {known.date}") if known else None


def _prices_in(file: Path) -> dict[str, Price]:
    try:
        content = parse_yaml(file.read_text(encoding="utf-8"))
        costs = TypeAdapter(dict[str, dict[str, float]]).validate_python(content)
        facts = {"source": str(file), "date": "2000-01-01"}
        return {
            model: Price.model_validate({key: cost[key] for key in ("input", "output")} | facts)
            for model, cost in costs.items()
        }
    except (yaml.YAMLError, UnicodeDecodeError, ValidationError, KeyError) as problem:
        raise MisstepError(
            f"{file}: not a file of prices; it maps model names to input and output prices: "
            f"{' '.join(str(problem).split())}"
        ) from None


def _completion_tokens(walked: DryRun, replies: Replies, runs: Sequence[Run]) -> tuple[int, str]:
    tokens = [sample.output_tokens for run in runs for sample in run.scored]
    if tokens:
        average = mean(tokens)
        rule = f"{average:,.0f} per sample, the mean of {len(tokens):,} samples of earlier runs"
        return round(average * walked.total), rule
    total = sum(call.tokens * call.completions for call in walked.calls)
    each = ", then ".join(f"{length:,}" for length in replies.tokens)
    if replies.steps:
        rule = f"{replies.steps} steps of {each}, and {replies.judgement} per judgement"
        return round(total * walked.total / max(1, walked.samples)), rule
    longest = max(replies.tokens)
    is_cut = any(call.max_tokens and call.max_tokens < longest for call in walked.calls)
    return total, f"{each} each{', or the token limit if it is lower' if is_cut else ''}"


_MEASURED = 100
"""How many samples of a log are enough to measure the length of completions."""


def measured_completion(location: str) -> int:
    """Return the mean tokens of a completion of the model under test, in a log's first samples.

    A log without transcripts has the tokens of each sample, which are divided by its votes.
    """
    run = read_run(location)
    tokens = completions = 0
    for sample in islice(read_eval_log_samples(location, all_samples_required=False), _MEASURED):
        for event in sample.events:
            if not isinstance(event, ModelEvent) or event.role is not None:
                continue
            if event.output.usage and event.output.choices:
                tokens += event.output.usage.output_tokens
                completions += len(event.output.choices)
    if not tokens:
        known = [sample.output_tokens for sample in run.scored if sample.output_tokens]
        votes = run.settings.get("votes")
        tokens = sum(known)
        completions = len(known) * (votes if isinstance(votes, int) and votes > 0 else 1)
    if not tokens:
        raise MisstepError(f"{location}: it has no completion tokens to measure.")
    return max(1, round(tokens / completions))


@dataclass(frozen=True)
class TokenCounter:
    """A way to count the tokens of a prompt, and its description."""

    rule: str
    exact: bool
    count: Callable[[Sequence[ChatMessage]], Awaitable[int]]


def token_counter(model: str) -> TokenCounter:
    """The most exact way to count for a model without a network."""
    provider, _, name = service_model(model).partition("/")
    if provider == "embedded":
        own = get_model(model)
        return TokenCounter(
            "the model's own tokenizer", True, lambda messages: own.count_tokens(list(messages))
        )
    if provider == "openai" and (encoding := _local_encoding(name.rpartition("/")[2])):
        return _tiktoken_counter(encoding)
    rule = f"characters divided by {CHARACTERS_PER_TOKEN}, an estimate"

    async def count(messages: Sequence[ChatMessage]) -> int:
        return -(-sum(len(message.text) for message in messages) // CHARACTERS_PER_TOKEN)

    return TokenCounter(rule, False, count)


def _tiktoken_counter(name: str) -> TokenCounter:
    import tiktoken

    encoding = tiktoken.get_encoding(name)

    async def count(messages: Sequence[ChatMessage]) -> int:
        texts = [message.text for message in messages]
        tokens = sum(len(encoding.encode(text, disallowed_special=())) for text in texts)
        return tokens + _TOKENS_PER_MESSAGE * len(messages) + _TOKENS_PER_REPLY

    return TokenCounter(f"tiktoken's {name}", True, count)


def _local_encoding(model: str) -> str | None:
    """The name of an OpenAI model's encoding if tiktoken has it without a download."""
    try:
        from tiktoken import encoding_name_for_model
    except ImportError:
        return None
    try:
        name = encoding_name_for_model(model)
    except KeyError:
        return None
    own = os.environ.get("TIKTOKEN_CACHE_DIR", os.environ.get("DATA_GYM_CACHE_DIR"))
    folder = Path(own or Path(tempfile.gettempdir()) / "data-gym-cache")
    key = hashlib.sha1(_ENCODINGS.format(name).encode(), usedforsecurity=False).hexdigest()
    return name if (folder / key).is_file() else None
