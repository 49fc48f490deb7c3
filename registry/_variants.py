"""Registering variants: a base task under another name, with other defaults."""

import inspect
from collections.abc import Callable

from inspect_ai import Task, task

from misstep.registry._errors import RegistryError, did_you_mean
from misstep.registry._evals import Variant, evals


def register_variants(base: Callable[..., Task]) -> None:
    """Register the variants of a task that `evals.yaml` lists, as `<task>.<variant>`.

    Inspect finds the tasks of a file by their syntax, and runs all of them when the file is named
    alone. Variants are registered at import instead: they run by their own names only.

    Raises:
        RegistryError: A variant sets an argument that the task does not have.
    """
    for name, variant in evals()[base.__name__].variants.items():
        task(name=f"{base.__name__}.{name}")(_with_defaults(base, name, variant))


def _with_defaults(base: Callable[..., Task], name: str, variant: Variant) -> Callable[..., Task]:
    parameters = inspect.signature(base).parameters
    for argument in variant.args:
        if argument not in parameters:
            raise RegistryError(
                f"evals.yaml: {base.__name__}.variants.{name}.args.{argument}: unknown argument."
                + did_you_mean(argument, parameters)
            )

    def variant_task(**arguments: object) -> Task:
        return base(**{**variant.args, **arguments})

    variant_task.__name__ = variant_task.__qualname__ = f"{base.__name__}.{name}"
    variant_task.__doc__ = variant.description
    # The base's module decides whether Inspect puts the package's name before the task's.
    variant_task.__module__ = base.__module__
    variant_task.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
        [
            parameter.replace(
                default=variant.args.get(parameter.name, parameter.default),
                kind=inspect.Parameter.KEYWORD_ONLY,
            )
            for parameter in parameters.values()
        ],
        return_annotation=Task,
    )
    return variant_task
