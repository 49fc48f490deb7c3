"""The command `misstep` and its subcommands."""

import sys
from errno import EDQUOT, ENOSPC
from importlib import import_module
from importlib.metadata import version
from typing import Any

import click

_PLACES = {
    "list": "_list:list_evals",
    "configs": "_list:configs",
    "data": "_list:data",
    "demo": "_demo:demo",
    "run": "_run:run_eval",
    "show": "_show:show",
    "sweep": "_sweep:sweep",
    "forge": "_forge:forge",
    "review": "_wrong_steps:review",
    "find": "_wrong_steps:find_errors",
    "import": "_exchange:import_results",
    "export": "_exchange:export_results",
    "report": "_show:write_report",
    "compare": "_statistics:compare_runs",
    "power": "_statistics:power_of",
    "estimate": "_list:estimate_run",
    "reference": "_demo:reference",
    "submit": "_exchange:submit",
    "board": "_exchange:board",
    "study": "_demo:study",
    "calibrate": "_statistics:calibrate_rows",
    "plot": "_show:plot",
    "threshold": "_statistics:threshold",
    "best-of-n": "_statistics:best_of_n_table",
    "prm": "_prm:prm",
}
"""The module and function of each command."""


class _Commands(click.Group):
    """Commands that are loaded when they are called: to load all takes two seconds."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names in the order in which people need the commands."""
        return list(_PLACES)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return a command by its name."""
        if cmd_name not in _PLACES:
            return None
        module, _, name = _PLACES[cmd_name].partition(":")
        command: click.Command = getattr(import_module(f"misstep.cli.{module}"), name)
        return command

    def invoke(self, ctx: click.Context) -> Any:  # noqa: ANN401 (as in click)
        """Run a command. After Ctrl-C the exit code is 130, not click's own 1."""
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            click.echo("Interrupted.", err=True)
            ctx.exit(130)


@click.group(
    cls=_Commands, context_settings={"help_option_names": ["-h", "--help"], "show_default": True}
)
@click.version_option(version("misstep"), prog_name="misstep")
def cli() -> None:
    """Process-level evaluations on Inspect AI: where does the reasoning first go wrong?

    Evals run with Inspect's own command: inspect eval misstep/processbench --model …
    """


def main() -> None:
    """Run the command. A user's mistake is one message, without a traceback."""
    try:
        cli()
    except Exception as problem:
        message = _message(problem)
        if message is None:
            raise
        click.echo(f"misstep: {message}", err=True)
        sys.exit(1)


def _message(problem: Exception) -> str | None:
    """Return the message for an error that the user can correct, None for any other error."""
    from misstep._inspect_private import PrerequisiteError
    from misstep.plain_text import printable, without_markup
    from misstep.registry import MisstepError

    if isinstance(problem, MisstepError):
        return str(problem)
    if isinstance(problem, PrerequisiteError):
        return without_markup(str(problem.message))
    if isinstance(problem, OSError) and problem.errno in (ENOSPC, EDQUOT):
        where = f"{problem.filename}: " if problem.filename else ""
        return printable(
            f"{where}{problem.strerror}. Free some space, then rerun the same command."
        )
    if isinstance(problem, OSError) and problem.filename:
        return printable(f"{problem.filename}: {problem.strerror}.")
    return None
