"""`misstep estimate`: what a run will take, before it is made."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import click
import yaml
from pydantic import TypeAdapter, ValidationError
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from misstep.cli._tasks import load_task, size_of
from misstep.registry import MisstepError, Price, Size, parse_yaml, price_of, task_arguments
from misstep.reports import Run, RunEstimate, estimate, read_logs
from misstep.reports._estimate import COMPLETION, usual_completion
from misstep.reports._written import dollars, json_text, one_line


@click.command("estimate")
@click.argument("eval_name", metavar="EVAL")
@click.option("--model", required=True, help="As `inspect eval --model` takes it.")
@click.option("-T", "given", multiple=True, metavar="NAME=VALUE", help="An argument of the task.")
@click.option("--limit", type=click.IntRange(1), help="Only so many samples.")
@click.option("--completion", type=click.IntRange(1), help="Tokens that a completion has.")
@click.option("--logs", help="Earlier logs, whose completions are taken for an average.")
@click.option("--model-role", "roles", multiple=True, metavar="ROLE", help="Of another model.")
@click.option(
    "--model-cost-config",
    "cost_file",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="Prices, as `inspect eval` takes them.",
)
@click.option("--format", "form", default="table", type=click.Choice(["table", "json"]))
def estimate_run(
    eval_name: str,
    model: str,
    given: tuple[str, ...],
    limit: int | None,
    completion: int | None,
    logs: str | None,
    roles: tuple[str, ...],
    cost_file: Path | None,
    form: str,
) -> None:
    """Print the samples, calls, tokens and price of a run of EVAL.

    Nothing is asked of any model: the task's own samples and solver are walked through with a
    stand-in, so that the prompts are those of the run.
    """
    arguments = task_arguments(given)
    runs = list(_like(logs, eval_name, model, arguments)) if logs else []
    names = [role.partition("=")[0] for role in roles]
    price = _price(model, cost_file)
    result = estimated(eval_name, arguments, model, limit, names, completion, runs, price)
    if form == "json":
        click.echo(json_text(result), nl=False)
    else:
        _print(Console(), result, list(_notes(arguments, result, bool(logs and not runs))))


def estimated(
    name: str,
    arguments: dict[str, Any],
    model: str,
    limit: int | None = None,
    roles: Sequence[str] = (),
    completion: int | None = None,
    runs: Sequence[Run] = (),
    price: tuple[Price, str] | None = None,
) -> RunEstimate:
    """Estimate a run of an eval by its name."""
    task, size = load_task(name, arguments), size_of(name)
    return estimate(
        task,
        model,
        completion or _usual(name, size),
        runs,
        price or _price(model, None),
        limit,
        roles,
        size,
    )


def _usual(name: str, size: Size) -> int:
    """Tokens of a completion by the registry, where the task at its defaults can be made."""
    try:
        return usual_completion(load_task(name, {}), size)
    except MisstepError:
        return COMPLETION


def _like(logs: str, name: str, model: str, arguments: dict[str, Any]) -> Iterator[Run]:
    """Earlier runs of the same model, asked in the same way."""
    base = name.removeprefix("misstep/").partition(".")[0].replace("-", "_")
    about = ("critic", "style", "order", "votes", "adaptive", "structured")
    for run in read_logs(logs).runs:
        same = all(run.settings.get(key) == arguments.get(key) for key in about)
        if run.eval == base and run.model == model and same:
            yield run


def _price(model: str, file: Path | None) -> tuple[Price, str] | None:
    if file is not None:
        given = _given_prices(file)
        if model in given:
            return given[model], str(file)
    known = price_of(model)
    return (known, f"{known.source}, {known.date}") if known else None


def _given_prices(file: Path) -> dict[str, Price]:
    try:
        content = parse_yaml(file.read_text(encoding="utf-8"))
        costs = TypeAdapter(dict[str, dict[str, float]]).validate_python(content)
        facts = {"source": str(file), "date": "2000-01-01"}
        return {
            model: Price.model_validate({k: cost[k] for k in ("input", "output")} | facts)
            for model, cost in costs.items()
        }
    except (yaml.YAMLError, UnicodeDecodeError, ValidationError, KeyError) as problem:
        detail = " ".join(str(problem).split())
        raise MisstepError(
            f"{file}: wanted is a model's name, with input and output prices: {detail}"
        ) from None


def _notes(arguments: dict[str, Any], result: RunEstimate, no_logs: bool) -> Iterator[str]:
    if arguments.get("adaptive"):
        yield "Adaptive voting: the fewest calls, where all votes agree."
    if arguments.get("critic") == "stepwise":
        yield "Stepwise: the most calls, where every step is judged right."
    if no_logs:
        yield "No earlier log is of this eval, model and way of asking."
    if result.failed:
        yield (
            f"{result.failed:,} of {result.samples:,} samples could not be walked through and are "
            f"counted as far as they came: {one_line(result.failure)}"
        )


def _print(console: Console, result: RunEstimate, notes: list[str]) -> None:
    table = Table(box=None, show_header=False, pad_edge=False)
    table.add_column(style="bold")
    table.add_column(justify="right")
    table.add_column()
    table.add_row("samples", f"{result.samples:,}", "")
    if result.calls is not None:
        table.add_row("calls", f"{result.calls:,}", f"{result.completions:,} completions")
    about = "" if result.prompt_exact else "~"
    table.add_row("prompt tokens", f"{about}{result.prompt_tokens:,}", escape(result.prompt_rule))
    table.add_row(
        "completion tokens", f"~{result.completion_tokens:,}", escape(result.completion_rule)
    )
    table.add_row("tokens", f"~{result.tokens:,}", "")
    source = result.price_source or "no price is known: --model-cost-config FILE"
    table.add_row("price", f"~{dollars(result.price)}" if result.price_source else "?", source)
    console.print(f"{escape(result.task)} by {escape(result.model)}", highlight=False)
    console.print(table, highlight=False)
    for note in notes:
        console.print(escape(note), style="yellow", highlight=False)
