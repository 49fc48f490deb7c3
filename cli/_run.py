"""`misstep run`: an eval in several processes, as one log."""

import sys
from importlib import import_module
from threading import Thread
from typing import TYPE_CHECKING

import click
from rich.console import Console

from misstep.cli._options import (
    count_option,
    json_option,
    limit_option,
    log_dir_option,
    processes_option,
    task_args_option,
)
from misstep.runs import collect_rarely, freeze_loaded_objects, start_fork_server

if TYPE_CHECKING:
    from misstep.runs import SplitRun


@click.command(
    "run", context_settings={"ignore_unknown_options": True, "allow_interspersed_args": True}
)
@click.argument("eval_name", metavar="[EVAL]", required=False)
@task_args_option
@limit_option
@processes_option
@count_option("--shards", None, 1, "Split the samples into N parts. Default: one per process.")
@count_option("--max-connections", None, 1, "Open at most N connections over all processes.")
@log_dir_option()
@click.option("--resume", metavar="FOLDER", help="Resume a run that ended early: its .shards.")
@json_option
@click.argument("options", nargs=-1, type=click.UNPROCESSED, metavar="[INSPECT OPTIONS]")
def run_eval(
    eval_name: str | None,
    task_args: tuple[str, ...],
    limit: tuple[int, int] | None,
    processes: int,
    shards: int | None,
    max_connections: int | None,
    log_dir: str,
    resume: str | None,
    as_json: bool,
    options: tuple[str, ...],
) -> None:
    """Run EVAL in several processes and join their logs into one.

    One process of Inspect is CPU-bound at about 60 samples a second; two do nearly twice as many.
    The result is that of `inspect eval EVAL` with the same options, which are passed on.
    """
    if (resume is None) == (eval_name is None):
        raise click.UsageError("Name an eval, or a folder to --resume.")
    resuming = "No sample was run: rerun the same command."
    try:
        collect_rarely()
        # First of all, so that Inspect is loaded there while it is loaded here.
        start_fork_server()
        from misstep.loaders import folder_lock
        from misstep.runs import EvalCommand, SplitRun

        if resume is not None:
            run = SplitRun.open(resume)
        else:
            command = EvalCommand.parse(str(eval_name), task_args, limit, options, max_connections)
            run = SplitRun.create(command, shards or processes, log_dir)
        resuming = f"Resume: misstep run --resume {run.folder}"
        with folder_lock(run.folder):
            if resume is not None and max_connections is not None:
                changed = {"max_connections": max_connections}
                run.replace_command(run.command.model_copy(update=changed))
            _run(run, processes, resuming, as_json)
    except KeyboardInterrupt:
        click.echo(f"Interrupted. {resuming}", err=True)
        sys.exit(130)


def _load_for_joining() -> None:
    for name in ("numpy.random", "misstep.registry.entry_point", "misstep.reports"):
        import_module(name)


def _run(run: "SplitRun", processes: int, resuming: str, as_json: bool) -> None:
    from misstep.cli._output import print_json, print_lines, print_summary, results_object
    from misstep.registry import MisstepError
    from misstep.runs import Job, local_processes

    console = Console(quiet=as_json)
    left = run.unfinished()
    print_lines(
        console,
        [f"{run.command.eval}: {len(left)} of {len(run.shards)} shards, {processes} at once"],
    )
    # Joining makes as many objects as a run does. What it needs is loaded in the meantime.
    freeze_loaded_objects()
    Thread(target=_load_for_joining, daemon=True).start()
    failed: dict[str, list[str]] = {}
    jobs = [Job(run.folder, shard.index) for shard in left]
    for job, problem in local_processes(processes)(jobs):
        shard = run.shards[job.shard or 0]
        if problem is None:
            print_lines(console, [f"{shard} done"])
        else:
            failed.setdefault(problem, []).append(str(shard))
    if failed:
        lines = [f"{', '.join(shards)} {problem}" for problem, shards in failed.items()]
        raise MisstepError("\n".join([*lines, resuming]))
    log = run.join()
    if as_json:
        print_json(results_object(log))
    if log.results is None:
        print_lines(console, [log.location])
        sys.exit(1)
    if not as_json:
        from misstep.reports import read_run, summary_of_run

        print_summary(console, summary_of_run(read_run(log.location)))
