"""A verdict from rewards: the first step under the threshold."""

from collections.abc import Sequence

from inspect_ai.model import ModelOutput

from misstep.registry import MISSING, REWARDS
from misstep.scorers import unread_output
from misstep.verdicts import NO_ERROR, Unread


def first_below(
    model: str,
    rewards: Sequence[float | None],
    threshold: float,
    unknown: Unread = Unread.NO_REWARD,
    why: str | None = None,
) -> ModelOutput:
    """The first step under the threshold, as a critic would write it.

    Where a reward is missing before one is found, the verdict is neither a step nor that there is
    no error.

    Args:
        model: The model's name.
        rewards: Of each step.
        threshold: A step with a smaller reward is wrong.
        unknown: What a missing reward means.
        why: Why rewards are missing, where that is known.
    """
    output = _verdict(model, rewards, threshold, unknown)
    keep_rewards(output, rewards, len(rewards))
    if why is not None:
        output.metadata = {**(output.metadata or {}), MISSING: why}
    return output


def keep_rewards(output: ModelOutput, rewards: Sequence[float | None], steps: int) -> None:
    """Leave the rewards of all steps beside the verdict, None where there is none."""
    if any(reward is not None for reward in rewards):
        unknown = [None] * (steps - len(rewards))
        output.metadata = {**(output.metadata or {}), REWARDS: [*rewards, *unknown]}


def _verdict(
    model: str, rewards: Sequence[float | None], threshold: float, unknown: Unread
) -> ModelOutput:
    for step, reward in enumerate(rewards):
        if reward is None:
            text = f"Step {step} has no reward, and no step before it is under {threshold}."
            return unread_output(model, unknown, text)
        if reward < threshold:
            text = f"Step {step} scores {reward:.4g}, less than {threshold}: \\boxed{{{step}}}"
            return ModelOutput.from_content(model, text)
    text = f"No step scores less than {threshold}: \\boxed{{{NO_ERROR}}}"
    return ModelOutput.from_content(model, text)
