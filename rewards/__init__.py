"""Rewards: a number from 0 to 1 for each step of a solution.

`find_reward_model` returns the reward model of a run: a judge, a served process reward model
(`prm/…`), a local one (`local_prm/…`), or recorded scores (`replay/…`).

Inspect imports this package at each start, so slow imports stand inside functions.
"""

from inspect_ai.model import ModelAPI, modelapi

from misstep.rewards._judge import StepVerdict, judge_messages, read_step_verdict, worded_judge
from misstep.rewards._prm import SOLUTIONS, ProbeResult, marked_input, probe_prm
from misstep.rewards._reward_model import (
    AGGREGATIONS,
    REWARD_ROLE,
    THRESHOLD,
    Aggregation,
    Reward,
    RewardModel,
    RewardWatch,
    aggregate,
    find_reward_model,
)


@modelapi(name="prm")
def prm() -> type[ModelAPI]:
    """Return the provider of process reward models that a vLLM server runs."""
    from misstep.rewards._prm_providers import ServedPrmAPI

    return ServedPrmAPI


@modelapi(name="local_prm")
def local_prm() -> type[ModelAPI]:
    """Return the provider of process reward models that transformers runs in this process."""
    from misstep.rewards._prm_providers import LocalPrmAPI

    return LocalPrmAPI
