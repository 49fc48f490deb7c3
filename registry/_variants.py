"""Evals, their variants and their run configurations.

A variant is a base task under another name with other defaults. A run configuration is a file for
Inspect's `--run-config`: task arguments and sampling settings.
"""

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from inspect import Parameter
from logging import getLogger
from pathlib import Path
from typing import Any

from inspect_ai import Task, task
from pydantic import Field

from misstep.registry._facts import (
    FOLDER,
    Fact,
    FactFile,
    find_fact,
    read_facts,
    refuse_taken_names,
    user_registry,
)
from misstep.registry._user_input import RegistryError, did_you_mean

logger = getLogger(__name__)

CHARACTERS_PER_TOKEN = 3
"""A cautious estimate: English prose has four characters a token, formulas and code fewer."""


class Size(Fact):
    """What a run needs at its default settings. `python -m benchmarks.sizes` measures it."""

    samples: int = Field(gt=0)
    prompt_tokens: int = Field(gt=0)
    """The sum over all samples."""
    completion_tokens: int = Field(gt=0)
    """The sum over all samples."""
    measured: str
    """The rows that it was measured on."""

    @property
    def tokens(self) -> int:
        """The sum of prompt and completion tokens."""
        return self.prompt_tokens + self.completion_tokens


class Replies(Fact):
    """What an estimate assumes of the replies of a model."""

    tokens: list[int] = Field(default=[500], min_length=1)
    """The tokens of the replies of one conversation, in turn. The last number stands for all later
    ones."""
    text: str = r"+ {reasoning}[Right] \boxed{-1}"
    """A reply that says that there is no error, so that step judges are asked about all steps."""
    steps: int | None = Field(default=None, gt=0)
    """In a search: the steps of a solution. Each has the tokens of a reply."""
    judgement: int | None = Field(default=None, gt=0)
    """In a search: the tokens of a judgement of one step."""


class Variant(Fact):
    """A named set of task arguments."""

    description: str
    args: dict[str, Any]
    replies: Replies | None = None
    """Default: those of the eval."""
    reference: dict[str, Any] | None = None
    """More arguments for its reference results, if the variant needs no download."""


class Eval(Fact):
    """A benchmark: the base task of one file in `evals/`."""

    description: str
    version: int = Field(gt=0)
    """Increased when a change makes new results incomparable with old ones."""
    replies: Replies = Replies()
    variants: dict[str, Variant] = Field(default_factory=dict)


class UserVariants(Fact):
    """The variants that a user adds to an eval."""

    variants: dict[str, Variant] = Field(min_length=1)


class EvalFile(FactFile[Eval]):
    """The evals. Users can add variants to them, but no evals: those are Python files."""

    def _extend(self, facts: dict[str, Eval], folder: Path) -> dict[str, Eval]:
        added: dict[str, UserVariants] = read_facts(self.file, dict[str, UserVariants], folder)
        extended = dict(facts)
        for name, own in added.items():
            where = folder / self.file
            if name not in facts:
                raise RegistryError(f"{where}: {name}: unknown eval.{did_you_mean(name, facts)}")
            variants = facts[name].variants
            refuse_taken_names(where, f"variant of {name}", own.variants, variants)
            both = variants | own.variants
            extended[name] = facts[name].model_copy(update={"variants": both})
        return extended

    def place(self, name: str, variant: str) -> Path:
        """Return the file that has this variant."""
        bundled = variant in self.bundled()[name].variants
        return (FOLDER if bundled else user_registry()) / self.file


evals = EvalFile("evals.yaml", Eval, "eval")
"""All evals by name."""


def eval_names() -> list[str]:
    """Return the names of all evals and of their variants: `procedural`, `procedural.small`."""
    return [
        name if variant is None else f"{name}.{variant}"
        for name, entry in evals().items()
        for variant in (None, *entry.variants)
    ]


def sizes() -> dict[str, Size]:
    """Return the sizes of evals (`procedural`) and of their variants (`procedural.small`)."""
    known: dict[str, Size] = read_facts("sizes.yaml", dict[str, Size])
    return known


def assumed_replies(name: str) -> Replies:
    """Return what an estimate assumes of the replies to an eval or a variant."""
    eval_name, _, variant = name.partition(".")
    entry = evals()[eval_name]
    return (variant and entry.variants[variant].replies) or entry.replies


def register_variants(base: Callable[..., Task], name: str | None = None) -> None:
    """Register the variants of a task that `evals.yaml` lists, as `<task>.<variant>`.

    Inspect finds the tasks of a file by their syntax, and `inspect eval file.py` runs all of them.
    Variants are registered at import instead, so they run only by their own names. The name of the
    task must be given if it is not the name of the function.
    """
    name = name or base.__name__
    for short, variant in _readable_variants(name).items():
        _register(base, name, short, variant)


def _readable_variants(name: str) -> Mapping[str, Variant]:
    """Return the variants of an eval; without the user's own ones if their file has a mistake.

    Inspect only warns of an error at import, and then no task would exist. So there is a warning
    here, and every task raises the error when it is made.
    """
    try:
        return evals()[name].variants
    except RegistryError as problem:
        _warn_once(str(problem))
        return evals.bundled()[name].variants


@cache
def _warn_once(message: str) -> None:
    logger.warning(message)


def _register(base: Callable[..., Task], name: str, short: str, variant: Variant) -> None:
    """Register a task under another name, with other defaults."""
    parameters = inspect.signature(base).parameters

    def variant_task(**arguments: Any) -> Task:  # noqa: ANN401
        for argument in variant.args:
            if argument not in parameters:
                raise RegistryError(
                    f"{evals.place(name, short)}: {name}.variants.{short}.args.{argument}: "
                    f"unknown argument.{did_you_mean(argument, parameters)}"
                )
        return base(**{**variant.args, **arguments})

    variant_task.__name__ = variant_task.__qualname__ = f"{name}.{short}"
    variant_task.__doc__ = variant.description
    # The base's module decides whether Inspect puts the package's name before the task's.
    variant_task.__module__ = base.__module__
    variant_task.__signature__ = _signature(parameters, variant.args)  # type: ignore[attr-defined]
    task(name=f"{name}.{short}")(variant_task)


def _signature(
    parameters: Mapping[str, Parameter], defaults: Mapping[str, Any]
) -> inspect.Signature:
    return inspect.Signature(
        [
            parameter
            if parameter.kind is Parameter.VAR_KEYWORD
            else parameter.replace(
                default=defaults.get(parameter.name, parameter.default), kind=Parameter.KEYWORD_ONLY
            )
            for parameter in parameters.values()
        ],
        return_annotation=Task,
    )


@dataclass(frozen=True)
class NamedFile:
    """A run configuration, or a suite: a sweep without models."""

    path: Path
    description: str
    """Its first line, which is a comment."""


def run_configs() -> dict[str, NamedFile]:
    """Return the run configurations by name: those of the package, then the user's own."""
    return _named_files("runs", "run configuration")


def find_run_config(name: str) -> NamedFile:
    """Return the run configuration with this name."""
    return find_fact("run configuration", name, run_configs())


def suites() -> dict[str, NamedFile]:
    """Return the suites by name: those of the package, then the user's own."""
    return _named_files("suites", "suite")


def _named_files(folder_name: str, kind: str) -> dict[str, NamedFile]:
    found: dict[str, NamedFile] = {}
    for folder in (FOLDER / folder_name, user_registry() / folder_name):
        paths = sorted(folder.glob("*.yaml"))
        names = [path.stem for path in paths]
        refuse_taken_names(folder, kind, names, found)
        found |= {path.stem: NamedFile(path, _first_comment(path)) for path in paths}
    return found


def _first_comment(path: Path) -> str:
    with path.open(encoding="utf-8", errors="replace") as lines:
        first = next(lines, "")
    return first.lstrip("# ").rstrip(": \n") if first.startswith("#") else ""
