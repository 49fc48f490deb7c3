"""What a task for all erroneous sections is made of, once its rows are loaded."""

from inspect_ai.dataset import Dataset
from inspect_ai.model import GenerateConfig, ResponseSchema
from inspect_ai.solver import Solver
from inspect_ai.util import json_schema

from misstep.registry import MisstepError, find_sections_prompt
from misstep.scorers import StructuredReply, error_sections_scoring
from misstep.solvers._context import warn_of_long_prompts
from misstep.solvers._critics import own_solver
from misstep.solvers._first_error_task import TaskArguments
from misstep.solvers._section_baselines import all_sections, no_section, section_range
from misstep.solvers._sections import sections_critique, sections_prompt

SECTION_CRITICS = ("critique", "no_error", "all_sections", "section_range")


def sections_task(
    dataset: Dataset,
    critic: str | Solver,
    structured: bool = False,
    first: int = 3,
    last: int = 36,
    context: int | None = None,
) -> TaskArguments:
    """The arguments of a Task that asks a critic for all erroneous sections.

    Args:
        dataset: The samples.
        critic: One of SECTION_CRITICS, the name of any registered solver, `file.py@solver`, or a
            solver.
        structured: Hold the replies to a JSON schema.
        first: The first section that section_range flags.
        last: The last one.
        context: The model's context in tokens, to be warned of longer prompts.

    Raises:
        MisstepError: An option that does not go with the critic.
        UnknownNameError: No such critic.
    """
    config = GenerateConfig()
    if critic == "critique":
        config = _config(structured)
        warn_of_long_prompts(
            (
                (s.id, sections_prompt(str(s.input), (s.metadata or {})["steps"], structured))
                for s in dataset
            ),
            context,
        )
    elif structured:
        raise MisstepError(f"structured=true goes with critic=critique, not {critic!r}.")
    return TaskArguments(
        dataset=dataset,
        solver=_find(critic, structured, first, last),
        config=config,
        **error_sections_scoring(structured),
    )


def _find(critic: str | Solver, structured: bool, first: int, last: int) -> Solver:
    match critic:
        case "critique":
            return sections_critique(structured)
        case "no_error":
            return no_section()
        case "all_sections":
            return all_sections()
        case "section_range":
            return section_range(first, last)
        case str():
            return own_solver(critic, SECTION_CRITICS)
        case _:
            return critic


def _config(structured: bool) -> GenerateConfig:
    prompt = find_sections_prompt()
    schema = ResponseSchema(
        name="erroneous_sections", json_schema=json_schema(StructuredReply), strict=True
    )
    return GenerateConfig(
        temperature=prompt.temperature,
        top_p=prompt.top_p,
        response_schema=schema if structured else None,
    )
