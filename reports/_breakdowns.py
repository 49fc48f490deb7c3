"""Where models fail: metrics by group of samples, kinds of verdict, votes, rewards and budget."""

from bisect import bisect
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from math import nan
from typing import TYPE_CHECKING

from misstep.reports._frames import FrameRow, dataframe, estimate_columns, run_labels
from misstep.reports._runs import Run
from misstep.reports._samples import FACETS, ON_CORRECT, ON_ERRORS, SampleRecord
from misstep.reports._step_scores import RewardRow, StepScores, calibration_error
from misstep.scorers import class_estimates, share
from misstep.verdicts import NO_ERROR

if TYPE_CHECKING:
    import pandas

FIFTHS = 5
LENGTHS = (1, 3, 5, 7, 9, 12, 16, 24, 40)
"""The first length of each group of solutions by number of steps."""

Group = str | int | float


def _length_range(sample: SampleRecord) -> str | None:
    if sample.n_steps is None:
        return None
    following = bisect(LENGTHS, max(1, sample.n_steps))
    begin = LENGTHS[following - 1]
    if following == len(LENGTHS):
        return f"{begin}+"
    last = LENGTHS[following] - 1
    return f"{begin}" if last == begin else f"{begin}–{last}"


def _position_range(sample: SampleRecord) -> str | None:
    position = sample.relative_position
    if position is None:
        return None
    begin = min(FIFTHS - 1, int(position * FIFTHS)) * 100 // FIFTHS
    return f"{begin}–{begin + 100 // FIFTHS}%"


GROUPINGS: dict[str, Callable[[SampleRecord], Group | None]] = {
    "error_position": lambda sample: sample.label if sample.has_error else None,
    "relative_position": _position_range,
    "length": _length_range,
}
"""Computed groupings of samples, besides FACETS."""

_FOR_ERRORS_ONLY = (
    *("error_position", "relative_position", "error_type", "error_kind", "outcome", "position"),
)
"""Groupings that leave out samples without an error."""


GROUPING_TITLES = {
    "error_position": "position of the error",
    "relative_position": "relative position of the error",
    "length": "number of steps",
    "error_type": "type of error",
    "error_kind": "kind of the first wrong step",
    "step_kind": "kind of step",
    "task_l2": "topic",
    "outcome": "consequence of the error",
}


def grouping_name(by: str) -> str:
    """Return what a grouping is called in a report."""
    return GROUPING_TITLES.get(by, by.replace("_", " "))


def groupings(runs: Sequence[Run], most: int = 40) -> list[str]:
    """The groupings with 2 to `most` groups. Of groupings that agree, only the first is kept."""
    found: dict[str, str] = {}
    samples = {sample.id: sample for run in runs for sample in run.scored}
    for name in (*GROUPINGS, *FACETS):
        values = [_group(sample, name) for sample in samples.values()]
        known = {value for value in values if value is not None}
        if 1 < len(known) <= most:
            found.setdefault("\n".join(map(str, values)), name)
    return list(found.values())


def _group(sample: SampleRecord, by: str) -> Group | None:
    if by in _FOR_ERRORS_ONLY and not sample.has_error:
        return None
    return GROUPINGS[by](sample) if by in GROUPINGS else sample.facets.get(by)


def accuracy_by(runs: Sequence[Run], by: str, reading: str = "strict") -> "pandas.DataFrame":
    """The metrics of each run by group of samples, with 95% intervals.

    First-error runs have error accuracy, correct accuracy and F1. Other runs have the mean hit.
    Groups are by `error_position`, `relative_position` (fifths of the solution), `length` (steps),
    or by a facet such as `subset` or `generator`.
    """
    labels = run_labels(runs)
    return dataframe(row for run in runs for row in _group_rows(run, labels[run.id], by, reading))


def _group_rows(run: Run, label: str, by: str, reading: str) -> Iterator[FrameRow]:
    groups: dict[Group, list[tuple[SampleRecord, float]]] = {}
    for sample, score in run.scored_pairs(reading):
        group = _group(sample, by)
        if group is not None:
            groups.setdefault(group, []).append((sample, score.hit))
    for group, members in sorted(groups.items(), key=lambda item: _group_order(item[0])):
        yield {"run": label, by: group, "samples": len(members), **_metrics(run.kind, members)}


def _group_order(group: Group) -> tuple[float, str]:
    """Sort numbers by size, ranges by their start, and words alphabetically."""
    if isinstance(group, int | float):
        return float(group), ""
    begin = group.partition("–")[0].rstrip("+")
    return (float(begin), "") if begin.isdecimal() else (nan, group)


def _metrics(kind: str, members: Sequence[tuple[SampleRecord, float]]) -> FrameRow:
    """The metrics of some samples, each with its hit."""
    if kind != "first_error":
        clusters = [sample.cluster for sample, _ in members]
        return estimate_columns("accuracy", share([hit for _, hit in members], clusters))
    hits: dict[bool, tuple[list[float], list[str]]] = {True: ([], []), False: ([], [])}
    for sample, hit in members:
        own = hits[sample.has_error]
        own[0].append(hit)
        own[1].append(sample.cluster)
    (errors, error_clusters), (corrects, correct_clusters) = hits.values()
    f1, error, correct = class_estimates(errors, corrects, error_clusters, correct_clusters)
    return {
        **estimate_columns("error_accuracy", error),
        **estimate_columns("correct_accuracy", correct),
        **estimate_columns("f1_score", f1),
    }


def findings(runs: Sequence[Run], reading: str = "strict") -> "pandas.DataFrame":
    """The share of each finding, for samples with an error and for samples without one."""
    labels = run_labels(runs)
    rows: list[FrameRow] = []
    for run in runs:
        pairs = run.scored_pairs(reading)
        for has_error, names in ((True, ON_ERRORS), (False, ON_CORRECT)):
            counts = Counter(s.finding(score) for s, score in pairs if s.has_error == has_error)
            total = counts.total()
            rows += [
                {
                    "run": labels[run.id],
                    "solutions": "with an error" if has_error else "without an error",
                    "finding": name,
                    "samples": counts[name],
                    "share": counts[name] / total,
                }
                for name in names
                if total
            ]
    return dataframe(rows)


def confusion(runs: Sequence[Run], reading: str = "strict", most: int = 20) -> "pandas.DataFrame":
    """How often each position was predicted for each labelled position.

    Positions from `most` on are counted together.
    """
    labels = run_labels(runs)
    rows: list[FrameRow] = []
    for run in runs:
        cells = Counter(
            (_position_name(sample.label, most), _position_name(score.predicted, most))
            for sample, score in run.scored_pairs(reading)
        )
        totals = Counter(label for label, _ in cells.elements())
        rows += [
            {
                "run": labels[run.id],
                "labelled": label,
                "predicted": index,
                "samples": count,
                "share": count / totals[label],
            }
            for (label, index), count in sorted(cells.items(), key=str)
        ]
    return dataframe(rows)


def _position_name(index: int | None, most: int) -> str:
    if index is None:
        return "unread"
    if index <= NO_ERROR:
        return "none" if index == NO_ERROR else "other"
    return str(index) if index < most else f"{most}+"


def votes_curve(runs: Sequence[Run], reading: str = "strict") -> "pandas.DataFrame":
    """F1 and the accuracies at 1, 2, 4 votes and so on, from the same votes."""
    labels = run_labels(runs)
    rows: list[FrameRow] = []
    for run in runs:
        voted = [(sample, score) for sample, score in run.scored_pairs(reading) if score.hits_at]
        for k in sorted({k for _, score in voted for k in score.hits_at}):
            at_k = [(s, score.hits_at[k]) for s, score in voted if k in score.hits_at]
            row = {"run": labels[run.id], "votes": k, "samples": len(at_k)}
            rows.append(row | _metrics(run.kind, at_k))
    return dataframe(rows)


def calibration(runs: Sequence[Run], reading: str = "strict") -> "pandas.DataFrame":
    """The share of right steps by size of their reward. Runs without rewards have no rows.

    Steps after the first error have no label and are left out. `calibration_error` is the expected
    calibration error (ECE). `brier` is the mean squared distance of rewards from the labels.
    """
    labels = run_labels(runs)
    rows: list[FrameRow] = []
    for run in runs:
        steps = StepScores(
            RewardRow(
                sample.id,
                sample.facets.get("subset", ""),
                NO_ERROR if sample.label is None else sample.label,
                score.rewards,
            )
            for sample, score in run.scored_pairs(reading)
        )
        bins = steps.calibration()
        for one in bins:
            hits = round(one.right * one.steps)
            estimate = share([1.0] * hits + [0.0] * (one.steps - hits))
            rows.append(
                {
                    "run": labels[run.id],
                    "bin": one.lower,
                    "steps": one.steps,
                    "reward": one.mean_reward,
                    **estimate_columns("right", estimate),
                    "calibration_error": calibration_error(bins),
                    "brier": steps.brier(),
                }
            )
    return dataframe(rows)


def budget(runs: Sequence[Run], reading: str = "strict") -> "pandas.DataFrame":
    """Accuracy, and what a sample used on average: tokens, seconds, and calls if known."""
    labels = run_labels(runs)
    rows: list[FrameRow] = []
    for run in runs:
        pairs = run.scored_pairs(reading)
        scores = [score for _, score in pairs]
        accuracy = share([score.hit for score in scores], [sample.cluster for sample, _ in pairs])
        calls = [score.budget["calls"] for score in scores if "calls" in score.budget]
        n = len(run.scored)
        rows.append(
            {
                "run": labels[run.id],
                "samples": len(scores),
                **estimate_columns("accuracy", accuracy),
                "tokens_a_sample": sum(s.input_tokens + s.output_tokens for s in run.scored) / n,
                "calls_a_sample": sum(calls) / len(calls) if calls else nan,
                "seconds_a_sample": sum(s.seconds or 0.0 for s in run.scored) / n,
            }
        )
    return dataframe(rows)
