"""Recorded outputs of real models, scored here, beside the numbers that others have for them."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import isnan, nan
from pathlib import Path
from typing import Any

from misstep.registry import MisstepError, RecordedOutputs, published, records, sources
from misstep.reports._imports import import_files
from misstep.reports._read_runs import read_logs
from misstep.reports._runs import Run
from misstep.reports._thresholds import TunedThreshold, reward_rows, tune_threshold
from misstep.rewards import THRESHOLD

PUBLISHED = "published"
"""Whose number it is, if it stands in a published table."""
INDEPENDENT = "independent code, by misstep's rule, on the same records"
"""Whose number it is, if the rule is misstep's own."""
_TUNE_ON = "gsm8k"
"""The subset on which the ProcessBench paper tunes thresholds."""


@dataclass(frozen=True)
class ComparedFigure:
    """A metric of a recorded run, and a number that somebody else has for it, both in percent."""

    record: str
    model: str
    metric: str
    rule: str
    """The scorer, or the threshold of the rewards."""
    rows: int
    of: int
    """The rows that the other number is for."""
    value: float
    lower: float
    upper: float
    known: float
    known_from: str

    @property
    def difference(self) -> float:
        """Our number minus the other one; a difference of less than half a hundredth is 0."""
        return round(self.value - self.known, 2) + 0.0

    @property
    def same_rows(self) -> bool:
        """Whether both numbers are for the same rows."""
        return self.rows == self.of

    @property
    def inside(self) -> bool:
        """Whether the other number is inside our interval."""
        return self.lower <= self.known <= self.upper

    def row(self) -> dict[str, Any]:
        """Return the figure as a row of a table."""
        return {
            "record": self.record,
            "model": self.model,
            "metric": self.metric,
            "rule": self.rule,
            "rows": self.rows,
            "other_rows": self.of,
            "other": self.known,
            "other_from": self.known_from,
            "value": round(self.value, 2),
            "lower": None if isnan(self.lower) else round(self.lower, 2),
            "upper": None if isnan(self.upper) else round(self.upper, 2),
            "difference": self.difference,
            "same_rows": self.same_rows,
        }


@dataclass(frozen=True)
class RecordedRuns:
    """The runs of one set of records, and the numbers that they compare with."""

    name: str
    facts: RecordedOutputs
    runs: list[Run]
    thresholds: dict[str, TunedThreshold]
    """By model, for runs that have step scores up to the first error."""
    figures: list[ComparedFigure]


def import_records(folder: Path, log_dir: Path) -> Iterator[tuple[str, int]]:
    """Write all known records in a folder as logs, and yield each name with its number of logs.

    Records whose logs exist are not read again. Records that the folder does not have are left
    out.
    """
    if not folder.is_dir():
        raise MisstepError(f"{folder}: there is no such folder of records.")
    for name, facts in records().items():
        found = _files(folder, facts.files) or _files(folder, facts.published_files)
        own = log_dir / name
        if not found or (own.is_dir() and any(own.glob("*.eval"))):
            continue
        options = {"source": facts.source, "model": facts.model, "partial": facts.partial}
        logs = list(import_files(found, str(own), **options))  # type: ignore[arg-type]
        yield name, len(logs)


def _files(folder: Path, patterns: Sequence[str]) -> list[str]:
    """Return the files with such paths in a folder, without those that hold rows of a source."""
    found = {path for pattern in patterns for path in folder.glob(pattern) if path.is_file()}
    rows = {
        folder / (file.mirrored or f"{name}/{file.name}")
        for name, source in sources().items()
        for file in source.files
    }
    return sorted(map(str, found - rows))


def recorded_runs(log_dir: Path) -> list[RecordedRuns]:
    """Return the runs in the logs of records, in the order of the registry."""
    found = []
    for name, facts in records().items():
        folder = log_dir / name
        if not folder.is_dir():
            continue
        logs = read_logs(folder)
        if logs.skipped:
            raise MisstepError(f"{logs.skipped[0].location}: {logs.skipped[0].reason}")
        thresholds = _thresholds(facts, logs.runs)
        figures = list(_figures(name, facts, logs.runs, thresholds))
        found.append(RecordedRuns(name, facts, logs.runs, thresholds, figures))
    return found


def model_of(run: Run) -> str:
    """Return the name of a recorded model."""
    return run.model.removeprefix("imported/")


def _thresholds(facts: RecordedOutputs, runs: Sequence[Run]) -> dict[str, TunedThreshold]:
    """Return tuned thresholds of verifiers whose published numbers depend on one.

    Verifiers without rows of the subset to tune on have none.
    """
    if not facts.protocols or facts.eval != "processbench":
        return {}
    rows = reward_rows(run.location for run in runs)
    return {
        model.removeprefix("imported/"): tune_threshold(model, own, _TUNE_ON)
        for model, own in rows.items()
        if any(row.subset == _TUNE_ON for row in own)
    }


def _figures(
    name: str, facts: RecordedOutputs, runs: Sequence[Run], thresholds: Mapping[str, TunedThreshold]
) -> Iterator[ComparedFigure]:
    for run in runs:
        model = model_of(run)
        rows = len(run.scored)
        for scorer, known in facts.figures.get(model, {}).items():
            for metric, number in known.items():
                estimate = _estimate(run.metrics[scorer], metric)
                known_from = facts.figures_from if scorer == facts.scorer else INDEPENDENT
                of = facts.figures_rows or rows
                yield ComparedFigure(
                    name, model, metric, scorer, rows, of, *estimate, number, known_from
                )
        if facts.table is None:
            continue
        result = published()[facts.table].results.get(facts.names.get(model, model))
        if result is None or (facts.protocols and result.protocol not in facts.protocols):
            continue
        for metric, number in result.metrics.items():
            values, subset = run.metrics[facts.scorer], _subset_of(metric, facts)
            found, of = _rows_in(run, subset), _rows_of(facts, subset)
            # A number for all subsets together says nothing of some of them.
            if metric in values and (subset is not None or found == of):
                yield ComparedFigure(
                    *(name, model, metric, facts.scorer),
                    *(found, of),
                    *_estimate(values, metric),
                    *(number, PUBLISHED),
                )
        for subset, tuned in thresholds[model].subsets.items() if model in thresholds else ():
            for threshold in (THRESHOLD, tuned.threshold) if subset in result.subsets else ():
                f1 = tuned.curve.at(threshold).f1_score
                yield ComparedFigure(
                    *(name, model, f"{subset}_f1_score", f"threshold {threshold:.3g}"),
                    *(_rows_in(run, subset), _rows_of(facts, subset)),
                    *(100 * f1.value, 100 * f1.lower, 100 * f1.upper),
                    *(result.subsets[subset].f1, PUBLISHED),
                )


def _estimate(values: Mapping[str, float], metric: str) -> tuple[float, float, float]:
    """Return a metric with the ends of its interval in percent; nan if there is no interval."""
    value, lower, upper = (
        100 * values.get(f"{metric}{end}", nan) for end in ("", "_lower", "_upper")
    )
    return value, lower, upper


def _subset_of(metric: str, facts: RecordedOutputs) -> str | None:
    """Return the subset that the name of a published metric begins with; None for all of them."""
    names = [file.subset for file in sources()[facts.source or facts.eval].files if file.subset]
    return next((name for name in names if metric.startswith(f"{name}_")), None)


def _rows_in(run: Run, subset: str | None) -> int:
    return sum(subset in (None, sample.facets.get("subset")) for sample in run.scored)


def _rows_of(facts: RecordedOutputs, subset: str | None) -> int:
    files = sources()[facts.source or facts.eval].files
    return sum(file.rows for file in files if subset in (None, file.subset))
