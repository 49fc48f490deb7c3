"""Procedural: find the earliest wrong step in solutions that were generated for the occasion.

inspect eval evals/procedural.py --model openai/gpt-4o-mini
inspect eval evals/procedural.py -T seed=7 -T steps=12 -T position=late --model openai/gpt-4o-mini
inspect eval evals/procedural.py -T families=sorting,brackets --model openai/gpt-4o-mini
inspect eval misstep/procedural.small --model openai/gpt-4o-mini
"""

from inspect_ai import Task, task
from inspect_ai.solver import Solver

from misstep.loaders import procedural_dataset, streamed
from misstep.registry import Tag, evals, register_variants
from misstep.solvers import CriticOptions, Order, first_error_task


@task
def procedural(
    seed: int = 0,
    n: int = 500,
    steps: int | str = "6-12",
    position: str = "any",
    error_types: str | list[str] | None = None,
    families: str | list[str] | None = None,
    difficulty: int = 2,
    correct_share: float = 0.5,
    domain: str = "generic",
    critic: str | Solver = "critique",
    votes: int = 1,
    adaptive: bool = False,
    weighted: bool = False,
    style: str = "single_token",
    order: Order = "sequential",
    threshold: float | None = None,
    tag: Tag | None = None,
) -> Task:
    """Find the earliest wrong step in a generated solution.

    Args:
        seed: Another seed, other rows; the same seed, the same rows.
        n: How many rows.
        steps: How many steps a solution has: a number, or a range such as 6-12.
        position: In which third errors stand: any, early, middle or late.
        error_types: Only these errors.
        families: Only these families of problems.
        difficulty: From 1 to 3: how large the numbers are, how much there is to keep in mind.
        correct_share: The share of rows without an error.
        domain: How to ask: generic, mathematics, science or programming.
        critic: Who judges: critique (the whole solution at once), stepwise, reward (the first step
            under a threshold), a baseline (no_error, last_step, uniform, label_distribution), or a
            solver of your own, `file.py@solver`.
        votes: How many votes the critique is decided by.
        adaptive: Stop voting when the lead can no longer be lost.
        weighted: Let votes weigh as much as the model was sure of them; needs logprobs.
        style: How stepwise, and reward of a chat model, ask: single_token, written or plain.
        order: Whether stepwise asks sequential or parallel.
        threshold: With critic=reward, a step with a smaller reward is wrong; else the model's own.
        tag: What to call a step in the prompt: paragraph, step or proof_step.
    """
    dataset = procedural_dataset(
        seed, n, steps, position, error_types, families, difficulty, correct_share
    )
    options = CriticOptions(domain, tag, votes, adaptive, weighted, style, order, threshold)
    arguments = first_error_task(dataset, critic, options)
    arguments["dataset"] = streamed(dataset)
    return Task(version=evals()["procedural"].version, **arguments)


register_variants(procedural)
