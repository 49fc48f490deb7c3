"""What a run will take, before it is made."""

import asyncio
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from statistics import mean

from inspect_ai import Task

from misstep.registry import Price
from misstep.reports._runs import Run
from misstep.reports._tokens import token_counter
from misstep.reports._walk import Walk, walk

COMPLETION = 500
"""Tokens of a completion where nothing is known: what the registry counts a critique with."""


@dataclass(frozen=True)
class RunEstimate:
    """What a run will take."""

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
    """
    counter = token_counter(model)

    async def counted() -> tuple[Walk, int]:
        walked = await walk(task, completion or COMPLETION, limit, roles)
        return walked, sum([await counter.count(call.messages) for call in walked.calls])

    # In a thread of its own, where no event loop runs, whoever asks: notebooks have one.
    with ThreadPoolExecutor(1) as thread:
        walked, prompt_tokens = thread.submit(lambda: asyncio.run(counted())).result()
    completion_tokens, rule = _completions(walked, completion, runs)
    cost = None
    if price is not None:
        cost = (prompt_tokens * price[0].input + completion_tokens * price[0].output) / 1e6
    return RunEstimate(
        task=task.name,
        model=model,
        samples=walked.samples,
        calls=len(walked.calls),
        completions=sum(call.completions for call in walked.calls),
        prompt_tokens=prompt_tokens,
        prompt_rule=counter.rule,
        prompt_exact=counter.exact,
        completion_tokens=completion_tokens,
        completion_rule=rule,
        price=cost,
        price_source=price[1] if price else None,
        failed=walked.failed,
        failure=walked.failure,
    )


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
