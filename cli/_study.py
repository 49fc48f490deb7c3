"""`misstep study`: who finds the first error, and what that depends on."""

import shlex
from collections.abc import Sequence
from pathlib import Path

import click

from misstep.cli._options import embedded_option, log_dir_option, output_option, task_args_option
from misstep.cli._output import write_output
from misstep.loaders import folder_lock
from misstep.registry import task_arguments
from misstep.reports import STUDY_FOLDER, build_study, csv_text, study_runs

_PAGE = "study.md"


@click.command()
@click.option("--model", "models", multiple=True, help="A model to study. Repeatable.")
@click.option("--critic", default="critique", help="How models are asked.")
@task_args_option
@embedded_option(0, "the set")
@log_dir_option("logs/study")
@output_option("FOLDER", f"Folder for {_PAGE} and {STUDY_FOLDER}/.", default=".")
def study(
    models: tuple[str, ...],
    critic: str,
    task_args: tuple[str, ...],
    embedded: int,
    log_dir: str,
    output: Path,
) -> None:
    """Study what first-error detection depends on.

    The study looks at the position and type of the error, the length of the solution, and the
    steps that depend on the error.

    Baselines, the embedded model and every --model judge the same generated solutions. -T gives
    arguments of Procedural: seed, n, steps, position, families, difficulty and others.

    Resumable: the same command skips finished runs. Another --model is added to the results.
    """
    arguments = task_arguments(task_args)
    with folder_lock(log_dir):
        runs = list(study_runs(models, critic, arguments, embedded, log_dir))
    result = build_study(runs, _command(models, critic, task_args, embedded, output))
    folder = output / STUDY_FOLDER
    contents = {output / path: chart for path, chart in result.charts.items()}
    contents[folder / "figures.csv"] = csv_text(result.metrics).encode()
    contents[folder / "samples.csv"] = csv_text(result.samples).encode()
    contents[output / _PAGE] = result.page.encode()
    write_output(contents, "FOLDER")
    click.echo(f"{output / _PAGE}\nView the runs:  inspect view --log-dir {log_dir}")


def _command(
    models: Sequence[str], critic: str, task_args: Sequence[str], embedded: int, output: Path
) -> str:
    """Return the command, without options that do not change the result."""
    words = ["misstep", "study"]
    words += [word for model in models for word in ("--model", model)]
    words += ["--critic", critic] if models else []
    words += [word for argument in task_args for word in ("-T", argument)]
    return shlex.join([*words, "--embedded", str(embedded), "-o", str(output)])
