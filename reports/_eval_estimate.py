"""Estimates of registered evals: by name, with prices and with the logs of earlier runs."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import yaml
from pydantic import TypeAdapter, ValidationError

from misstep.registry import MisstepError, Price, Size, parse_yaml, price_of
from misstep.reports._estimate import COMPLETION, RunEstimate, estimate, usual_completion
from misstep.reports._runs import Run, read_logs
from misstep.reports._tasks import eval_sizes, load_task

_PROTOCOL = ("critic", "style", "order", "votes", "adaptive", "structured")
"""Task arguments that decide how long completions are."""


def estimate_eval(
    name: str,
    arguments: dict[str, Any],
    model: str,
    limit: int | tuple[int, int] | None = None,
    roles: Sequence[str] = (),
    completion: int | None = None,
    runs: Sequence[Run] = (),
    prices: Path | None = None,
) -> RunEstimate:
    """Estimate a run of a registered eval, as `estimate` does.

    The limit may be a range (start and stop, counted from 0). `prices` is a file of prices in
    Inspect's format, which overrides the registry. The default completion is the registry's mean.
    """
    task = load_task(name, arguments)
    sizes = {known: size for known, _, size in eval_sizes()}
    size = sizes[name.removeprefix("misstep/")]
    start, stop = limit if isinstance(limit, tuple) else (0, limit)
    if start:
        task.dataset = task.dataset[start:stop]
        stop = None
    length = completion or _registered_completion(name, size)
    return estimate(task, model, length, runs, _price(model, prices), stop, roles, size)


def comparable_runs(
    logs: Sequence[str], name: str, model: str, arguments: dict[str, Any]
) -> list[Run]:
    """Return earlier runs of the same eval and model that were asked in the same way."""
    base = name.removeprefix("misstep/").partition(".")[0].replace("-", "_")
    return [
        run
        for run in read_logs(*logs).runs
        if run.eval == base
        and run.model == model
        and all(run.settings.get(key) == arguments.get(key) for key in _PROTOCOL)
    ]


def estimate_notes(arguments: dict[str, Any], result: RunEstimate) -> Iterator[str]:
    """Yield sentences on the limits of an estimate."""
    if arguments.get("adaptive"):
        yield "Adaptive voting: this is the smallest number of calls, if all votes agree."
    if arguments.get("critic") == "stepwise":
        yield "Stepwise: this is the largest number of calls, if every step is judged right."
    if result.failed:
        yield (
            f"{result.failed:,} of {result.samples:,} samples failed in the dry run; only their "
            f"calls before the failure are counted: {result.failure}"
        )


def _registered_completion(name: str, size: Size) -> int:
    """Return the tokens of a completion by the registry, if the task has defaults that work."""
    try:
        return usual_completion(load_task(name, {}), size)
    except MisstepError:
        return COMPLETION


def _price(model: str, file: Path | None) -> tuple[Price, str] | None:
    if file is not None:
        given = _prices_in(file)
        if model in given:
            return given[model], str(file)
    known = price_of(model)
    return (known, f"{known.source}, {known.date}") if known else None


def _prices_in(file: Path) -> dict[str, Price]:
    try:
        content = parse_yaml(file.read_text(encoding="utf-8"))
        costs = TypeAdapter(dict[str, dict[str, float]]).validate_python(content)
        facts = {"source": str(file), "date": "2000-01-01"}
        return {
            model: Price.model_validate({key: cost[key] for key in ("input", "output")} | facts)
            for model, cost in costs.items()
        }
    except (yaml.YAMLError, UnicodeDecodeError, ValidationError, KeyError) as problem:
        detail = " ".join(str(problem).split())
        raise MisstepError(
            f"{file}: not a file of prices; it maps model names to input and output prices: "
            f"{detail}"
        ) from None
