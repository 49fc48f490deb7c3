"""What a run will take, before it is made."""

import asyncio
from collections.abc import Coroutine, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from statistics import mean
from typing import TypeVar

from inspect_ai import Task

from misstep.registry import Price, Size
from misstep.reports._runs import Run
from misstep.reports._tokens import TokenCounter, token_counter
from misstep.reports._walk import Walk, walk

T = TypeVar("T")

COMPLETION = 500
"""Tokens of a completion where nothing is known: what the registry counts a critique with."""


@dataclass(frozen=True)
class RunEstimate:
    """What a run will take."""

    task: str
    model: str
    samples: int
    calls: int | None
    """None where their number depends on the answers."""
    completions: int | None
    prompt_tokens: int
    prompt_rule: str
    prompt_exact: bool
    completion_tokens: int
    completion_rule: str
    price: float | None
    """In dollars; None where no price is known."""
    price_source: str | None
    failed: int
    """Samples that could not be walked through."""
    failure: str | None

    @property
    def tokens(self) -> int:
        """Prompt and completion together."""
        return self.prompt_tokens + self.completion_tokens


def estimate(
    task: Task,
    model: str,
    completion: int | None = None,
    runs: Sequence[Run] = (),
    price: tuple[Price, str] | None = None,
    limit: int | None = None,
    roles: Sequence[str] = (),
    size: Size | None = None,
) -> RunEstimate:
    """RunEstimate what a run of a task takes.

    Args:
        task: The task.
        model: The model's name in Inspect.
        completion: Tokens that a completion has; COMPLETION where it is not given.
        runs: Earlier runs of the task in the same way, whose completions are taken instead.
        price: Of the model, and where it is from.
        limit: Only so many samples.
        roles: The roles of other models that the task asks, which are counted as the model itself.
        size: What the registry says of the task at its default settings. It is taken where calls
            depend on what another model says, as in a search.
    """
    counter = token_counter(model)

    walked = _walked(task, completion or COMPLETION, limit, roles)
    prompt_tokens = sum(_in_own_loop(_counted(counter, walked)))
    completion_tokens, rule = _completions(walked, completion, runs)
    prompt_rule, exact = counter.rule, counter.exact
    searched = any(call.role for call in walked.calls)
    if searched and size:
        prompt_tokens, exact = round(walked.samples * size.prompt_tokens / size.samples), False
        prompt_rule = "the registry's mean a sample: how a search goes depends on its answers"
        if not runs:
            completion_tokens = round(walked.samples * size.completion_tokens / size.samples)
            rule = "the registry's mean a sample"
    cost = None
    if price is not None:
        cost = (prompt_tokens * price[0].input + completion_tokens * price[0].output) / 1e6
    return RunEstimate(
        task=task.name,
        model=model,
        samples=walked.samples,
        calls=None if searched else len(walked.calls),
        completions=None if searched else sum(call.completions for call in walked.calls),
        prompt_tokens=prompt_tokens,
        prompt_rule=prompt_rule,
        prompt_exact=exact,
        completion_tokens=completion_tokens,
        completion_rule=rule,
        price=cost,
        price_source=price[1] if price else None,
        failed=walked.failed,
        failure=walked.failure,
    )


async def _counted(counter: TokenCounter, walked: Walk) -> list[int]:
    return [await counter.count(call.messages) for call in walked.calls]


def _walked(task: Task, completion: int, limit: int | None, roles: Sequence[str]) -> Walk:
    return _in_own_loop(walk(task, completion, limit, roles))


def _in_own_loop(work: Coroutine[None, None, T]) -> T:
    """In a thread of its own, where no event loop runs, whoever asks: notebooks have one."""
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(asyncio.run, work).result()


def usual_completion(task: Task, size: Size) -> int:
    """Tokens of a completion by the registry's figures for a task at its default settings."""
    walked = _walked(task, COMPLETION, 3, ())
    drawn = sum(call.completions for call in walked.calls)
    if not drawn or any(call.role for call in walked.calls):
        return COMPLETION
    return max(1, round(size.completion_tokens / size.samples * walked.samples / drawn))


def _completions(walked: Walk, given: int | None, runs: Sequence[Run]) -> tuple[int, str]:
    if runs and given is None:
        tokens = [sample.output_tokens for run in runs for sample in run.scored]
        average = mean(tokens)
        rule = f"{average:,.0f} a sample, the mean of {len(tokens):,} samples of earlier runs"
        return round(average * walked.samples), rule
    each = given or COMPLETION
    lengths = [min(each, call.max_tokens or each) * call.completions for call in walked.calls]
    cut = any(call.max_tokens and call.max_tokens < each for call in walked.calls)
    return sum(lengths), f"{each:,} each{', or the limit where that is less' if cut else ''}"
