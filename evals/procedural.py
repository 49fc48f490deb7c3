"""Procedural: find the earliest wrong step in solutions that are generated for each run.

Protocol: as ProcessBench with the generic prompt, on solutions whose labels are right by
construction. Another seed gives other rows, so no model has seen them in training.

Metric: F1, the harmonic mean of the accuracy on rows with an error (exactly the first wrong step)
and on rows without one (-1). A reply without a verdict counts as wrong.

inspect eval evals/procedural.py --model openai/gpt-4o-mini
inspect eval evals/procedural.py -T seed=7 -T steps=12 -T position=late --model openai/gpt-4o-mini
inspect eval evals/procedural.py -T families=sorting,brackets --model openai/gpt-4o-mini
inspect eval misstep/procedural.small --model openai/gpt-4o-mini
inspect eval misstep/procedural.hard --model openai/gpt-4o-mini
"""

from inspect_ai import Task, task
from inspect_ai.log import HeadlineMetric
from inspect_ai.solver import Solver

from misstep.evals._views import FIRST_ERROR_VIEW
from misstep.loaders import procedural_dataset, streamed
from misstep.registry import Tag, check_arguments, evals, register_variants
from misstep.scorers import first_error, first_error_lenient, subset_column
from misstep.solvers import Calls, find_critic


@task
@check_arguments
def procedural(
    seed: int = 0,
    n: int = 500,
    steps: int | str | None = None,
    position: str = "any",
    error_types: str | list[str] | None = None,
    families: str | list[str] | None = None,
    difficulty: int | str | list[int] = 2,
    correct_share: float = 0.5,
    domain: str = "generic",
    critic: str | Solver = "critique",
    votes: int = 1,
    adaptive: bool = False,
    weighted: bool = False,
    style: str = "plain",
    calls: Calls = "sequential",
    threshold: float | None = None,
    tag: Tag | None = None,
) -> Task:
    """Find the earliest wrong step in a generated solution.

    Args:
        seed: The seed of the rows. The same seed gives the same rows.
        n: The number of rows.
        steps: The number of steps of a solution: a number, or a range such as 6-12. Default: 6-12,
            40-80 at difficulty 4, 80-160 at difficulty 5.
        position: The third that errors are in: any, early, middle or late.
        error_types: Use only these types of errors.
        families: Use only these families of problems.
        difficulty: From 1 to 3: larger numbers, and more to keep in mind. 4 and 5: long solutions
            in several parts, with several facts in a step and with invalid inferences. Rows draw
            one of several: 4,5.
        correct_share: The share of rows without an error.
        domain: The prompt of critique: generic, mathematics, science or programming.
        critic: critique (reads the whole solution at once), stepwise, reward (the first step under
            a threshold), index_only (for llama.cpp), a baseline (no_error, last_step, late_window,
            uniform, arithmetic, label_distribution), or your own solver as `file.py@solver`.
        votes: The number of votes that decide a critique.
        adaptive: Stop voting when no further vote can change the result.
        weighted: Weight votes by the model's confidence in its tokens. Needs logprobs.
        style: The prompts of stepwise and reward: plain, written, single_token or rlhflow.
        calls: The calls of stepwise: sequential or parallel.
        threshold: Steps with a smaller reward are wrong. Default: the reward model's own value.
        tag: The word for a step in the prompt: paragraph, step or proof_step.
    """
    dataset = procedural_dataset(
        seed, n, steps, position, error_types, families, difficulty, correct_share
    )
    judged_by = find_critic(
        critic, dataset, domain, tag, votes, adaptive, weighted, style, calls, threshold
    )
    return Task(
        dataset=streamed(dataset),
        solver=judged_by.solver,
        scorer=[
            first_error(votes, weighted),
            first_error_lenient(votes, weighted),
            subset_column(),
        ],
        config=judged_by.config,
        metadata=judged_by.metadata,
        viewer=FIRST_ERROR_VIEW,
        headline_metric=HeadlineMetric(scorer="first_error", metric="f1_score"),
        version=evals()["procedural"].version,
    )


register_variants(procedural)
