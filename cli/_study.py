"""`misstep study`: who finds the first error, and what that depends on."""

import shlex
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from misstep.cli._exported import csv_text
from misstep.loaders import write_files
from misstep.registry import MisstepError
from misstep.reports import STUDY_FOLDER, Judgements, chart_library, study_of

if TYPE_CHECKING:
    from inspect_ai.log import EvalLog

TASK = "misstep/procedural"
BASELINES = ("no_error", "last_step", "uniform", "label_distribution")
BASELINE_MODEL = "none/none"
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
    given = dict(_argument(text) for text in arguments)
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


def _argument(text: str) -> tuple[str, Any]:
    import yaml

    name, equals, value = text.partition("=")
    if not equals or name == "critic":
        raise MisstepError(
            f"-T {text}: wanted is name=value, such as -T seed=7. See also --critic."
        )
    return name, yaml.safe_load(value)


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
    for baseline in BASELINES:
        yield Judgements(baseline, _finished(given | {"critic": baseline}, BASELINE_MODEL, log_dir))
    if embedded:
        asked = given | {"critic": EMBEDDED_CRITIC}
        log = _finished(asked, EMBEDDED, log_dir, limit=embedded)
        yield Judgements(f"{EMBEDDED}, {EMBEDDED_CRITIC}", log)
    for model in models:
        yield Judgements(
            f"{model}, {critic}", _finished(given | {"critic": critic}, model, log_dir)
        )


def _finished(
    arguments: dict[str, Any],
    model: str,
    log_dir: str,
    limit: int | None = None,
) -> "EvalLog":
    """The log of a finished run: of an earlier one where there is one."""
    from inspect_ai import eval_set
    from inspect_ai.util import registry_create

    try:
        task = registry_create("task", TASK, **arguments)
    except TypeError as problem:
        raise MisstepError(f"-T: {problem}. `misstep study --help` names some.") from None
    success, [log] = eval_set(
        task,
        model=model,
        log_dir=log_dir,
        limit=limit,
        # Other studies may have their logs there; their runs are told apart by their arguments.
        log_dir_allow_dirty=True,
        # A baseline takes seconds, and Inspect shows a screen of figures by family.
        display="none" if model == BASELINE_MODEL else None,
    )
    if not success or log.results is None:
        raise MisstepError(
            f"{model}: the run ended with the status {log.status!r}. Its log is {log.location}; "
            "the same command goes on from there."
        )
    return log
