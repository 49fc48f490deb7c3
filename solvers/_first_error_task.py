"""What every first-error task is made of, once its rows are loaded."""

from collections import Counter

from inspect_ai import SampleSource
from inspect_ai.dataset import Dataset
from inspect_ai.model import GenerateConfig
from inspect_ai.solver import Solver

from misstep.registry import find_domain
from misstep.scorers import Scoring, first_error_scoring
from misstep.solvers._context import warn_of_long_prompts
from misstep.solvers._critics import CriticOptions, find_critic
from misstep.solvers._prompts import critique_prompt


class TaskArguments(Scoring):
    """Arguments of a Task."""

    dataset: Dataset | SampleSource
    solver: Solver
    config: GenerateConfig


def first_error_task(
    dataset: Dataset,
    critic: str | Solver,
    options: CriticOptions,
    context: int | None = None,
) -> TaskArguments:
    """The arguments of a Task that asks a critic for the first wrong step.

    Args:
        dataset: The samples.
        critic: Who judges.
        options: What the user chose about the critic.
        context: The model's context in tokens, to be warned of longer prompts.

    Raises:
        MisstepError: An option that does not go with the critic.
        UnknownNameError: No such critic, domain or style.
    """
    # Counted only for whom it matters: rows may be many, and made when they are asked for.
    wanted = dataset if critic == "label_distribution" else ()
    labels = Counter(str(sample.target) for sample in wanted)
    chosen = find_critic(critic, options, labels)
    if critic == "critique" and context is not None:
        domain = find_domain(options.domain)
        prompts = (
            (
                sample.id,
                critique_prompt(
                    domain, str(sample.input), (sample.metadata or {})["steps"], options.tag
                ),
            )
            for sample in dataset
        )
        warn_of_long_prompts(prompts, context)
    return TaskArguments(
        dataset=dataset,
        solver=chosen.solver,
        config=chosen.config,
        **first_error_scoring(options.votes, options.weighted),
    )
