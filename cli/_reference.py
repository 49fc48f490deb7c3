"""`misstep reference`: baselines and the embedded model on every bundled set."""

from datetime import UTC, datetime
from pathlib import Path

import click

from misstep.cli._options import count_option, embedded_option, log_dir_option, output_option
from misstep.cli._output import write_output
from misstep.reports import planned_runs, reference_page, run_planned


@click.command("reference")
@output_option("FILE", "Markdown file for the tables.", default="docs/results.md")
@log_dir_option("logs/reference")
@embedded_option(8, "each set")
@count_option("--max-tokens", 48, 1, "Maximum tokens of one completion of the embedded model.")
def reference(output: Path, log_dir: str, embedded: int, max_tokens: int) -> None:
    """Run baselines and the embedded model on all bundled sets.

    The results are written as tables in Markdown.
    """
    folder = Path(log_dir) / datetime.now(UTC).strftime("%Y-%m-%dT%H-%M-%S")
    for planned in planned_runs(embedded > 0):
        label = planned.arguments.get("critic", planned.model)
        click.echo(f"{planned.eval}  {label}", err=True)
        run_planned(planned, folder, embedded, max_tokens)
    command = f"misstep reference --embedded {embedded} --max-tokens {max_tokens}"
    write_output({output: reference_page(folder, command, embedded).encode()}, "FILE")
    click.echo(str(output))
