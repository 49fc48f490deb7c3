"""How critics that know the index leave their verdict: as a value, and as text for people."""

from collections.abc import Sequence

from inspect_ai.model import ModelOutput
from inspect_ai.solver import TaskState

from misstep.stores import StepRecord, VerdictRecord, store_verdict
from misstep.verdicts import NO_ERROR, Unread, Verdict


def leave_verdict(
    state: TaskState,
    verdict: Verdict | Unread,
    text: str,
    model: str | None = None,
    rewards: Sequence[float | None] = (),
    missing: str | None = None,
    steps: Sequence[StepRecord] | None = None,
    threshold: float | None = None,
) -> None:
    """Leave a verdict in a sample's store, and its text in the output."""
    record = VerdictRecord(
        verdict=None if isinstance(verdict, Unread) else verdict,
        unread=verdict if isinstance(verdict, Unread) else None,
        rewards=list(rewards) if any(reward is not None for reward in rewards) else None,
        threshold=threshold,
        missing=missing,
        steps=None if steps is None else list(steps),
    )
    store_verdict(state.store, record)
    state.output = ModelOutput.from_content(model or str(state.model), text)


def first_below(
    rewards: Sequence[float | None], threshold: float, unknown: Unread = Unread.NO_REWARD
) -> tuple[Verdict | Unread, str]:
    """Return the first step under a threshold, or `unknown` if a reward is missing, and a text."""
    for step, reward in enumerate(rewards):
        if reward is None:
            return (
                unknown,
                f"Step {step} has no reward, and no step before it is under {threshold}.",
            )
        if reward < threshold:
            return (
                step,
                f"Step {step} scores {reward:.4g}, less than {threshold}: \\boxed{{{step}}}",
            )
    return NO_ERROR, f"No step scores less than {threshold}: \\boxed{{{NO_ERROR}}}"
