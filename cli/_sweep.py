"""`misstep sweep`: many models on many evals, as a file says."""

import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING

import click
from rich.console import Console
from rich.markup import escape
from rich.table import Column, Table

from misstep.registry import printable

if TYPE_CHECKING:
    from misstep.runs import Progress, Run


@click.group()
def sweep() -> None:
    """Run many models on many evals, as a FILE says; what is finished is never run again."""


_FILE = click.argument("file", type=click.Path(dir_okay=False))


@sweep.command()
@_FILE
def plan(file: str) -> None:
    """Print the runs that FILE asks for: samples, calls, tokens and price. Nothing is run."""
    from misstep.runs import read_sweep, runs_of

    columns = (Column(name, overflow="fold") for name in ("run", "model"))
    numbers = (Column(name, justify="right") for name in ("samples", "calls", "tokens", "price"))
    table = Table(*columns, *numbers)
    runs = runs_of(read_sweep(file))
    for run in runs:
        cells = (run.name, run.label, *_expected(run))
        table.add_row(*(escape(printable(cell)) for cell in cells))
    console = Console()
    console.print(table)
    console.print(
        f"{len(runs)} runs. Calls and tokens are estimates, as `misstep estimate` explains them; "
        "– is not known.",
        highlight=False,
    )


def _expected(run: "Run") -> tuple[str, str, str, str]:
    """The samples, calls, tokens and price of a run; a file's task is only counted."""
    from misstep.reports import dollars, estimate_eval

    unknown = "–"
    if not run.eval.eval.startswith("misstep/"):
        start, stop = run.command.samples()
        return f"{stop - start:,}", unknown, unknown, unknown
    told = estimate_eval(
        run.eval.eval, run.args, run.model.model, run.eval.limit, list(run.model.roles)
    )
    calls = unknown if told.calls is None else f"{told.calls:,}"
    price = unknown if told.price is None else dollars(told.price)
    return f"{told.samples:,}", calls, f"{told.tokens:,}", price


@sweep.command()
@_FILE
def status(file: str) -> None:
    """Print how far each run of FILE has come."""
    from misstep.runs import progress, read_sweep, runs_of

    states = [progress(run) for run in runs_of(read_sweep(file))]
    Console().print(_table(states))


@sweep.command()
@_FILE
@click.option(
    "--processes", type=click.IntRange(1), default=2, show_default=True, help="How many at once."
)
@click.option("--ray", "on_ray", is_flag=True, help="Run on a Ray cluster of this machine.")
@click.option("--address", help="An existing Ray cluster's address, or `auto`.")
def run(file: str, processes: int, on_ray: bool, address: str | None) -> None:
    """Run what is missing or failed of FILE's runs."""
    from misstep.runs import advance, local_processes, ray_cluster, read_sweep, runs_of

    described = read_sweep(file)
    if on_ray or address is not None:
        execute = ray_cluster(address, described.pass_env)
    else:
        execute = local_processes(processes)
    console = Console()
    states = advance(runs_of(described), execute, lambda state: _tell(console, state))
    console.print(_table(states))
    failed = [state for state in states if not state.finished]
    for state in failed:
        console.print(f"{state.run.name}: {state.problem}", style="red", markup=False)
    sys.exit(1 if failed else 0)


def _tell(console: Console, state: "Progress") -> None:
    told = f"{state.done} of {state.shards} shards" if not state.finished else "finished"
    console.print(f"{printable(state.run.name)}: {told}", markup=False, highlight=False)


def _table(states: "Iterable[Progress]") -> Table:
    table = Table(Column("run", overflow="fold"), "shards done", "state")
    for state in states:
        word = "finished" if state.finished else "failed" if state.problem else "not finished"
        table.add_row(escape(printable(state.run.name)), f"{state.done}/{state.shards}", word)
    return table
