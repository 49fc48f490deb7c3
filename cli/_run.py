"""`misstep run`: an eval in several processes, as one log."""

import sys
from typing import TYPE_CHECKING

import click
from rich.console import Console

from misstep.runs import Workers, collect_rarely, keep_what_is_loaded

if TYPE_CHECKING:
    from misstep.runs import SplitRun


@click.command(
    "run", context_settings={"ignore_unknown_options": True, "allow_interspersed_args": True}
)
@click.argument("eval_name", metavar="[EVAL]", required=False)
@click.option("-T", "task_args", multiple=True, metavar="NAME=VALUE", help="A task's argument.")
@click.option("--limit", help="Which samples: 10, or 11-20.")
@click.option(
    "--processes", type=click.IntRange(1), default=2, show_default=True, help="How many at once."
)
@click.option("--shards", type=click.IntRange(1), help="How many parts. [default: the processes]")
@click.option("--log-dir", default="logs", show_default=True, help="Where the joined log goes.")
@click.option("--resume", metavar="FOLDER", help="Go on with a run that ended early: its .shards.")
@click.argument("options", nargs=-1, type=click.UNPROCESSED, metavar="[INSPECT OPTIONS]")
def run_eval(
    eval_name: str | None,
    task_args: tuple[str, ...],
    limit: str | None,
    processes: int,
    shards: int | None,
    log_dir: str,
    resume: str | None,
    options: tuple[str, ...],
) -> None:
    """Run EVAL split by sample over processes, joined into one log.

    One process of Inspect is CPU-bound at some 60 samples a second; two do nearly twice as many.
    The result is that of `inspect eval EVAL` with the same options, which are passed on.
    """
    if (resume is None) == (eval_name is None):
        raise click.UsageError("Name an eval, or a folder to --resume.")
    collect_rarely()
    # Before all else, so that Inspect is loaded there while it is loaded here.
    with Workers() as workers:
        from misstep.runs import EvalCommand, SplitRun

        if resume is not None:
            run = SplitRun.open(resume)
        else:
            command = EvalCommand.parse(str(eval_name), task_args, limit, options)
            run = SplitRun.create(command, shards or processes, log_dir)
        _run(run, processes, workers)


def _run(run: "SplitRun", processes: int, workers: Workers) -> None:
    from misstep.cli._output import metrics_table
    from misstep.registry import MisstepError
    from misstep.runs import Archive, Job, gathering, local_processes

    console = Console()
    left = run.left()
    console.print(
        f"{run.command.eval}: {len(left)} of {len(run.shards)} shards to run, {processes} at once",
        highlight=False,
    )
    # Joining makes as many objects as a run does.
    keep_what_is_loaded()
    failed = []
    jobs = [Job(run.folder, shard.index) for shard in left]
    with Archive() as archive:
        with gathering(run, archive):
            for job, problem in local_processes(processes, workers)(jobs):
                limit = run.shards[job.shard].limit
                if problem is None:
                    console.print(f"shard {job.shard} done (samples {limit})", highlight=False)
                else:
                    failed.append(f"shard {job.shard} (samples {limit}) {problem}")
        if failed:
            go_on = f"Go on with: misstep run --resume {run.folder}"
            raise MisstepError("\n".join([*failed, go_on]))
        log = run.join(archive)
    console.print(log.location, highlight=False, soft_wrap=True)
    if log.results is None:
        sys.exit(1)
    console.print(metrics_table(log.results))
