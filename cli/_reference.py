"""`misstep reference`: the baselines and the embedded model on every set that comes along."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

import click
from inspect_ai import Task

from misstep.cli._tasks import load_task
from misstep.loaders import write_files
from misstep.registry import MisstepError, evals
from misstep.reports import benchmarks, leaderboard, read_logs
from misstep.reports._leaderboard import figures_of
from misstep.reports._report import figure_name
from misstep.reports._runs import Run
from misstep.reports._written import markdown_table, percent, with_interval

EMBEDDED = "embedded/smollm2"
NO_MODEL = "mockllm/model"
"""Inspect wants a name for a model even where none is asked."""
BASELINES = (
    "no_error",
    "last_step",
    "uniform",
    "label_distribution",
    "all_sections",
    "section_range",
)
"""Of first errors, and of erroneous sections."""


@dataclass(frozen=True)
class Planned:
    """A run of a set."""

    name: str
    arguments: dict[str, Any]
    model: str


@click.command("reference")
@click.option(
    "-o",
    "--output",
    default="docs/results.md",
    show_default=True,
    type=click.Path(dir_okay=False, path_type=Path),
    help="The table.",
)
@click.option(
    "--log-dir", default="logs/reference", show_default=True, help="Where the logs go, new ones."
)
@click.option(
    "--limit", default=8, show_default=True, type=click.IntRange(1), help="Of the embedded model."
)
@click.option(
    "--max-tokens", default=48, show_default=True, type=click.IntRange(1), help="Of the same."
)
def reference(output: Path, log_dir: str, limit: int, max_tokens: int) -> None:
    """Run the baselines and the embedded model on every embedded set; write a table."""
    folder = Path(log_dir) / datetime.now(UTC).strftime("%Y-%m-%dT%H-%M-%S")
    for planned in plan():
        click.echo(f"{planned.name}  {planned.arguments.get('critic', planned.model)}", err=True)
        _run(planned, folder, limit, max_tokens)
    logs = read_logs(folder)
    if logs.skipped:
        raise MisstepError(f"{logs.skipped[0].location}: {logs.skipped[0].reason}")
    text = page(logs.runs, f"misstep reference --limit {limit} --max-tokens {max_tokens}", limit)
    write_files({output: text.encode()}, "Name a file that can be written: -o FILE.")
    click.echo(str(output))


def plan() -> Iterator[Planned]:
    """Every set that comes along, by every baseline that its task has and the embedded model."""
    for name, entry in evals().items():
        for variant, facts in entry.variants.items():
            if facts.reference is not None:
                full = f"{name}.{variant}"
                for critic in _baselines(full):
                    yield Planned(full, {"critic": critic}, NO_MODEL)
                yield Planned(full, facts.reference, EMBEDDED)


def _baselines(name: str) -> Iterator[str]:
    """Those that the task takes; tasks of other kinds take none."""
    for critic in BASELINES:
        try:
            load_task(name, {"critic": critic})
        except MisstepError:
            continue
        yield critic


def _run(planned: Planned, folder: Path, limit: int, max_tokens: int) -> None:
    from inspect_ai import eval as run

    task: Task = load_task(planned.name, planned.arguments)
    own = planned.model == EMBEDDED
    [log] = run(
        task,
        model=planned.model,
        log_dir=str(folder),
        display="none",
        log_realtime=False,
        limit=limit if own else None,
        sample_shuffle=42 if own else None,
        max_tokens=max_tokens if own else None,
    )
    if log.status != "success":
        raise MisstepError(f"{planned.name}: the run ended with the status {log.status!r}.")


def page(runs: list[Run], command: str, limit: int) -> str:
    """The reference results as Markdown."""
    parts = [
        "# Reference results\n",
        "What calls no model, and the embedded SmolLM2-135M, on the sets that come with misstep:\n"
        "what any table needs beside it. A model of 135 million parameters cannot judge\n"
        f"mathematics; it ran on {limit} samples of each set, drawn with seed 42, to prove the\n"
        "machinery, and its figures mean no more than that.\n",
        f"`{command}`, misstep {version('misstep')}, Inspect {version('inspect-ai')},\n"
        f"{datetime.now(UTC):%Y-%m-%d}. Figures in percent, with 95% intervals.\n",
    ]
    for benchmark in benchmarks(runs):
        figures = figures_of(benchmark)[:4]
        table = leaderboard(benchmark)
        rows = [
            [
                row["run"],
                int(row["samples"]),
                *(
                    with_interval(*(row[f"{figure}{end}"] for end in ("", "_lower", "_upper")))
                    for figure in figures
                ),
                percent(_unparsed(benchmark.runs, row["source"])),
            ]
            for row in table.to_dict("records")
        ]
        headings = ["run", "samples", *map(figure_name, figures), "unparsed or truncated"]
        parts += [f"## {benchmark.key}\n", markdown_table(headings, rows)]
    return "\n".join(parts)


def _unparsed(runs: list[Run], file: str) -> float:
    [run] = [run for run in runs if run.file == file]
    metrics = run.metrics[run.scorer()]
    return metrics.get("unparsed", 0.0) + metrics.get("truncated", 0.0)
