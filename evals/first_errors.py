"""First errors of your own agents: a critic names the first wrong step of each transcript.

Protocol: one prompt has the task and the whole transcript; the critic names the first wrong
assistant message, or none. Failed samples of your own log are judged, or all of them.

Metric: none, because your transcripts have no labels. The result names a step for each transcript.

inspect eval misstep/first_errors -T log=logs/my.eval --model openai/gpt-4o-mini
misstep find logs/my.eval --model openai/gpt-4o-mini
"""

from inspect_ai import Task, task
from inspect_ai.solver import Solver

from misstep.evals._views import FOUND_STEPS_VIEW
from misstep.loaders import Chosen, transcript_dataset
from misstep.registry import check_arguments, evals
from misstep.scorers import named_step
from misstep.solvers import find_agent_critic


@task
@check_arguments
def first_errors(
    log: str = "",
    chosen: Chosen = "failed",
    critic: str | Solver = "critique",
    votes: int = 1,
    context: int | None = None,
    tool_result_chars: int | None = None,
) -> Task:
    """Name the first wrong step of each transcript. There are no labels, so nothing is scored.

    Args:
        log: An Inspect log, or a JSONL file whose rows have `messages`.
        chosen: failed (samples with a wrong or missing score) or all.
        critic: critique, labels, stepwise, or your own solver as `file.py@solver`.
        votes: The number of votes that decide a critique.
        context: The model's context in tokens. Longer transcripts are read in windows of whole
            steps.
        tool_result_chars: Cut the middle out of longer tool results.
    """
    dataset = transcript_dataset(log, chosen, tool_result_chars)
    judged_by = find_agent_critic(critic, dataset, votes, context=context)
    return Task(
        dataset=dataset,
        solver=judged_by.solver,
        scorer=named_step(),
        config=judged_by.config,
        viewer=FOUND_STEPS_VIEW,
        metadata={**(judged_by.metadata or {}), "left_out": dataset.left_out},
        version=evals()["first_errors"].version,
    )
