"""The command and its subcommands; one clear message for a user's mistake, no traceback."""

import sys
from importlib import import_module
from importlib.metadata import version

import click

_PLACES = {
    "list": "_list:list_evals",
    "data": "_data:data",
    "demo": "_demo:demo",
    "run": "_run:run_eval",
    "sweep": "_sweep:sweep",
    "forge": "_forge:forge",
    "import": "_import:import_results",
    "export": "_export:export_results",
    "report": "_report:write_report",
    "compare": "_compare:compare_runs",
    "power": "_power:power_of",
    "estimate": "_estimate:estimate_run",
    "reference": "_reference:reference",
    "study": "_study:study",
    "plot": "_plot:plot",
    "threshold": "_threshold:threshold",
    "best-of-n": "_best_of_n:best_of_n_table",
}
"""Where each command is, by its name."""


class _Commands(click.Group):
    """Commands that are loaded when they are called, for all of them take two seconds to load."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """In the order in which they are needed."""
        return list(_PLACES)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Load a command."""
        if cmd_name not in _PLACES:
            return None
        module, _, name = _PLACES[cmd_name].partition(":")
        command: click.Command = getattr(import_module(f"misstep.cli.{module}"), name)
        return command


@click.group(
    cls=_Commands, context_settings={"help_option_names": ["-h", "--help"], "show_default": True}
)
@click.version_option(version("misstep"), prog_name="misstep")
def cli() -> None:
    """Process-level evaluations on Inspect AI: where does the reasoning first go wrong?

    Evals run with Inspect's own command: inspect eval misstep/processbench --model …
    """


def main() -> None:
    """Run the command."""
    try:
        cli()
    except Exception as problem:
        # By now something of misstep is loaded, so this costs nothing.
        from misstep.registry import MisstepError

        if not isinstance(problem, MisstepError):
            raise
        click.echo(f"misstep: {problem}", err=True)
        sys.exit(1)
