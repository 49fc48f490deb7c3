"""`misstep sweep`: many models on many evals, as a file says."""

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click
from rich.console import Console

from misstep.cli._options import json_option, processes_option
from misstep.cli._output import new_table, print_json, print_lines, records_table, shown
from misstep.runs import start_fork_server

if TYPE_CHECKING:
    from misstep.runs import RunProgress, SweepRun


@click.group()
def sweep() -> None:
    """Run many models on many evals, as FILE says. Finished runs are never run again."""


_FILE = click.argument("file", type=click.Path(dir_okay=False))


@sweep.command()
@_FILE
@json_option
def plan(file: str, as_json: bool) -> None:
    """Print the runs of FILE with their samples, calls, tokens and price. Nothing is run."""
    from misstep.reports import UNDEFINED, dollars
    from misstep.runs import read_sweep, sweep_runs

    records = [_plan_record(run) for run in sweep_runs(read_sweep(file))]
    if as_json:
        print_json(records)
        return
    table = new_table("run", "model", "samples", "calls", "tokens", "price", words=2)
    for record in records:
        run, model, *counts, price = record.values()
        numbers = (UNDEFINED if n is None else f"{n:,}" for n in counts)
        table.add_row(shown(run), shown(model), *numbers, dollars(price))
    console = Console()
    console.print(table)
    console.print(
        f"{len(records)} runs. Calls and tokens are estimates (see `misstep estimate`); "
        f"{UNDEFINED} is unknown.",
        highlight=False,
    )


def _plan_record(run: "SweepRun") -> dict[str, Any]:
    """Return the size of a run; only its samples if the task is in a file."""
    from misstep.reports import estimate_eval

    record: dict[str, Any] = {"run": run.name, "model": run.label}
    if not run.eval.eval.startswith("misstep/"):
        start, stop = run.command.sample_range(len(run.command.load_dataset()))
        return record | {"samples": stop - start, "calls": None, "tokens": None, "price": None}
    estimate = estimate_eval(
        run.eval.eval, run.args, run.model.model, run.eval.limit, list(run.model.roles)
    )
    names = ("samples", "calls", "tokens", "price")
    return record | {name: getattr(estimate, name) for name in names}


@sweep.command()
@_FILE
@json_option
def status(file: str, as_json: bool) -> None:
    """Print how far each run of FILE is."""
    from misstep.runs import read_sweep, sweep_runs

    _print_states([run.progress() for run in sweep_runs(read_sweep(file))], as_json)


@sweep.command()
@_FILE
@processes_option
@click.option("--ray", "on_ray", is_flag=True, help="Start Ray on this machine and run there.")
@click.option("--address", help="The address of an existing Ray cluster, or `auto`.")
@json_option
def run(file: str, processes: int, on_ray: bool, address: str | None, as_json: bool) -> None:
    """Run what is missing or failed of FILE. Resumable: rerun the same command."""
    start_fork_server()
    from misstep.runs import local_processes, ray_cluster, read_sweep, run_sweep, sweep_runs

    sweep = read_sweep(file)
    if on_ray or address is not None:
        execute = ray_cluster(address, sweep.pass_env)
    else:
        execute = local_processes(processes)
    console = Console(quiet=as_json)
    try:
        states = run_sweep(sweep_runs(sweep), execute, lambda state: _report(console, state))
    except KeyboardInterrupt:
        click.echo(f"Interrupted. Resume: misstep sweep run {file}", err=True)
        sys.exit(130)
    _print_states(states, as_json)
    failed = [state for state in states if not state.finished]
    print_lines(console, (f"{state.run.name}: {state.problem}" for state in failed), style="red")
    sys.exit(1 if failed else 0)


def _report(console: Console, state: "RunProgress") -> None:
    message = f"{state.done} of {state.shards} shards" if not state.finished else "finished"
    print_lines(console, [f"{state.run.name}: {message}"])


def _print_states(states: "Sequence[RunProgress]", as_json: bool) -> None:
    records: list[dict[str, Any]] = [
        {
            "run": state.run.name,
            "state": "finished" if state.finished else "failed" if state.problem else "unfinished",
            "shards_done": state.done,
            "shards": state.shards,
        }
        for state in states
    ]
    if as_json:
        problems = (state.problem for state in states)
        print_json([r | {"problem": p} for r, p in zip(records, problems, strict=True)])
    else:
        Console().print(records_table(records, words=2))
