"""Reference results: baselines and the embedded model on every bundled set."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

from misstep.registry import MisstepError, evals
from misstep.reports._leaderboard import benchmarks, leaderboard, leaderboard_metrics, metric_name
from misstep.reports._runs import Run, read_logs
from misstep.reports._tasks import load_task
from misstep.reports._text import markdown_table, page_file, percent, with_interval
from misstep.solvers import BASELINES, SECTION_BASELINES

EMBEDDED = "embedded/smollm2"
NO_MODEL = "mockllm/model"
"""Inspect needs the name of a model, although a baseline calls none."""
SEED = 42
"""The embedded model's samples are drawn with it."""


@dataclass(frozen=True)
class ReferenceRun:
    """A run of one model or baseline on one set."""

    eval: str
    arguments: dict[str, Any]
    model: str


def planned_runs(embedded: bool = True) -> Iterator[ReferenceRun]:
    """Yield a run for each bundled set and each of its baselines, and of the embedded model."""
    for name, entry in evals().items():
        for variant, facts in entry.variants.items():
            if facts.reference is not None:
                full = f"{name}.{variant}"
                for critic in _baselines(full):
                    yield ReferenceRun(full, {"critic": critic}, NO_MODEL)
                if embedded:
                    yield ReferenceRun(full, facts.reference, EMBEDDED)


def _baselines(name: str) -> Iterator[str]:
    """Yield the baselines that a task accepts; some tasks have none."""
    for critic in dict.fromkeys([*BASELINES, *SECTION_BASELINES]):
        try:
            load_task(name, {"critic": critic})
        except MisstepError:
            continue
        yield critic


def run_planned(planned: ReferenceRun, folder: Path, limit: int, max_tokens: int) -> None:
    """Make a reference run; the limits are those of the embedded model."""
    from inspect_ai import eval as run

    own: dict[str, Any] = {"limit": limit, "sample_shuffle": SEED, "max_tokens": max_tokens}
    [log] = run(
        load_task(planned.eval, planned.arguments),
        model=planned.model,
        log_dir=str(folder),
        display="none",
        log_realtime=False,
        **(own if planned.model == EMBEDDED else {}),
    )
    if log.status != "success":
        raise MisstepError(
            f"{planned.eval}: the run ended with the status {log.status!r}. "
            f"Its log is {log.location}."
        )


def reference_page(folder: Path, command: str, limit: int) -> str:
    """Return the reference results in a folder of logs as Markdown."""
    logs = read_logs(folder)
    if logs.skipped:
        raise MisstepError(f"{logs.skipped[0].location}: {logs.skipped[0].reason}")
    parts = [
        page_file("reference.md").format(
            limit=limit,
            seed=SEED,
            command=command,
            version=version("misstep"),
            inspect=version("inspect-ai"),
            date=f"{datetime.now(UTC):%Y-%m-%d}",
        )
    ]
    for benchmark in benchmarks(logs.runs):
        metrics = leaderboard_metrics(benchmark)[:4]
        rows = [
            [
                row["run"],
                int(row["samples"]),
                *(
                    with_interval(*(row[f"{metric}{end}"] for end in ("", "_lower", "_upper")))
                    for metric in metrics
                ),
                percent(_unread_share(benchmark.runs, row["source"])),
            ]
            for row in leaderboard(benchmark).to_dict("records")
        ]
        headings = ["run", "samples", *map(metric_name, metrics), "unparsed or truncated"]
        parts += [f"## {benchmark.key}\n", markdown_table(headings, rows)]
    return "\n".join(parts)


def _unread_share(runs: list[Run], file: str) -> float:
    [run] = [run for run in runs if run.file == file]
    metrics = run.metrics[run.scorer()]
    return metrics.get("unparsed", 0.0) + metrics.get("truncated", 0.0)
