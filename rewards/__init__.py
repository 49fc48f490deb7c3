"""A number for a step."""

from misstep.rewards._aggregation import AGGREGATIONS, Aggregation, aggregate
from misstep.rewards._find import ROLE, reward_model
from misstep.rewards._judge import conversation
from misstep.rewards._reward_model import THRESHOLD, Reward, RewardModel, Spent
from misstep.rewards._step_verdicts import StepVerdict, read_step
from misstep.rewards._verdict_logprobs import NoProbability, right_probability

__all__ = [
    "AGGREGATIONS",
    "ROLE",
    "THRESHOLD",
    "Aggregation",
    "NoProbability",
    "Reward",
    "RewardModel",
    "Spent",
    "StepVerdict",
    "aggregate",
    "conversation",
    "read_step",
    "reward_model",
    "right_probability",
]
