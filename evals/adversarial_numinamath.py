"""Adversarial NuminaMath: find a late logical error that was injected into a worked solution.

misstep forge build --source numinamath --num-examples 1000 --model openai/gpt-4o -o built
inspect eval evals/adversarial_numinamath.py -T source=built/adversarial.jsonl --model openai/gpt-4o
inspect eval misstep/adversarial_numinamath.sample --model openai/gpt-4o-mini
inspect eval misstep/adversarial_numinamath.sample -T critic=stepwise --model openai/gpt-4o-mini
"""

from inspect_ai import Task, task
from inspect_ai.log import HeadlineMetric
from inspect_ai.solver import Solver

from misstep.forge import adversarial_dataset
from misstep.registry import Tag, evals, register_variants
from misstep.scorers import detections
from misstep.solvers import CriticOptions, Order, first_error_task


@task
def adversarial_numinamath(
    source: str = "sample",
    subset: str | None = None,
    domain: str = "mathematics",
    critic: str | Solver = "critique",
    votes: int = 1,
    adaptive: bool = False,
    weighted: bool = False,
    style: str = "single_token",
    order: Order = "sequential",
    tag: Tag | None = None,
) -> Task:
    """Find the injected error in a worked solution, or pass an untouched one.

    Args:
        source: A file that `misstep forge build` wrote, or sample: 64 solutions that come along.
        subset: Only this subset: one of the corpus's own sources.
        domain: How to ask: mathematics, generic, science or programming.
        critic: Who judges: critique (the whole solution at once), stepwise, a baseline (no_error,
            last_step, uniform, label_distribution), or a solver of your own, `file.py@solver`.
        votes: How many votes the critique is decided by.
        adaptive: Stop voting when the lead can no longer be lost.
        weighted: Let votes weigh as much as the model was sure of them; needs logprobs.
        style: How stepwise asks: single_token, written or plain.
        order: Whether stepwise asks sequential or parallel.
        tag: What to call a step in the prompt: paragraph, step or proof_step.
    """
    dataset = adversarial_dataset(source, subset)
    options = CriticOptions(domain, tag, votes, adaptive, weighted, style, order)
    arguments = first_error_task(dataset, critic, options)
    arguments["scorer"].append(detections(votes, weighted))
    arguments["headline_metric"] = HeadlineMetric(
        scorer="detections", metric="first_error_accuracy"
    )
    return Task(version=evals()["adversarial_numinamath"].version, **arguments)


register_variants(adversarial_numinamath)
