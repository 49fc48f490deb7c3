"""Adversarial NuminaMath: find a late logical error that was injected into a worked solution.

Protocol: as ProcessBench, on solutions in which a model rewrote one late step and all later ones.
Named checks decided which of them are accepted (`misstep forge build`).

Metric: first-error accuracy, the share of solutions with an error for which the critic names
exactly the first wrong step. A reply without a verdict counts as wrong.

misstep forge build --source numinamath --num-examples 1000 --model openai/gpt-4o -o built
inspect eval evals/adversarial_numinamath.py -T source=built/adversarial.jsonl --model openai/gpt-4o
inspect eval misstep/adversarial_numinamath.sample --model openai/gpt-4o-mini
inspect eval misstep/adversarial_numinamath.sample -T critic=stepwise --model openai/gpt-4o-mini
inspect eval misstep/adversarial_numinamath -T source=built/adversarial.jsonl -T critic=reward
"""

from inspect_ai import Task, task
from inspect_ai.log import HeadlineMetric
from inspect_ai.solver import Solver

from misstep.evals._views import DETECTIONS_VIEW
from misstep.forge import adversarial_dataset
from misstep.loaders import RowOrder
from misstep.registry import Tag, check_arguments, evals, register_variants
from misstep.scorers import detections, first_error_lenient, subset_column
from misstep.solvers import Calls, find_critic


@task
@check_arguments
def adversarial_numinamath(
    source: str = "sample",
    subset: str | list[str] | None = None,
    domain: str = "mathematics",
    critic: str | Solver = "critique",
    votes: int = 1,
    adaptive: bool = False,
    weighted: bool = False,
    style: str = "plain",
    calls: Calls = "sequential",
    threshold: float | None = None,
    tag: Tag | None = None,
    order: RowOrder = "interleaved",
) -> Task:
    """Find the injected error in a worked solution, or accept an untouched solution.

    Args:
        source: A file that `misstep forge build` wrote, or sample: the 64 bundled solutions.
        subset: Use only this subset, or these: the corpus's own sources.
        domain: The prompt of critique: mathematics, generic, science or programming.
        critic: critique (reads the whole solution at once), stepwise, reward (the first step under
            a threshold), a baseline (no_error, last_step, late_window, uniform, arithmetic,
            label_distribution), or your own solver as `file.py@solver`.
        votes: The number of votes that decide a critique.
        adaptive: Stop voting when no further vote can change the result.
        weighted: Weight votes by the model's confidence in its tokens. Needs logprobs.
        style: The prompts of stepwise and reward: plain, written, single_token or rlhflow.
        calls: The calls of stepwise: sequential or parallel.
        threshold: Steps with a smaller reward are wrong. Default: the reward model's own value.
        tag: The word for a step in the prompt: paragraph, step or proof_step.
        order: The order of rows: interleaved, so that the first rows have both classes and all
            subsets, or published: as in the file.
    """
    dataset = adversarial_dataset(source, subset, order)
    judged_by = find_critic(
        critic, dataset, domain, tag, votes, adaptive, weighted, style, calls, threshold
    )
    return Task(
        dataset=dataset,
        solver=judged_by.solver,
        scorer=[detections(votes, weighted), first_error_lenient(votes, weighted), subset_column()],
        config=judged_by.config,
        metadata=judged_by.metadata,
        viewer=DETECTIONS_VIEW,
        headline_metric=HeadlineMetric(scorer="detections", metric="first_error_accuracy"),
        version=evals()["adversarial_numinamath"].version,
    )


register_variants(adversarial_numinamath)
