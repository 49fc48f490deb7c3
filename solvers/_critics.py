"""Find a critic by its name, with the generate options that it needs."""

import importlib.util
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, get_args

from inspect_ai.dataset import Sample
from inspect_ai.model import GenerateConfig, ResponseSchema
from inspect_ai.solver import Solver
from inspect_ai.util import json_schema, registry_create, registry_info

from misstep._inspect_private import active_generate_config, active_model
from misstep.registry import (
    MisstepError,
    Tag,
    UnknownNameError,
    Wording,
    agent_prompts,
    find_domain,
    find_judge,
    find_mistake_prompt,
    find_sections_prompt,
    find_step_scores_prompt,
    user_path,
)
from misstep.scorers import StructuredReply
from misstep.solvers._attribution import PROTOCOLS, attribute
from misstep.solvers._baselines import (
    all_sections,
    arithmetic,
    label_distribution,
    last_step,
    late_window,
    no_error,
    no_section,
    section_range,
    uniform,
)
from misstep.solvers._calls import REASONING_TOKENS, SEED, default_max_tokens
from misstep.solvers._critique import critique, index_only, process_judging, sections_critique
from misstep.solvers._step_labels import all_invalid, all_valid, label_steps, step_scores
from misstep.solvers._stepwise import Calls, MistakeProtocol, find_mistake, reward, stepwise
from misstep.verdicts import Reading

_WITHOUT_DATA = {
    "no_error": no_error,
    "last_step": last_step,
    "late_window": late_window,
    "uniform": uniform,
    "arithmetic": arithmetic,
}
BASELINES = (*_WITHOUT_DATA, "label_distribution")
"""Critics of first errors that call no model."""
CRITICS = ("critique", "stepwise", "reward", "index_only", *BASELINES)
_INDEX_TOKENS = 16
"""The most tokens of a reply that is only an index."""
SECTION_BASELINES = ("no_error", "all_sections", "section_range")
SECTION_CRITICS = ("critique", *SECTION_BASELINES)
STEP_CRITICS = ("critique", "stepwise", "reward", "all_valid", "all_invalid")


@dataclass(frozen=True)
class Critic:
    """A solver that leaves a verdict, and its default generate options."""

    solver: Solver
    config: GenerateConfig = field(default_factory=GenerateConfig)
    metadata: dict[str, Any] = field(default_factory=dict)
    """Notes on the options, for the log."""


def find_critic(
    critic: str | Solver,
    samples: Iterable[Sample],
    domain: str = "mathematics",
    tag: Tag | None = None,
    votes: int = 1,
    adaptive: bool = False,
    weighted: bool = False,
    style: str = "plain",
    calls: Calls = "sequential",
    threshold: float | None = None,
    context: int | None = None,
    wording: Wording = "own",
) -> Critic:
    r"""Return the critic of first errors that the options of a task describe.

    `critic` is one of CRITICS, the name of any registered solver, `file.py@solver`, or a solver. A
    user's own solver leaves its verdict in a `\boxed{}` of the output's text.
    """
    # Look up all names, because a wrong name is a mistake even if this critic does not use it.
    prompt, judge = find_domain(domain), find_judge(style)
    if wording != "own" and (critic, style) != ("stepwise", "written"):
        raise MisstepError(
            f"wording={wording}: ProcessBench's prompt is the published one already. Published "
            "wording goes with source=mathcheck alone (MathCheck's prompt), or with "
            "critic=stepwise and style=written (GroundedPRM's judge)."
        )
    if threshold is not None and critic != "reward":
        raise MisstepError(
            f"threshold={threshold}: a threshold goes with critic=reward, not {critic!r}."
        )
    if critic == "critique":
        if votes == 1 and (adaptive or weighted):
            raise MisstepError("adaptive and weighted need several votes: add -T votes=8.")
        if adaptive and weighted:
            raise MisstepError("adaptive counts votes, so it does not go with weighted.")
        max_tokens, metadata = _max_tokens(
            prompt.max_tokens, prompt.reasoning_max_tokens, by_solver=True
        )
        return Critic(
            critique(domain, tag, votes, adaptive, weighted, context),
            GenerateConfig(
                temperature=prompt.voting_temperature if votes > 1 else prompt.temperature,
                max_tokens=max_tokens,
                seed=SEED,
                logprobs=True if weighted else None,
            ),
            metadata,
        )
    if context is not None:
        raise MisstepError(f"context={context}: windows go with critic=critique, not {critic!r}.")
    if votes != 1 or adaptive or weighted:
        raise MisstepError(f"votes={votes}: votes go with critic=critique, not {critic!r}.")
    if critic in ("stepwise", "reward"):
        by_steps = critic == "stepwise"
        settings: tuple[int | None, dict[str, Any]] = (judge.max_tokens, {})
        if by_steps and judge.reply == "box":
            settings = _max_tokens(judge.max_tokens)
        by_verdicts = stepwise(style, calls, wording) if by_steps else reward(style, threshold)
        most, notes = settings
        config = GenerateConfig(temperature=judge.temperature, max_tokens=most, seed=SEED)
        return Critic(by_verdicts, config, notes)
    if critic == "index_only":
        config = GenerateConfig(temperature=0.0, max_tokens=_INDEX_TOKENS, seed=SEED)
        return Critic(index_only(domain, tag), config)
    if critic == "label_distribution":
        return Critic(label_distribution(dict(Counter(str(one.target) for one in samples))))
    return Critic(_find_solver(critic, _WITHOUT_DATA, CRITICS))


def find_judging_critic() -> Critic:
    """Return MathCheck's critic in its published wording, with the settings of its code."""
    return Critic(process_judging(), GenerateConfig(temperature=0.0, max_tokens=512, seed=SEED))


def _max_tokens(
    usual: int, reasoning: int = REASONING_TOKENS, by_solver: bool = False
) -> tuple[int | None, dict[str, Any]]:
    """Return the default of `--max-tokens`, and a note for the log if it depends on the model.

    The model is known if Inspect makes the task for a run, by its name or file. A task that is made
    in Python leaves the limit to its solver, if the solver can set it (`by_solver`).
    """
    model, config = active_model(), active_generate_config()
    if config.max_tokens is not None or (model is None and not by_solver):
        return usual, {}
    if model is None:
        note = (
            f"The default of --max-tokens is {usual:,}. For a model that reasons before it answers "
            f"it is {reasoning:,}, or the most that the model can write."
        )
        return None, {"max_tokens": note}
    most = default_max_tokens(usual, model, config, reasoning)
    if most == usual:
        return usual, {}
    note = f"The default of --max-tokens is {most:,}, because {model} reasons before it answers."
    return most, {"max_tokens": note}


def find_agent_critic(
    critic: str | Solver,
    samples: Iterable[Sample],
    votes: int = 1,
    style: str = "agent",
    calls: Calls = "sequential",
    threshold: float | None = None,
    context: int | None = None,
    wording: Wording = "own",
) -> Critic:
    """Return the critic of trajectories that the options of a task describe.

    `critic` is labels, which labels every step in one reply, or a critic of first errors.
    """
    if wording not in get_args(Wording):
        raise UnknownNameError("wording", wording, get_args(Wording))
    if critic != "labels":
        if wording != "own":
            raise MisstepError(f"wording={wording} goes with critic=labels, not {critic!r}.")
        return find_critic(
            critic,
            samples,
            domain="agent",
            votes=votes,
            style=style,
            calls=calls,
            threshold=threshold,
            context=context,
        )
    if votes != 1 or threshold is not None:
        raise MisstepError(
            f"votes={votes}, threshold={threshold}: votes go with critic=critique, and a threshold "
            "goes with critic=reward."
        )
    prompt = agent_prompts().labels
    most, notes = _max_tokens(prompt.max_tokens)
    config = GenerateConfig(
        temperature=prompt.temperature, top_p=prompt.top_p, max_tokens=most, seed=SEED
    )
    return Critic(label_steps(context, wording), config, notes)


def find_attribution_critic(
    critic: str | Solver,
    samples: Iterable[Sample],
    ground_truth: bool = True,
    wording: Wording = "own",
    votes: int = 1,
    style: str = "agent",
    calls: Calls = "sequential",
    threshold: float | None = None,
    context: int | None = None,
) -> Critic:
    """Return the critic of failed agents that the options of a task describe.

    `critic` is one of PROTOCOLS, or a critic of trajectories that names a step.
    """
    if critic not in PROTOCOLS:
        return find_agent_critic(critic, samples, votes, style, calls, threshold, context, wording)
    if votes != 1 or threshold is not None or context is not None:
        raise MisstepError(
            "votes and context go with critic=critique, and a threshold goes with critic=reward, "
            f"not {critic!r}."
        )
    if wording not in get_args(Wording):
        raise UnknownNameError("wording", wording, get_args(Wording))
    most, notes = _max_tokens(agent_prompts().attribution.max_tokens)
    config = GenerateConfig(max_tokens=most, seed=SEED)
    return Critic(attribute(critic, ground_truth, wording), config, notes)


def find_section_critic(
    critic: str | Solver,
    structured: bool = False,
    first: int = 3,
    last: int = 36,
    wording: Wording = "own",
) -> Critic:
    """Return the critic of all sections that the options of a task describe.

    `critic` is one of SECTION_CRITICS, the name of any registered solver, `file.py@solver`, or a
    solver.
    """
    if structured and critic != "critique":
        raise MisstepError(f"structured=true goes with critic=critique, not {critic!r}.")
    if wording != "own" and (structured or critic != "critique"):
        raise MisstepError(
            f"wording={wording}: the published prompt goes with critic=critique and replies in "
            "words. Leave out structured and critic."
        )
    if critic == "critique":
        prompt = find_sections_prompt()
        schema = ResponseSchema(
            name="erroneous_sections", json_schema=json_schema(StructuredReply), strict=True
        )
        config = GenerateConfig(
            temperature=prompt.temperature,
            top_p=prompt.top_p,
            response_schema=schema if structured else None,
        )
        return Critic(sections_critique(structured, wording), config)
    known = {
        "no_error": no_section,
        "all_sections": all_sections,
        "section_range": lambda: section_range(first, last),
    }
    return Critic(_find_solver(critic, known, SECTION_CRITICS))


def find_mistake_critic(
    critic: str | Solver,
    samples: Iterable[Sample],
    protocol: MistakeProtocol = "trace",
    wording: Wording = "own",
    reading: Reading = "strict",
    calls: Calls = "sequential",
) -> Critic:
    """Return the critic of chains of thought that the options of a task describe.

    `critic` is `critique`, a baseline, the name of any registered solver, `file.py@solver`, or a
    solver.
    """
    if critic != "critique":
        return find_critic(critic, samples)
    most, notes = _max_tokens(find_mistake_prompt(protocol).max_tokens)
    config = GenerateConfig(temperature=0.0, max_tokens=most, seed=SEED)
    return Critic(find_mistake(protocol, wording, reading, calls), config, notes)


def find_step_critic(
    critic: str | Solver,
    wording: Wording = "own",
    style: str = "plain",
    threshold: float | None = None,
) -> Critic:
    """Return the critic of every step that the options of a task describe.

    `critic` is one of STEP_CRITICS, the name of any registered solver, `file.py@solver`, or a
    solver. A user's own solver leaves a `StepValidity`.
    """
    if critic in ("stepwise", "reward"):
        # Steps after the first wrong one count too, so all of them are judged.
        return find_critic(critic, (), style=style, calls="parallel", threshold=threshold)
    if threshold is not None:
        raise MisstepError(
            f"threshold={threshold}: a threshold goes with critic=reward, not {critic!r}."
        )
    if critic == "critique":
        config = GenerateConfig(temperature=find_step_scores_prompt().temperature, seed=SEED)
        return Critic(step_scores(wording), config)
    known = {"all_valid": all_valid, "all_invalid": all_invalid}
    return Critic(_find_solver(critic, known, STEP_CRITICS))


def _find_solver(
    critic: str | Solver, known: Mapping[str, Callable[[], Solver]], names: Iterable[str]
) -> Solver:
    """Return a known solver, a registered one, or one from a file of the user, `file.py@solver`."""
    if not isinstance(critic, str):
        return critic
    if critic in known:
        return known[critic]()
    file, _, name = critic.rpartition("@")
    if file:
        solvers = _solvers_in(file)
        if name not in solvers:
            raise UnknownNameError(f"solver in {file}", name, solvers)
        return solvers[name]()
    try:
        return registry_create("solver", critic)
    except (LookupError, ValueError):
        raise UnknownNameError("critic", critic, names) from None


def _solvers_in(file: str) -> dict[str, Callable[[], Solver]]:
    """Run a Python file of the user and return the solvers that it defines, by name.

    Inspect's own loader of solver files does not put the module into `sys.modules`, so a dataclass
    with postponed annotations ends in an AttributeError there.
    """
    path = user_path(file).resolve()
    spec = importlib.util.spec_from_file_location(path.as_posix(), path)
    if spec is None or spec.loader is None or not path.is_file():
        raise MisstepError(f"critic={file}: there is no Python file at {path}.")
    module = importlib.util.module_from_spec(spec)
    # Dataclasses and pydantic look up the module of a class by its name.
    sys.modules[spec.name] = module
    sys.path.append(str(path.parent))  # so that it can import its neighbours
    try:
        spec.loader.exec_module(module)
    finally:
        sys.path.remove(str(path.parent))
    own = {k: v for k, v in vars(module).items() if getattr(v, "__module__", "") == spec.name}
    return {name: value for name, value in own.items() if _is_solver(value)}


def _is_solver(value: object) -> bool:
    try:
        return registry_info(value).type == "solver"
    except ValueError:
        return False
