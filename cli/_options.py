"""Options that several commands share: one name and one meaning everywhere."""

import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal

import click

# The name is in misstep.registry too. That loads Inspect, which takes seconds.
MAX_SIZE = "MISSTEP_MAX_SIZE"

_READINGS = {
    "strict": "the headline scores",
    "lenient": "also clear answers in another form",
    "published": "the original script of erroneous sections",
}
Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]


class SampleLimit(click.ParamType):  # type: ignore[type-arg]
    """The first samples (`10`) or a range of samples, counted from 1 (`11-20`)."""

    name = "N|FROM-TO"

    def convert(
        self, value: str, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[int, int]:
        """Return the first index, counted from 0, and the index after the last."""
        if isinstance(value, tuple):
            return value
        if not re.fullmatch(r"\d+(-\d+)?", value):
            self.fail(f"{value!r} is not a limit. Write a number, or a range such as 1-50.")
        first, dash, last = value.partition("-")
        start, stop = (int(first) - 1, int(last)) if dash else (0, int(first))
        if not 0 <= start < stop:
            self.fail(f"{value!r} contains no sample. Samples are counted from 1.")
        return start, stop


def _allow_size(ctx: click.Context, param: click.Parameter, value: int | None) -> None:
    """Set the environment variable, so that other processes of the command see the size too."""
    if value is not None:
        os.environ[MAX_SIZE] = str(value)


max_size_option = click.option(
    "--max-size",
    type=click.IntRange(1),
    metavar="BYTES",
    expose_value=False,
    callback=_allow_size,
    help=f"Most bytes that a compressed file or log may expand to. Default: {MAX_SIZE}, or 4 GB "
    "for rows.",
)

json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON, not a table.")

task_args_option = click.option(
    "-T", "task_args", multiple=True, metavar="NAME=VALUE", help="A task argument. Repeatable."
)

limit_option = click.option(
    "--limit",
    type=SampleLimit(),
    help="Use only the first N samples, or a range counted from 1: 10, or 11-20.",
)

cost_config_option = click.option(
    "--model-cost-config",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    metavar="FILE",
    help="YAML or JSON file of model prices, in the format of `inspect eval`.",
)


def reading_option(*readings: str) -> Decorator:
    """Return the option `--reading` with the readings that a command has; the first is default."""
    return click.option(
        "--reading",
        default=readings[0],
        type=click.Choice(readings),
        help=f"Scores to use: {', '.join(f'{name} ({_READINGS[name]})' for name in readings)}.",
    )


def log_dir_option(default: str = "logs") -> Decorator:
    """Return the option `--log-dir`."""
    return click.option("--log-dir", default=default, metavar="FOLDER", help="Folder for logs.")


def output_option(
    kind: Literal["FILE", "FOLDER"], help: str, required: bool = False, default: str | None = None
) -> Decorator:
    """Return the option `-o`: the file or folder that a command writes."""
    path = click.Path(file_okay=kind == "FILE", dir_okay=kind == "FOLDER", path_type=Path)
    names = ("-o", "--output")
    return click.option(
        *names, metavar=kind, type=path, required=required, default=default, help=help
    )


def log_option(help: str) -> Decorator:
    """Return the option `--log` of a command that reads logs besides its main input."""
    return click.option("--log", "logs", multiple=True, metavar="LOG", help=help)


def count_option(name: str, default: int | None, least: int, help: str) -> Decorator:
    """Return an option whose value is a whole number, at least `least`."""
    return click.option(name, default=default, type=click.IntRange(least), metavar="N", help=help)


def embedded_option(default: int, of: str) -> Decorator:
    """Return the option `--embedded`: how many samples the embedded model gets."""
    help = f"Run the embedded model on N samples of {of}. 0 skips it."
    return count_option("--embedded", default, 0, help)


def show_option(default: int, what: str) -> Decorator:
    """Return the option `--show`: how many samples or examples are shown."""
    return count_option("--show", default, 0, f"Show at most N {what}.")


processes_option = count_option("--processes", 2, 1, "Run N processes at the same time.")
