"""Leaderboards: the runs of a benchmark with their intervals, beside published results."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import isnan, nan
from typing import TYPE_CHECKING

from misstep.plain_text import metric_key
from misstep.registry import PublishedResult, PublishedTable, published
from misstep.reports._frames import FrameRow, dataframe, run_labels
from misstep.reports._runs import Run

if TYPE_CHECKING:
    import pandas

MEAN = "mean_subset_f1_score"
"""The average that the ProcessBench paper reports."""

METRICS = {
    "mistake_location": ("mean_task_accuracy", "accuracy", "said_no"),
    "marking": ("mr_score_without_reason", "mr_score", "mcc", "task2_accuracy", "task3_accuracy"),
    "step_validity": ("prmscore", "simplicity", "soundness", "sensitivity", "f1", "negative_f1"),
    "first_error": ("f1_score", "error_accuracy", "correct_accuracy", MEAN),
    "error_sections": ("f1_macro", "precision_macro", "recall_macro", "f1_micro"),
    "recovery": ("IR_correct_rate", "CR_correct_rate", "NR_correct_rate", "recovery_rate"),
}
"""The metrics of a leaderboard by kind of run, the headline first. Other kinds have accuracy."""

SUBSET_METRIC = {"first_error": "f1_score", "error_sections": "f1_macro"}
"""The metric that is shown for each subset, by kind of run."""

MOST_SUBSETS = 12

METRIC_NAMES = {
    "f1_score": "F1",
    "prmscore": "PRMScore",
    "mean_task_accuracy": "Location accuracy, mean of tasks",
    "said_no": "Said no mistake",
    "mr_score": "MR-Score",
    "mr_score_without_reason": "MR-Score without reason",
    "mcc": "MCC",
    "task2_accuracy": "First wrong step",
    "task3_accuracy": "Reason",
    "f1": "F1 of valid steps",
    "negative_f1": "F1 of wrong steps",
    "error_accuracy": "Error accuracy",
    "correct_accuracy": "Correct accuracy",
    "mean_subset_f1_score": "Mean F1 of subsets",
    "f1_macro": "F1, macro",
    "precision_macro": "Precision, macro",
    "recall_macro": "Recall, macro",
    "f1_micro": "F1, micro",
    "NR_correct_rate": "NR",
    "CR_correct_rate": "CR",
    "IR_correct_rate": "IR",
    "recovery_rate": "Recovery rate",
    "accuracy": "Accuracy",
    "mean": "Mean",
}


def metric_name(metric: str) -> str:
    """The name of a metric for people."""
    for own in SUBSET_METRIC.values():
        if metric.endswith(f"_{own}") and metric not in METRIC_NAMES:
            return f"{metric.removesuffix(f'_{own}')} F1"
    return METRIC_NAMES.get(metric) or f"{metric[:1].upper()}{metric[1:].replace('_', ' ')}"


@dataclass(frozen=True)
class Benchmark:
    """The runs that share one leaderboard."""

    eval: str
    data: str
    version: str
    kind: str
    runs: list[Run]

    @property
    def key(self) -> str:
        """A unique title."""
        return " · ".join(dict.fromkeys((self.eval, self.data, f"version {self.version}")))

    @cached_property
    def subsets(self) -> list[str]:
        """The subsets of the samples; empty if there is only one."""
        samples = (sample for run in self.runs for sample in run.samples)
        found = {sample.facets["subset"] for sample in samples if "subset" in sample.facets}
        return sorted(found) if len(found) > 1 else []


def benchmarks(runs: Sequence[Run]) -> list[Benchmark]:
    """Group runs by eval, data, version and kind."""
    groups: dict[tuple[str, str, str, str], list[Run]] = {}
    for run in runs:
        groups.setdefault((run.eval, run.data, run.version, run.kind), []).append(run)
    return [Benchmark(*key, members) for key, members in groups.items()]


def leaderboard_metrics(benchmark: Benchmark, reading: str = "strict") -> list[str]:
    """The metrics of a benchmark's leaderboard."""
    metrics = [run.metrics[run.scorer(reading)] for run in benchmark.runs]
    available = {name for of_run in metrics for name, value in of_run.items() if not isnan(value)}
    wanted = list(METRICS.get(benchmark.kind, ("accuracy", "mean")))
    if len(benchmark.subsets) < 2:
        available.discard(MEAN)
    of_subset = SUBSET_METRIC.get(benchmark.kind)
    if of_subset and len(benchmark.subsets) <= MOST_SUBSETS:
        wanted += [metric_key(f"{subset}_{of_subset}") for subset in benchmark.subsets]
    return [name for name in wanted if name in available] or [next(iter(metrics[0]))]


def leaderboard(benchmark: Benchmark, reading: str = "strict") -> "pandas.DataFrame":
    """One row per run with its metrics and intervals, then the published results.

    Metrics are fractions, as in the log. `<metric>_lower` and `<metric>_upper` are the ends of the
    95% interval, nan if there is none.
    """
    metrics = leaderboard_metrics(benchmark, reading)
    labels = run_labels(benchmark.runs)
    rows = [
        {
            "run": labels[run.id],
            "model": run.model,
            "protocol": run.protocol,
            "published": False,
            "source": run.file,
            "samples": len(run.scored),
            **_metric_columns(run.metrics[run.scorer(reading)], metrics),
        }
        for run in benchmark.runs
    ]
    rows += published_rows(benchmark, metrics)
    best_first = ranking_metric(benchmark, metrics)
    return dataframe(rows).sort_values(best_first, ascending=False, ignore_index=True)


def ranking_metric(benchmark: Benchmark, metrics: Sequence[str]) -> str:
    """The metric that ranks a leaderboard: the published one if there are published results."""
    return MEAN if MEAN in metrics and any(published_rows(benchmark, metrics)) else metrics[0]


def _metric_columns(values: Mapping[str, float], metrics: Sequence[str]) -> FrameRow:
    columns = (f"{name}{end}" for name in metrics for end in ("", "_lower", "_upper"))
    return {column: values.get(column, nan) for column in columns}


def published_rows(benchmark: Benchmark, metrics: Sequence[str]) -> Iterator[FrameRow]:
    """Yield the published results on the data of a benchmark, as rows of its leaderboard."""
    source, _, subset = benchmark.data.partition("-")
    seen: set[tuple[object, ...]] = set()
    for table in published().values():
        # Users' own rows and the bundled sample have no published results.
        data = table.data or table.eval.partition("_")[0]
        if table.eval != benchmark.eval or source != data or not _comparable(table, benchmark):
            continue
        for model, result in table.results.items():
            values = _published_values(result, subset, benchmark.subsets)
            # Papers repeat rows of other papers.
            same = (model, *(cell.f1 for cell in result.subsets.values()), *result.metrics.values())
            if values and same not in seen and not values.keys().isdisjoint(metrics):
                seen.add(same)
                known = {name: value / 100 for name, value in values.items() if value is not None}
                yield {
                    "run": model,
                    "model": model,
                    "protocol": result.protocol,
                    "published": True,
                    "source": f"{table.source}; {table.protocols[result.protocol]}",
                    "samples": None,
                    **_metric_columns(known, metrics),
                }


def _comparable(table: PublishedTable, benchmark: Benchmark) -> bool:
    """Whether some run was asked like the models of a table."""
    return not table.wording or any(
        run.imported
        or run.settings.get("wording") == "published"
        or run.settings.get("critic") == "reward"
        for run in benchmark.runs
    )


def _published_values(
    result: PublishedResult, subset: str, subsets: Sequence[str]
) -> dict[str, float | None]:
    """The published metrics of a model in percent. A mean is over the subsets that were run."""
    metric = "f1_macro" if result.overall else "f1_score"
    if result.metrics:
        # They are results on the whole benchmark.
        return {} if subset else dict(result.metrics)
    if subset:
        if subset not in result.subsets:
            return {}
        cell = result.subsets[subset]
        return {metric: cell.f1, "error_accuracy": cell.error, "correct_accuracy": cell.correct}
    if not set(subsets) <= result.subsets.keys():
        return {}
    values: dict[str, float | None] = {
        f"{name}_{metric}": cell.f1 for name, cell in result.subsets.items()
    }
    whole = set(subsets) == result.subsets.keys()
    if result.overall:
        if whole:
            overall = result.overall
            values["f1_macro"] = overall.f1
            values["precision_macro"] = overall.precision
            values["recall_macro"] = overall.recall
        return values
    scores = [result.subsets[name].f1 for name in subsets]
    values[MEAN] = result.mean_f1 if whole or not scores else sum(scores) / len(scores)
    return values
