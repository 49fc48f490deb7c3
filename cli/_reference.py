"""`misstep reference`: real models beside published numbers, and small models run here."""

from pathlib import Path

import click

from misstep.cli._options import count_option, log_dir_option, output_option
from misstep.cli._output import write_output
from misstep.registry import MisstepError
from misstep.reports import (
    EMBEDDED,
    import_records,
    planned_runs,
    read_logs,
    recorded_runs,
    results_files,
    run_planned,
)

_FOLDER = click.Path(file_okay=False, path_type=Path)
_FILE = click.Path(exists=True, dir_okay=False, path_type=Path)


@click.command("reference")
@output_option("FILE", "Markdown file for the page.", default="docs/results.md")
@log_dir_option("logs/reference")
@click.option(
    "--records", type=_FOLDER, metavar="FOLDER", help="Score the known records in FOLDER."
)
@click.option("--baselines", is_flag=True, help="Run the baselines on all bundled sets.")
@click.option("--smollm2", is_flag=True, help="Run SmolLM2 on all bundled sets.")
@click.option("--gguf", type=_FILE, multiple=True, help="Run this model on all bundled sets.")
@count_option("--samples", None, 1, "Run models on N samples of each set only, drawn with a seed.")
@count_option("--max-tokens", 48, 1, "Maximum tokens of one completion of a model.")
def reference(
    output: Path,
    log_dir: str,
    records: Path | None,
    baselines: bool,
    smollm2: bool,
    gguf: tuple[Path, ...],
    samples: int | None,
    max_tokens: int,
) -> None:
    """Write the page of results from logs.

    Recorded outputs of real models are scored and compared with published numbers. Models run in
    this process, with a grammar where the task allows it; the sha256 of their weights is in the
    log. Whatever has a log in the folder is not scored or run again, so the command can be
    repeated. The records and where they come from: registry/records.yaml.
    """
    logs = Path(log_dir)
    if records is not None:
        for name, count in import_records(records, logs / "records"):
            click.echo(f"{name}  {count} logs", err=True)
    models = [*[EMBEDDED] * smollm2, *(f"embedded/{path.resolve()}" for path in gguf)]
    for planned in planned_runs(baselines, models):
        click.echo(f"{planned.eval}  {planned.label}", err=True)
        run_planned(planned, logs / "runs", samples, max_tokens)
    recorded = recorded_runs(logs / "records")
    runs = read_logs(logs / "runs").runs if (logs / "runs").is_dir() else []
    if not recorded and not runs:
        raise MisstepError(
            f"{log_dir}: there are no logs. Give records (--records FOLDER), or run something "
            "(--baselines, --smollm2, --gguf FILE)."
        )
    files = results_files(recorded, runs, output)
    write_output(files, "FILE")
    for path in files:
        click.echo(str(path))
