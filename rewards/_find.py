"""The reward model of a run: its role `reward`, else the model under test."""

from inspect_ai.model import GenerateConfig, get_model

from misstep.providers import ScoresSteps
from misstep.registry import find_judge
from misstep.rewards._judge import JudgeRewards
from misstep.rewards._reward_model import OutputCallback, RewardModel
from misstep.rewards._step_scores import StepScores

ROLE = "reward"


def find_reward_model(
    style: str, required: bool = False, on_output: OutputCallback | None = None
) -> RewardModel:
    """The model that gives rewards in the running eval.

    A model that scores steps (`prm/…`, `local_prm/…`, `replay/…` with recorded scores) is asked for
    all of them at once; any other is a judge that is asked about each, and must give logprobs.

    Args:
        style: How a judge is asked: a name in `registry/judges.yaml`.
        required: Whether the role must be given; otherwise the model under test is its own judge.
        on_output: Told of every output.
    """
    judge = find_judge(style)
    settings = GenerateConfig(temperature=judge.temperature, max_tokens=judge.max_tokens)
    # What the user gives with the role, `reward={model: x, temperature: 0}`, goes before these.
    model = get_model(role=ROLE, required=required, config=settings)
    if isinstance(model.api, ScoresSteps) and model.api.scores_steps:
        return StepScores(model, on_output)
    return JudgeRewards(model, judge, on_output)
