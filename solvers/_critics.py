"""Find a critic by its name, with the generate options that it needs."""

import importlib.util
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from inspect_ai.dataset import Sample
from inspect_ai.model import GenerateConfig, ResponseSchema
from inspect_ai.solver import Solver
from inspect_ai.util import json_schema, registry_create

from misstep.registry import (
    Judge,
    MisstepError,
    Tag,
    UnknownNameError,
    find_domain,
    find_judge,
    find_sections_prompt,
    user_path,
)
from misstep.scorers import StructuredReply
from misstep.solvers._baselines import (
    all_sections,
    label_distribution,
    last_step,
    no_error,
    no_section,
    section_range,
    uniform,
)
from misstep.solvers._calls import SEED
from misstep.solvers._critique import critique, sections_critique
from misstep.solvers._stepwise import Order, reward, stepwise

CRITICS = (
    "critique",
    "stepwise",
    "reward",
    "no_error",
    "last_step",
    "uniform",
    "label_distribution",
)
SECTION_CRITICS = ("critique", "no_error", "all_sections", "section_range")


@dataclass(frozen=True)
class Critic:
    """A solver that leaves a verdict, and its default generate options."""

    solver: Solver
    config: GenerateConfig = field(default_factory=GenerateConfig)


def find_critic(
    critic: str | Solver,
    samples: Iterable[Sample],
    *,
    domain: str = "mathematics",
    tag: Tag | None = None,
    votes: int = 1,
    adaptive: bool = False,
    weighted: bool = False,
    style: str = "single_token",
    order: Order = "sequential",
    threshold: float | None = None,
) -> Critic:
    r"""Return the critic of first errors that a task's options describe.

    Args:
        critic: One of CRITICS, the name of any registered solver, `file.py@solver`, or a solver.
            A user's own solver leaves its verdict in a `\boxed{}` of the output's text.
        samples: The samples; label_distribution counts their labels.
        domain: The prompt of critique: a name in `registry/domains.yaml`.
        tag: The word for a step in the prompt of critique. Default: the domain's own word.
        votes: The number of votes of critique.
        adaptive: Stop voting when no further vote can change the result.
        weighted: Weight votes by the model's confidence in its tokens.
        style: The prompts of stepwise and reward: a name in `registry/judges.yaml`.
        order: The order of stepwise.
        threshold: The threshold of reward.

    Raises:
        MisstepError: An option does not go with the critic.
        UnknownNameError: The critic, domain or style is unknown.
    """
    # Look up all names, because a wrong name is a mistake even if this critic does not use it.
    prompt, judge = find_domain(domain), find_judge(style)
    if threshold is not None and critic != "reward":
        raise MisstepError(
            f"threshold={threshold}: a threshold goes with critic=reward, not {critic!r}."
        )
    if critic == "critique":
        if votes == 1 and (adaptive or weighted):
            raise MisstepError("adaptive and weighted need several votes: add -T votes=8.")
        if adaptive and weighted:
            raise MisstepError("adaptive counts votes, so it does not go with weighted.")
        return Critic(
            critique(domain, tag, votes, adaptive),
            GenerateConfig(
                temperature=prompt.voting_temperature if votes > 1 else prompt.temperature,
                max_tokens=prompt.max_tokens,
                seed=SEED,
                logprobs=True if weighted else None,
            ),
        )
    if votes != 1 or adaptive or weighted:
        raise MisstepError(f"votes={votes}: votes go with critic=critique, not {critic!r}.")
    match critic:
        case "stepwise":
            return Critic(stepwise(style, order), _judge_config(judge))
        case "reward":
            return Critic(reward(style, threshold), _judge_config(judge))
        case "no_error":
            return Critic(no_error())
        case "last_step":
            return Critic(last_step())
        case "uniform":
            return Critic(uniform())
        case "label_distribution":
            return Critic(label_distribution(dict(Counter(str(one.target) for one in samples))))
        case str():
            return Critic(_own_solver(critic, CRITICS))
        case _:
            return Critic(critic)


def _judge_config(judge: Judge) -> GenerateConfig:
    return GenerateConfig(temperature=judge.temperature, max_tokens=judge.max_tokens, seed=SEED)


def find_section_critic(
    critic: str | Solver, *, structured: bool = False, first: int = 3, last: int = 36
) -> Critic:
    """Return the critic of all sections that a task's options describe.

    Args:
        critic: One of SECTION_CRITICS, the name of any registered solver, `file.py@solver`, or a
            solver.
        structured: Constrain the replies of critique to a JSON schema.
        first: The first section that section_range flags.
        last: The last section that section_range flags.

    Raises:
        MisstepError: An option does not go with the critic.
        UnknownNameError: The critic is unknown.
    """
    if structured and critic != "critique":
        raise MisstepError(f"structured=true goes with critic=critique, not {critic!r}.")
    match critic:
        case "critique":
            return Critic(sections_critique(structured), _sections_config(structured))
        case "no_error":
            return Critic(no_section())
        case "all_sections":
            return Critic(all_sections())
        case "section_range":
            return Critic(section_range(first, last))
        case str():
            return Critic(_own_solver(critic, SECTION_CRITICS))
        case _:
            return Critic(critic)


def _sections_config(structured: bool) -> GenerateConfig:
    prompt = find_sections_prompt()
    schema = ResponseSchema(
        name="erroneous_sections", json_schema=json_schema(StructuredReply), strict=True
    )
    return GenerateConfig(
        temperature=prompt.temperature,
        top_p=prompt.top_p,
        response_schema=schema if structured else None,
    )


def _own_solver(name: str, known: Iterable[str]) -> Solver:
    """Return a registered solver, or a solver from a file of the user.

    Args:
        name: The solver's name, or `file.py@solver`.
        known: The names that the error lists.

    Raises:
        UnknownNameError: There is no such solver.
    """
    file, _, solver = name.rpartition("@")
    if file:
        _import_file(file)
    try:
        return registry_create("solver", solver)
    except (LookupError, ValueError):
        raise UnknownNameError("critic", name, known) from None


def _import_file(file: str) -> None:
    """Import a file of the user, so that its solvers are registered."""
    path = user_path(file)
    spec = importlib.util.spec_from_file_location(path.stem, path)
    if spec is None or spec.loader is None or not path.is_file():
        raise MisstepError(f"critic={file}: there is no Python file at {path}.")
    spec.loader.exec_module(importlib.util.module_from_spec(spec))
