"""`misstep sweep`: many models on many evals, as a file says."""

import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING

import click
from rich.console import Console
from rich.markup import escape
from rich.table import Column, Table

from misstep.registry import printable
from misstep.runs import start_fork_server

if TYPE_CHECKING:
    from misstep.runs import RunProgress, SweepRun


@click.group()
def sweep() -> None:
    """Run many models on many evals, as FILE says. Finished runs are never run again."""


_FILE = click.argument("file", type=click.Path(dir_okay=False))


@sweep.command()
@_FILE
def plan(file: str) -> None:
    """Print the runs of FILE with their samples, calls, tokens and price. Nothing is run."""
    from misstep.runs import read_sweep, sweep_runs

    columns = (Column(name, overflow="fold") for name in ("run", "model"))
    numbers = (Column(name, justify="right") for name in ("samples", "calls", "tokens", "price"))
    table = Table(*columns, *numbers)
    runs = sweep_runs(read_sweep(file))
    for run in runs:
        cells = (run.name, run.label, *_expected(run))
        table.add_row(*(escape(printable(cell)) for cell in cells))
    console = Console()
    console.print(table)
    console.print(
        f"{len(runs)} runs. Calls and tokens are estimates (see `misstep estimate`); – is unknown.",
        highlight=False,
    )


def _expected(run: "SweepRun") -> tuple[str, str, str, str]:
    """Return the samples, calls, tokens and price of a run; only samples for a task in a file."""
    from misstep.reports import dollars, estimate_eval

    unknown = "–"
    if not run.eval.eval.startswith("misstep/"):
        start, stop = run.command.sample_range(len(run.command.load_dataset()))
        return f"{stop - start:,}", unknown, unknown, unknown
    estimate = estimate_eval(
        run.eval.eval, run.args, run.model.model, run.eval.limit, list(run.model.roles)
    )
    calls = unknown if estimate.calls is None else f"{estimate.calls:,}"
    price = unknown if estimate.price is None else dollars(estimate.price)
    return f"{estimate.samples:,}", calls, f"{estimate.tokens:,}", price


@sweep.command()
@_FILE
def status(file: str) -> None:
    """Print how far each run of FILE is."""
    from misstep.runs import read_sweep, sweep_runs

    states = [run.progress() for run in sweep_runs(read_sweep(file))]
    Console().print(_table(states))


@sweep.command()
@_FILE
@click.option(
    "--processes",
    type=click.IntRange(1),
    default=2,
    show_default=True,
    help="How many processes run at once.",
)
@click.option("--ray", "on_ray", is_flag=True, help="Start Ray on this machine and run there.")
@click.option("--address", help="The address of an existing Ray cluster, or `auto`.")
def run(file: str, processes: int, on_ray: bool, address: str | None) -> None:
    """Run what is missing or failed of FILE. Resumable: rerun the same command."""
    start_fork_server()
    from misstep.runs import local_processes, ray_cluster, read_sweep, run_sweep, sweep_runs

    sweep = read_sweep(file)
    if on_ray or address is not None:
        execute = ray_cluster(address, sweep.pass_env)
    else:
        execute = local_processes(processes)
    console = Console()
    try:
        states = run_sweep(sweep_runs(sweep), execute, lambda state: _report(console, state))
    except KeyboardInterrupt:
        click.echo(f"Interrupted. Resume: misstep sweep run {file}", err=True)
        sys.exit(130)
    console.print(_table(states))
    failed = [state for state in states if not state.finished]
    for state in failed:
        console.print(f"{state.run.name}: {state.problem}", style="red", markup=False)
    sys.exit(1 if failed else 0)


def _report(console: Console, state: "RunProgress") -> None:
    message = f"{state.done} of {state.shards} shards" if not state.finished else "finished"
    console.print(f"{printable(state.run.name)}: {message}", markup=False, highlight=False)


def _table(states: "Iterable[RunProgress]") -> Table:
    table = Table(Column("run", overflow="fold"), "shards done", "state")
    for state in states:
        word = "finished" if state.finished else "failed" if state.problem else "not finished"
        table.add_row(escape(printable(state.run.name)), f"{state.done}/{state.shards}", word)
    return table
