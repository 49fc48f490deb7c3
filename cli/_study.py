"""`misstep study`: who finds the first error, and what that depends on."""

import shlex
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypedDict, Unpack

import click

from misstep.cli._exported import csv_text
from misstep.loaders import write_files
from misstep.registry import MisstepError, task_arguments
from misstep.reports import STUDY_FOLDER, Judgements, chart_library, study_of

if TYPE_CHECKING:
    from inspect_ai.log import EvalLog

TASK = "misstep/procedural"
BASELINES = ("no_error", "last_step", "uniform", "label_distribution")
EMBEDDED = "embedded/smollm2"
EMBEDDED_CRITIC = "stepwise"
"""It cannot write a critique; asked step by step, it gives a verdict by one word."""
PAGE = "study.md"


@click.command()
@click.option("--model", "models", multiple=True, metavar="MODEL", help="A model to study too.")
@click.option("--critic", default="critique", show_default=True, help="How models are asked.")
@click.option(
    "-T",
    "arguments",
    multiple=True,
    metavar="NAME=VALUE",
    help="An argument of Procedural: seed, n, steps, position, families, difficulty, …",
)
@click.option(
    "--embedded",
    default=100,
    show_default=True,
    metavar="ROWS",
    type=click.IntRange(0),
    help="On how many rows to run the embedded model; 0 leaves it out.",
)
@click.option("--log-dir", default="logs/study", show_default=True, help="Where the logs go.")
@click.option(
    "-o",
    "--output",
    default=".",
    type=click.Path(file_okay=False, path_type=Path),
    help=f"The folder for {PAGE} and {STUDY_FOLDER}/.",
)
def study(
    models: tuple[str, ...],
    critic: str,
    arguments: tuple[str, ...],
    embedded: int,
    log_dir: str,
    output: Path,
) -> None:
    """Study how first-error detection depends on position, length, type and dependants.

    Baselines, the embedded model and every MODEL judge the same generated solutions. A run that is
    finished is not made again: the same command goes on where it broke off, and another --model
    is added to what is there.
    """
    chart_library()
    given = task_arguments(arguments)
    if "critic" in given:
        raise MisstepError("-T critic: the models' critic is named by --critic.")
    command = _command(models, critic, arguments, embedded, output)
    runs = list(_runs(models, critic, given, embedded, log_dir))
    result = study_of(runs, command)
    folder = output / STUDY_FOLDER
    contents = {output / path: picture for path, picture in result.pictures.items()}
    contents[folder / "figures.csv"] = csv_text(result.figures).encode()
    contents[folder / "samples.csv"] = csv_text(result.samples).encode()
    contents[output / PAGE] = result.page.encode()
    write_files(contents, "Name a folder that can be written: -o DIR.")
    click.echo(f"{output / PAGE}\nLook at the runs:  inspect view --log-dir {log_dir}")


def _command(
    models: Sequence[str], critic: str, arguments: Sequence[str], embedded: int, output: Path
) -> str:
    """The command again, without what does not change the result."""
    words = ["misstep", "study"]
    words += [word for model in models for word in ("--model", model)]
    words += ["--critic", critic] if models else []
    words += [word for argument in arguments for word in ("-T", argument)]
    return shlex.join([*words, "--embedded", str(embedded), "-o", str(output)])


def _runs(
    models: Sequence[str], critic: str, given: dict[str, Any], embedded: int, log_dir: str
) -> Iterator[Judgements]:
    baselines = [given | {"critic": baseline} for baseline in BASELINES]
    # Seconds of work: the screen of figures that Inspect would draw takes longer than the run.
    logs = _finished(baselines, "none/none", log_dir, display="log", log_realtime=False)
    yield from map(Judgements, BASELINES, logs)
    if embedded:
        asked = given | {"critic": EMBEDDED_CRITIC}
        [log] = _finished([asked], EMBEDDED, log_dir, limit=embedded)
        yield Judgements(f"{EMBEDDED}, {EMBEDDED_CRITIC}", log)
    for model in models:
        [log] = _finished([given | {"critic": critic}], model, log_dir)
        yield Judgements(f"{model}, {critic}", log)


class Options(TypedDict, total=False):
    """How to run."""

    limit: int
    display: Literal["log"]
    log_realtime: bool


def _finished(
    arguments: Sequence[dict[str, Any]], model: str, log_dir: str, **options: Unpack[Options]
) -> "list[EvalLog]":
    """The logs of finished runs, in order: those of earlier runs where there are any."""
    from inspect_ai import eval_set
    from inspect_ai.util import registry_create

    try:
        tasks = [registry_create("task", TASK, **own) for own in arguments]
    except TypeError as problem:
        raise MisstepError(f"-T: {problem}. `misstep study --help` names some.") from None
    # Other studies may have their logs there: runs are told apart by their arguments.
    success, logs = eval_set(
        tasks,
        model=model,
        log_dir=log_dir,
        log_dir_allow_dirty=True,
        retry_attempts=0,
        retry_immediate=False,
        **options,
    )
    for log in logs:
        if not success or log.results is None:
            raise MisstepError(
                f"{model}: a run ended with the status {log.status!r}. Its log is {log.location}; "
                "the same command goes on from there."
            )
    by_critic = {log.eval.task_args["critic"]: log for log in logs}
    return [by_critic[own["critic"]] for own in arguments]
