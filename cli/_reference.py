"""`misstep reference`: baselines and the embedded model on every bundled set."""

from pathlib import Path

import click

from misstep.cli._options import count_option, embedded_option, log_dir_option, output_file_option
from misstep.cli._output import write_output
from misstep.reports import reference_page, run_reference


@click.command("reference")
@output_file_option("Markdown file for the tables.", default="docs/results.md")
@log_dir_option("logs/reference")
@embedded_option(8, "each set")
@count_option("--max-tokens", 48, 1, "Maximum tokens of one completion of the embedded model.")
def reference(output: Path, log_dir: str, embedded: int, max_tokens: int) -> None:
    """Run the baselines and the embedded model on every bundled set, and write tables."""
    runs = run_reference(
        log_dir, embedded, max_tokens, lambda planned: click.echo(planned.label, err=True)
    )
    command = f"misstep reference --embedded {embedded} --max-tokens {max_tokens}"
    write_output({output: reference_page(runs, command, embedded).encode()}, "FILE")
    click.echo(str(output))
