"""The board: all files of results as one page, with groups of runs that cannot be told apart."""

from collections.abc import Iterator, Sequence
from itertools import count
from pathlib import Path
from typing import Any

from misstep.reports._comparison import compare
from misstep.reports._leaderboard import (
    Benchmark,
    benchmarks,
    leaderboard,
    leaderboard_metrics,
    metric_name,
)
from misstep.reports._runs import ANSWERS, Run, public_name
from misstep.reports._submissions import CheckedResults, read_results
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
    metrics = leaderboard_metrics(benchmark)[:_MOST_METRICS]
    groups = tied_letters(benchmark)
    frame = leaderboard(benchmark)
    own: list[dict[str, Any]] = frame[~frame["published"].astype(bool)].to_dict("records")
    by_file = {run.file: run for run in benchmark.runs}
    rows = [
        [
            public_name(by_file[row["source"]].name).removeprefix("imported/"),
            by_file[row["source"]].protocol.replace("imported", "recorded"),
            int(row["samples"]),
            groups.get(row["source"], UNDEFINED),
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


def tied_letters(benchmark: Benchmark) -> dict[str, str]:
    """Return by file the letters of the groups of runs that cannot be told apart.

    A run that differs from all others has a letter of its own. Only runs on the same samples are
    compared, by first errors or by right answers.
    """
    runs = benchmark.runs
    if benchmark.kind not in ("first_error", ANSWERS) or len(runs) < 2 or not _same_samples(runs):
        return {}
    comparison = compare(runs, metric=leaderboard_metrics(benchmark)[0])
    order = [name for name, _ in comparison.ranking()]
    groups = comparison.tied_groups()
    together = {name for group in groups for name in group}
    groups += [[name] for name in order if name not in together]
    groups.sort(key=lambda group: order.index(group[0]))
    letters: dict[str, str] = {}
    for group, letter in zip(groups, _letters(), strict=False):
        for name in group:
            file = comparison.runs[name].file
            letters[file] = letters.get(file, "") + letter
    return letters


def _same_samples(runs: Sequence[Run]) -> bool:
    return len({frozenset(sample.id for sample in run.samples) for run in runs}) == 1


def _letters() -> Iterator[str]:
    """Yield the letters from a to z, then numbers from 27."""
    yield from "abcdefghijklmnopqrstuvwxyz"
    yield from (f" {number}" for number in count(27))


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
