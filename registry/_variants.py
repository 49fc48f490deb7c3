"""Evals and their variants: a variant is a base task under another name with other defaults."""

import inspect
from collections.abc import Callable, Mapping
from inspect import Parameter
from typing import Any

from inspect_ai import Task, task
from pydantic import Field

from misstep.registry._errors import RegistryError, did_you_mean
from misstep.registry._facts import Fact, FactFile

CHARACTERS_PER_TOKEN = 3
"""A cautious estimate: English prose has four characters a token, formulas and code fewer."""


class Size(Fact):
    """What a run needs at its default settings."""

    samples: int = Field(gt=0)
    prompt_tokens: int = Field(gt=0)
    """The sum over all samples."""
    completion_tokens: int = Field(gt=0)
    """The sum over all samples."""

    @property
    def tokens(self) -> int:
        """The sum of prompt and completion tokens."""
        return self.prompt_tokens + self.completion_tokens


class Variant(Fact):
    """A named set of task arguments."""

    description: str
    args: dict[str, Any]
    size: Size
    reference: dict[str, Any] | None = None
    """More arguments for its reference results, if the variant needs no download."""


class Eval(Fact):
    """A benchmark: the base task of one file in `evals/`."""

    description: str
    version: int = Field(gt=0)
    """Increased when a change makes new results incomparable with old ones."""
    size: Size
    variants: dict[str, Variant] = Field(default_factory=dict)


evals = FactFile("evals.yaml", Eval, "eval")
"""All evals by name."""


def register_variants(base: Callable[..., Task], name: str | None = None) -> None:
    """Register the variants of a task that `evals.yaml` lists, as `<task>.<variant>`.

    Inspect finds the tasks of a file by their syntax, and `inspect eval file.py` runs all of them.
    Variants are registered at import instead, so they run only by their own names. The name of the
    task must be given if it is not the name of the function.
    """
    name = name or base.__name__
    variants = evals()[name].variants
    parameters = inspect.signature(base).parameters
    for short, variant in variants.items():
        _check(f"{name}.variants.{short}", variant, parameters)
        _register(base, f"{name}.{short}", variant.description, variant.args)


def _check(where: str, variant: Variant, parameters: Mapping[str, Parameter]) -> None:
    for argument in variant.args:
        if argument not in parameters:
            raise RegistryError(
                f"evals.yaml: {where}.args.{argument}: unknown argument."
                + did_you_mean(argument, parameters)
            )


def _register(
    base: Callable[..., Task], name: str, doc: str | None, defaults: Mapping[str, Any]
) -> None:
    """Register a task under another name, with other defaults."""

    def variant_task(**arguments: Any) -> Task:  # noqa: ANN401
        return base(**{**defaults, **arguments})

    variant_task.__name__ = variant_task.__qualname__ = name
    variant_task.__doc__ = doc
    # The base's module decides whether Inspect puts the package's name before the task's.
    variant_task.__module__ = base.__module__
    parameters = inspect.signature(base).parameters
    variant_task.__signature__ = _signature(parameters, defaults)  # type: ignore[attr-defined]
    task(name=name)(variant_task)


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
