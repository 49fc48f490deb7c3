"""The command and its groups; one clear message for a user's mistake, no traceback."""

import sys
from importlib.metadata import version

import click

from misstep.cli._best_of_n import best_of_n_table
from misstep.cli._compare import compare_runs
from misstep.cli._data import data
from misstep.cli._demo import demo
from misstep.cli._estimate import estimate_run
from misstep.cli._export import export_results
from misstep.cli._forge import forge
from misstep.cli._import import import_results
from misstep.cli._list import list_evals
from misstep.cli._plot import plot
from misstep.cli._power import power_of
from misstep.cli._reference import reference
from misstep.cli._report import write_report
from misstep.cli._run import run_eval
from misstep.cli._study import study
from misstep.cli._sweep import sweep
from misstep.cli._threshold import threshold
from misstep.registry import MisstepError


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(version("misstep"), prog_name="misstep")
def cli() -> None:
    """Process-level evaluations on Inspect AI: where does the reasoning first go wrong?

    Evals run with Inspect's own command: inspect eval misstep/processbench --model …
    """


cli.add_command(list_evals)
cli.add_command(data)
cli.add_command(demo)
cli.add_command(run_eval)
cli.add_command(sweep)
cli.add_command(forge)
cli.add_command(import_results)
cli.add_command(export_results)
cli.add_command(write_report)
cli.add_command(compare_runs)
cli.add_command(power_of)
cli.add_command(estimate_run)
cli.add_command(reference)
cli.add_command(study)
cli.add_command(plot)
cli.add_command(threshold)
cli.add_command(best_of_n_table)


def main() -> None:
    """Run the command."""
    try:
        cli()
    except MisstepError as problem:
        click.echo(f"misstep: {problem}", err=True)
        sys.exit(1)
