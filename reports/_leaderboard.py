"""Leaderboards: runs by benchmark with their intervals, beside the published results."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import isnan, nan
from typing import TYPE_CHECKING

from misstep.registry import PublishedResult as Result
from misstep.registry import PublishedTable, published
from misstep.reports._frames import Row, frame, labels_of
from misstep.reports._runs import Run

if TYPE_CHECKING:
    import pandas

MEAN = "mean_subset_f1_score"
"""What the ProcessBench paper averages."""

FIGURES = {
    "first_error": ("f1_score", "error_accuracy", "correct_accuracy", MEAN),
    "error_sections": ("f1_macro", "precision_macro", "recall_macro", "f1_micro"),
    "recovery": ("IR_correct_rate", "CR_correct_rate", "NR_correct_rate", "recovery_rate"),
}
"""By what is scored, the headline first; of other runs, their accuracy."""

BY_SUBSET = {"first_error": "f1_score", "error_sections": "f1_macro"}


@dataclass(frozen=True)
class Benchmark:
    """Runs that stand on one leaderboard."""

    eval: str
    data: str
    version: str
    kind: str
    runs: list[Run]

    @property
    def key(self) -> str:
        """A name of its own."""
        return " · ".join(dict.fromkeys((self.eval, self.data, f"version {self.version}")))

    @cached_property
    def subsets(self) -> list[str]:
        """All subsets of the samples, if there are several."""
        samples = (sample for run in self.runs for sample in run.samples)
        found = {sample.facets["subset"] for sample in samples if "subset" in sample.facets}
        return sorted(found) if len(found) > 1 else []


def benchmarks(runs: Sequence[Run]) -> list[Benchmark]:
    """The runs by eval, data and version."""
    groups: dict[tuple[str, str, str, str], list[Run]] = {}
    for run in runs:
        groups.setdefault((run.eval, run.data, run.version, run.kind), []).append(run)
    return [Benchmark(*key, members) for key, members in groups.items()]


def figures_of(benchmark: Benchmark, reading: str = "strict") -> list[str]:
    """The figures of a benchmark's leaderboard."""
    metrics = [run.metrics[run.scorer(reading)] for run in benchmark.runs]
    there = {name for figures in metrics for name, value in figures.items() if not isnan(value)}
    wanted = list(FIGURES.get(benchmark.kind, ("accuracy", "mean")))
    if len(benchmark.subsets) < 2:
        there.discard(MEAN)
    subset_figure = BY_SUBSET.get(benchmark.kind)
    if subset_figure and len(benchmark.subsets) <= 12:
        wanted += [f"{subset}_{subset_figure}" for subset in benchmark.subsets]
    return [name for name in wanted if name in there] or [next(iter(metrics[0]))]


def leaderboard(benchmark: Benchmark, reading: str = "strict") -> "pandas.DataFrame":
    """One row a run with its figures and intervals, then the published results.

    Figures are fractions, as the log has them; `<figure>_lower` and `_upper` are the ends of their
    95% intervals, nan where there is none.

    Args:
        benchmark: The runs.
        reading: Which of the scores.
    """
    figures = figures_of(benchmark, reading)
    labels = labels_of(benchmark.runs)
    rows = [_row(run, labels[run.id], figures, reading) for run in benchmark.runs]
    rows += _published(benchmark, figures)
    return frame(rows).sort_values(headline(benchmark, figures), ascending=False, ignore_index=True)


def headline(benchmark: Benchmark, figures: Sequence[str]) -> str:
    """The figure that ranks a leaderboard: the one that papers print, where there are papers."""
    return MEAN if MEAN in figures and any(_published(benchmark, figures)) else figures[0]


def _row(run: Run, label: str, figures: Sequence[str], reading: str) -> Row:
    metrics = run.metrics[run.scorer(reading)]
    row: Row = {
        "run": label,
        "model": run.model,
        "protocol": run.protocol,
        "published": False,
        "source": run.file,
        "samples": len(run.scored),
    }
    for name in figures:
        for end in ("", "_lower", "_upper"):
            row[f"{name}{end}"] = metrics.get(f"{name}{end}", nan)
    return row


def _published(benchmark: Benchmark, figures: Sequence[str]) -> Iterator[Row]:
    source, _, subset = benchmark.data.partition("-")
    seen: set[tuple[object, ...]] = set()
    for table in published().values():
        # Own rows and the embedded sample have no published results.
        if table.eval != benchmark.eval or source != table.eval.partition("_")[0]:
            continue
        for model, result in table.results.items():
            values = _values(result, subset, benchmark.subsets)
            # Papers quote each other's rows.
            same = (model, *(cell.f1 for cell in result.subsets.values()))
            if values and same not in seen:
                seen.add(same)
                yield _published_row(table, model, result.protocol, values, figures)


def _values(result: Result, subset: str, subsets: Sequence[str]) -> dict[str, float | None]:
    """What is printed of a model, in percent; a mean is over the subsets that were run."""
    figure = "f1_macro" if result.overall else "f1_score"
    if subset:
        if subset not in result.subsets:
            return {}
        cell = result.subsets[subset]
        return {figure: cell.f1, "error_accuracy": cell.error, "correct_accuracy": cell.correct}
    if not set(subsets) <= result.subsets.keys():
        return {}
    each: dict[str, float | None] = {
        f"{name}_{figure}": cell.f1 for name, cell in result.subsets.items()
    }
    whole = set(subsets) == result.subsets.keys()
    if result.overall:
        own = result.overall
        kinds = {"f1": own.f1, "precision": own.precision, "recall": own.recall}
        return {**each, **{f"{name}_macro": value for name, value in kinds.items() if whole}}
    scores = [result.subsets[name].f1 for name in subsets]
    mean = result.mean_f1 if whole or not scores else sum(scores) / len(scores)
    return {**each, MEAN: mean}


def _published_row(
    table: PublishedTable,
    model: str,
    protocol: str,
    values: dict[str, float | None],
    figures: Sequence[str],
) -> Row:
    row: Row = {
        "run": model,
        "model": model,
        "protocol": protocol,
        "published": True,
        "source": f"{table.source}; {table.protocols[protocol]}",
        "samples": None,
    }
    for name in figures:
        value = values.get(name)
        row[name] = nan if value is None else value / 100
        row[f"{name}_lower"] = row[f"{name}_upper"] = nan
    return row
