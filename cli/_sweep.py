"""`misstep sweep`: many models on many evals, as a file says."""

import shlex
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from rich.console import Console

from misstep.cli._options import SampleLimit, json_option, processes_option
from misstep.cli._output import (
    new_table,
    print_json,
    print_lines,
    records_table,
    shown,
    write_output,
)
from misstep.registry import MisstepError
from misstep.runs import start_fork_server

if TYPE_CHECKING:
    from misstep.runs import RunProgress, Sweep, SweepRun


@click.group()
def sweep() -> None:
    """Run many models on many evals, as FILE says. Finished runs are never run again.

    FILE may be the name of a suite, such as `process`: all first-error benchmarks. It needs
    --model.
    """


def _first_samples(
    context: click.Context, option: click.Parameter, limit: tuple[int, int] | None
) -> int | None:
    start, stop = limit or (0, None)
    if start:
        raise click.BadParameter("a sweep uses the first samples. Write a number, such as 10.")
    return stop


_OPTIONS = (
    click.argument("file", type=click.Path(dir_okay=False)),
    click.option("--model", "models", multiple=True, help="Run this model. Repeatable."),
    click.option("--model-base-url", "base_url", help="Address of the models of --model."),
    click.option("--log-dir", metavar="FOLDER", help="Folder for logs, in place of FILE's."),
    click.option(
        "--limit",
        type=SampleLimit(),
        callback=_first_samples,
        metavar="N",
        help="Use only the first N samples of every eval.",
    ),
    json_option,
)


def _sweep_options(command: Callable[..., None]) -> Callable[..., None]:
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


@sweep.command()
@_sweep_options
def plan(file: str, as_json: bool, **options: Any) -> None:  # noqa: ANN401
    """Print the runs of FILE with their samples, calls, tokens and price. Nothing is run."""
    from misstep.runs import read_sweep

    _print_plan(read_sweep(file, **options), as_json)


def _print_plan(sweep: "Sweep", as_json: bool = False) -> None:
    from misstep.reports import UNDEFINED, dollars
    from misstep.runs import sweep_runs

    records = [_plan_record(run) for run in sweep_runs(sweep)]
    if as_json:
        print_json(records)
        return
    table = new_table("run", "model", "samples", "calls", "tokens", "price", words=2)

    def add(run: str, model: str, values: list[Any], style: str | None = None) -> None:
        *counts, price = values
        numbers = (UNDEFINED if n is None else f"{n:,}" for n in counts)
        table.add_row(shown(run), shown(model), *numbers, dollars(price), style=style)

    for record in records:
        add(record["run"], record["model"], [record[name] for name in _COUNTS])
    if len(records) > 1:
        known = [[r[name] for r in records if r[name] is not None] for name in _COUNTS]
        unknown = "" if all(len(values) == len(records) for values in known[:1]) else " known"
        add(f"all{unknown}", "", [sum(values) if values else None for values in known], "bold")
    console = Console()
    console.print(table)
    console.print(
        f"{len(records)} runs. Calls and tokens are estimates (see `misstep estimate`); "
        f"{UNDEFINED} is unknown.",
        highlight=False,
    )
    problems = (f"{one['run']}: {one['problem']}" for one in records if "problem" in one)
    print_lines(console, problems, style="yellow")


_COUNTS = ("samples", "calls", "tokens", "price")


def _plan_record(run: "SweepRun") -> dict[str, Any]:
    """Return the size of a run; only its samples if the task is in a file."""
    from misstep.reports import estimate_eval

    record: dict[str, Any] = {"run": run.name, "model": run.label} | dict.fromkeys(_COUNTS)
    try:
        if not run.eval.eval.startswith("misstep/"):
            start, stop = run.command.sample_range(len(run.command.load_dataset()))
            return record | {"samples": stop - start}
        estimate = estimate_eval(
            run.eval.eval, run.args, run.model.model, run.eval.limit, list(run.model.roles)
        )
    except MisstepError as problem:
        return record | {"problem": str(problem)}
    return record | {name: getattr(estimate, name) for name in _COUNTS}


@sweep.command()
@_sweep_options
def status(file: str, as_json: bool, **options: Any) -> None:  # noqa: ANN401
    """Print how far each run of FILE is."""
    from misstep.runs import read_sweep, sweep_runs

    _print_states([run.progress() for run in sweep_runs(read_sweep(file, **options))], as_json)


@sweep.command()
@_sweep_options
@processes_option
@click.option("--ray", "on_ray", is_flag=True, help="Start Ray on this machine and run there.")
@click.option("--address", help="The address of an existing Ray cluster, or `auto`.")
def run(
    file: str,
    as_json: bool,
    processes: int,
    on_ray: bool,
    address: str | None,
    **options: Any,  # noqa: ANN401
) -> None:
    """Run what is missing or failed of FILE. Resumable: rerun the same command."""
    start_fork_server()
    from misstep.runs import local_processes, ray_cluster, read_sweep, run_sweep, sweep_runs

    sweep = read_sweep(file, **options)
    if sweep.report and not as_json:
        _print_plan(sweep)
    if on_ray or address is not None:
        execute = ray_cluster(address, sweep.pass_env)
    else:
        execute = local_processes(processes)
    console = Console(quiet=as_json)
    try:
        states = run_sweep(sweep_runs(sweep), execute, lambda state: _report(console, state))
    except KeyboardInterrupt:
        click.echo("Interrupted. To resume, rerun the same command.", err=True)
        sys.exit(130)
    _print_states(states, as_json)
    if sweep.report and any(state.finished for state in states):
        _write_report(console, sweep, sweep.report)
    elif any(state.finished for state in states):
        print_lines(console, [f"Results at a glance: misstep show {shlex.quote(sweep.log_dir)}"])
    failed = [state for state in states if not state.finished]
    print_lines(console, (f"{state.run.name}: {state.problem}" for state in failed), style="red")
    sys.exit(1 if failed else 0)


def _write_report(console: Console, sweep: "Sweep", name: str) -> None:
    """Write one page on the logs of a sweep: into its folder, or here if that is remote."""
    from misstep.reports import build_report, read_logs, report_page

    place = sweep.log_dir
    file = Path(name) if "://" in place else Path(place) / name
    page = report_page(build_report(read_logs(place)), place)
    write_output({file: page.encode()}, "FILE")
    print_lines(console, [f"Report: {file}"])


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
