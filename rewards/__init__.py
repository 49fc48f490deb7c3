"""A number for a step: from a judge, a served or local reward model, or recorded scores."""

from inspect_ai.model import ModelAPI, modelapi

from misstep.rewards._aggregation import AGGREGATIONS, Aggregation, aggregate
from misstep.rewards._find import ROLE, find_reward_model
from misstep.rewards._judge import judge_messages
from misstep.rewards._reward_model import THRESHOLD, OutputCallback, Reward, RewardModel
from misstep.rewards._step_verdicts import StepVerdict, read_step_verdict
from misstep.rewards._verdict_logprobs import MissingProbability, right_probability

__all__ = [
    "AGGREGATIONS",
    "ROLE",
    "THRESHOLD",
    "Aggregation",
    "MissingProbability",
    "OutputCallback",
    "Reward",
    "RewardModel",
    "StepVerdict",
    "aggregate",
    "find_reward_model",
    "judge_messages",
    "local_prm",
    "prm",
    "read_step_verdict",
    "right_probability",
]


@modelapi(name="prm")
def prm() -> type[ModelAPI]:
    """Discriminative process reward models behind vLLM's pooling routes."""
    from misstep.rewards._prm import PrmAPI

    return PrmAPI


@modelapi(name="local_prm")
def local_prm() -> type[ModelAPI]:
    """Process reward models run in this process, by transformers and torch."""
    from misstep.rewards._local_prm import LocalPrmAPI

    return LocalPrmAPI
