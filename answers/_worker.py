"""Comparisons in worker processes that can be stopped, so that no answer can hold up a run."""

import os

import anyio
import anyio.to_process
from anyio import BrokenWorkerProcess, CapacityLimiter
from anyio.lowlevel import RunVar

from misstep.answers._compare import (
    Comparison,
    Outcome,
    compare_plainly,
    compare_texts,
    load_reader,
    too_long,
)

_START_UP = 60.0
"""Seconds that a worker may take to load sympy, on a machine that is busy with a run."""

_workers: RunVar[CapacityLimiter] = RunVar("answer_workers")


async def compare_answers(answer: str, target: str, seconds: int = 10) -> Comparison:
    """Compare two answers mathematically, off the event loop.

    At most as many worker processes run as there are cores. One that overruns its time is killed
    and the comparison is undecided.

    Args:
        answer: What was given.
        target: What is right.
        seconds: How long each of reading and comparing may take.
    """
    plain = compare_plainly(answer, target)
    if plain is not None:
        return plain
    async with _limiter():
        try:
            with anyio.move_on_after(_START_UP):
                await anyio.to_process.run_sync(load_reader, cancellable=True)
            # The worker's own alarm ends what it can: this is for what no alarm ends.
            with anyio.move_on_after(3 * seconds):
                return await anyio.to_process.run_sync(
                    compare_texts, answer, target, seconds, cancellable=True
                )
        except BrokenWorkerProcess as error:
            return Comparison(Outcome.UNDECIDED, f"the worker that compared it died: {error}")
    return too_long(answer, target)


def _limiter() -> CapacityLimiter:
    try:
        return _workers.get()
    except LookupError:
        limiter = CapacityLimiter(os.cpu_count() or 2)
        _workers.set(limiter)
        return limiter
