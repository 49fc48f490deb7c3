"""Finding a critic by its name, with the settings that go with it."""

import importlib.util
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from inspect_ai.model import GenerateConfig
from inspect_ai.solver import Solver
from inspect_ai.util import registry_create

from misstep.registry import (
    Domain,
    Judge,
    MisstepError,
    Tag,
    UnknownNameError,
    find_domain,
    find_judge,
    user_path,
)
from misstep.solvers._asking import SEED
from misstep.solvers._baselines import label_distribution, last_step, no_error, uniform
from misstep.solvers._critique import critique
from misstep.solvers._reward_critic import reward
from misstep.solvers._stepwise import Order, stepwise

CRITICS = (
    "critique",
    "stepwise",
    "reward",
    "no_error",
    "last_step",
    "uniform",
    "label_distribution",
)


@dataclass(frozen=True)
class Critic:
    """A solver that leaves a verdict, and how it wants to generate."""

    solver: Solver
    config: GenerateConfig = field(default_factory=GenerateConfig)


@dataclass(frozen=True)
class CriticOptions:
    """What a task lets its user choose about a critic."""

    domain: str = "mathematics"
    tag: Tag | None = None
    votes: int = 1
    adaptive: bool = False
    weighted: bool = False
    style: str = "single_token"
    order: Order = "sequential"
    threshold: float | None = None


def find_critic(
    critic: str | Solver, options: CriticOptions, labels: Mapping[str, int] | None = None
) -> Critic:
    r"""The critic of that name, or one's own.

    Args:
        critic: One of CRITICS, the name of any registered solver, `file.py@solver`, or a solver:
            its last output's text must hold the verdict in a `\boxed{}`.
        options: The task's options.
        labels: How many rows of the data have each label, for label_distribution.

    Raises:
        MisstepError: An option that does not go with the critic.
        UnknownNameError: No such critic.
    """
    # Looked up whatever the critic is: a wrong name is a mistake even where nothing uses it.
    domain, judge = find_domain(options.domain), find_judge(options.style)
    if options.threshold is not None and critic != "reward":
        raise MisstepError(
            f"threshold={options.threshold}: a threshold goes with critic=reward, not {critic!r}."
        )
    if critic == "critique":
        return _critique(options, domain)
    if options.votes != 1 or options.adaptive or options.weighted:
        raise MisstepError(f"votes={options.votes}: votes go with critic=critique, not {critic!r}.")
    if not isinstance(critic, str):
        return Critic(critic)
    match critic:
        case "stepwise":
            return Critic(stepwise(options.style, options.order), _asked_as(judge))
        case "reward":
            return Critic(reward(options.style, options.threshold), _asked_as(judge))
        case "no_error":
            return Critic(no_error())
        case "last_step":
            return Critic(last_step())
        case "uniform":
            return Critic(uniform())
        case "label_distribution":
            return Critic(label_distribution(dict(labels or {})))
        case _:
            return Critic(own_solver(critic, CRITICS))


def _critique(options: CriticOptions, domain: Domain) -> Critic:
    if options.votes == 1 and (options.adaptive or options.weighted):
        raise MisstepError("adaptive and weighted want several votes: add -T votes=8.")
    if options.adaptive and options.weighted:
        raise MisstepError("adaptive counts votes, so it does not go with weighted.")
    voting = options.votes > 1
    return Critic(
        critique(options.domain, options.tag, options.votes, options.adaptive),
        GenerateConfig(
            temperature=domain.voting_temperature if voting else domain.temperature,
            max_tokens=domain.max_tokens,
            seed=SEED,
            logprobs=True if options.weighted else None,
        ),
    )


def _asked_as(judge: Judge) -> GenerateConfig:
    return GenerateConfig(temperature=judge.temperature, max_tokens=judge.max_tokens, seed=SEED)


def own_solver(name: str, known: Iterable[str]) -> Solver:
    """A registered solver, or one out of a file of the user's.

    Args:
        name: The solver's name, or `file.py@solver`.
        known: What the error lists where there is none.

    Raises:
        UnknownNameError: There is none.
    """
    file, _, solver = name.rpartition("@")
    if file:
        _load(file)
    try:
        return registry_create("solver", solver)
    except (LookupError, ValueError):
        raise UnknownNameError("critic", name, known) from None


def _load(file: str) -> None:
    """Run the user's own file, so that its solvers are registered."""
    path = user_path(file)
    spec = importlib.util.spec_from_file_location(path.stem, path)
    if spec is None or spec.loader is None or not path.is_file():
        raise MisstepError(f"critic={file}: there is no Python file at {path}.")
    spec.loader.exec_module(importlib.util.module_from_spec(spec))
