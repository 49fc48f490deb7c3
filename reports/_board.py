"""The board: all files of results as one page, with groups of runs that cannot be told apart."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from misstep.reports._benchmarks import Benchmark, benchmarks
from misstep.reports._leaderboard import (
    leaderboard,
    leaderboard_metrics,
    metric_name,
    ranking_metric,
)
from misstep.reports._result_checks import CheckedResults, read_results
from misstep.reports._runs import Run
from misstep.reports._text import (
    UNDEFINED,
    markdown_table,
    markdown_text,
    page_file,
    percent,
    with_interval,
)
from misstep.verdicts import Unread

_MOST_METRICS = 4


def board_page(folder: Path, data: bool = False) -> str:
    """Return the board of a folder of results as Markdown; raise an error if a file is bad."""
    checked = read_results(folder, data)
    parts = [page_file("board.md")]
    for benchmark in sorted(benchmarks([one.run for one in checked]), key=lambda one: one.key):
        parts += [f"## {markdown_text(benchmark.key)}\n", board_table(benchmark)]
    parts += ["## Files\n", _files_table(checked)]
    return "\n".join(parts)


def board_table(benchmark: Benchmark) -> str:
    """Return the runs of a benchmark, best first, as a table in Markdown."""
    metrics = leaderboard_metrics(benchmark)
    headline = ranking_metric(benchmark, metrics)
    metrics = sorted(metrics, key=lambda metric: metric != headline)[:_MOST_METRICS]
    frame = leaderboard(benchmark)
    own: list[dict[str, Any]] = frame[~frame["published"].astype(bool)].to_dict("records")
    by_file = {run.file: run for run in benchmark.runs}
    rows = [
        [
            by_file[row["source"]].name.removeprefix("imported/"),
            by_file[row["source"]].protocol.replace("imported", "recorded"),
            int(row["samples"]),
            row["tied"] or UNDEFINED,
            *(
                with_interval(*(row[f"{metric}{end}"] for end in ("", "_lower", "_upper")))
                for metric in metrics
            ),
            percent(unread_share(by_file[row["source"]])),
        ]
        for row in own
    ]
    headings = [
        "run",
        "protocol",
        "samples",
        "group",
        *map(metric_name, metrics),
        "unparsed or truncated",
    ]
    return markdown_table(headings, rows)


def unread_share(run: Run) -> float:
    """Return the share of replies without a verdict.

    Recorded scores that end at the first wrong step are no such replies: a verdict that they do
    not give is wrong in any case.
    """
    unread = [score.unread not in (None, Unread.NOT_RECORDED) for _, score in run.scored_pairs()]
    return sum(unread) / len(unread)


def _files_table(checked: Sequence[CheckedResults]) -> str:
    rows = [
        [
            one.run.file,
            one.run.name.removeprefix("imported/"),
            one.file.created,
            (one.file.weights_sha256 or "")[:16] or UNDEFINED,
            one.file.log_sha256[:16],
        ]
        for one in checked
    ]
    headings = ["file", "run", "date", "sha256 of the weights", "sha256 of the log"]
    return markdown_table(headings, rows)
