"""Where models fail: figures by what samples are like, and by how far a verdict is off."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from math import nan
from typing import TYPE_CHECKING

from misstep.reports._frames import (
    Row,
    finding,
    frame,
    labels_of,
    predicted,
    relative_position,
)
from misstep.reports._runs import Run
from misstep.reports._samples import ON_CORRECT, ON_ERRORS
from misstep.reports._scored_samples import FACETS, Sample, Scored
from misstep.scorers import Estimate, f1_draws, from_draws, harmonic_mean, share
from misstep.verdicts import NO_ERROR

if TYPE_CHECKING:
    import pandas

FIFTHS = 5
LENGTHS = (1, 3, 5, 7, 9, 12, 16, 24, 40)
"""Where the groups of solutions by their number of steps begin."""

Grouping = Callable[[Sample], str | int | float | None]


def _length(sample: Sample) -> str | None:
    if sample.n_steps is None:
        return None
    begin = max(start for start in LENGTHS if start <= max(1, sample.n_steps))
    following = [start for start in LENGTHS if start > begin]
    if not following:
        return f"{begin}+"
    last = following[0] - 1
    return f"{begin}" if last == begin else f"{begin}–{last}"


def _fifth(sample: Sample) -> str | None:
    place = relative_position(sample)
    if place is None:
        return None
    begin = min(FIFTHS - 1, int(place * FIFTHS)) * 100 // FIFTHS
    return f"{begin}–{begin + 100 // FIFTHS}%"


GROUPINGS: dict[str, Grouping] = {
    "error_position": lambda sample: sample.label if sample.has_error else None,
    "relative_position": _fifth,
    "length": _length,
}
"""By what samples can be grouped, beside the names of FACETS."""

_ERRORS_ALONE = ("error_position", "relative_position", "error_type", "outcome", "position")
"""Groupings that samples without an error have no part in."""


def groupings(runs: Sequence[Run], most: int = 40) -> list[str]:
    """The groupings that tell samples of these runs apart, without those that say the same."""
    found: dict[str, str] = {}
    samples = {sample.id: sample for run in runs for sample in run.scored}
    for name in (*GROUPINGS, *FACETS):
        values = [_group(sample, name) for sample in samples.values()]
        known = {value for value in values if value is not None}
        if 1 < len(known) <= most:
            found.setdefault("\n".join(map(str, values)), name)
    return list(found.values())


def _group(sample: Sample, by: str) -> str | int | float | None:
    if by in _ERRORS_ALONE and not sample.has_error:
        return None
    return GROUPINGS[by](sample) if by in GROUPINGS else sample.facets.get(by)


def accuracy_by(runs: Sequence[Run], by: str, reading: str = "strict") -> "pandas.DataFrame":
    """The figures of each run by groups of samples, with 95% intervals.

    Of first errors: error accuracy, correct accuracy and F1; of all else, the mean of the hits.

    Args:
        runs: Runs of one benchmark.
        by: `error_position`, `relative_position` (fifths of the solution), `length` (steps), or
            the name of a facet, such as subset or generator.
        reading: Which of the scores.
    """
    labels = labels_of(runs)
    return frame(row for run in runs for row in _by_group(run, labels[run.id], by, reading))


def _by_group(run: Run, label: str, by: str, reading: str) -> Iterator[Row]:
    groups: dict[str | int | float, list[tuple[Sample, Scored]]] = {}
    for sample, score in pairs_of(run, reading):
        group = _group(sample, by)
        if group is not None:
            groups.setdefault(group, []).append((sample, score))
    for group, members in sorted(groups.items(), key=lambda item: _order(item[0])):
        row: Row = {"run": label, by: group, "samples": len(members)}
        for name, estimate in _figures(run.kind, members):
            row[name] = estimate.value
            row[f"{name}_lower"], row[f"{name}_upper"] = estimate.lower, estimate.upper
        yield row


def _order(group: str | int | float) -> tuple[float, str]:
    """Numbers by their size, ranges by their beginning, and words by their letters."""
    if isinstance(group, int | float):
        return float(group), ""
    begin = group.partition("–")[0].rstrip("+")
    return (float(begin), "") if begin.isdecimal() else (nan, group)


def pairs_of(run: Run, reading: str) -> Iterator[tuple[Sample, Scored]]:
    """The samples that have a score by that reading, with it."""
    scorer = run.scorer(reading)
    for sample in run.scored:
        if scorer in sample.scores:
            yield sample, sample.scores[scorer]


def _figures(kind: str, members: Sequence[tuple[Sample, Scored]]) -> Iterator[tuple[str, Estimate]]:
    if kind != "first_error":
        yield "accuracy", share([score.hit for _, score in members])
        return
    errors = [score.hit for sample, score in members if sample.has_error]
    corrects = [score.hit for sample, score in members if not sample.has_error]
    error, correct = share(errors), share(corrects)
    yield "error_accuracy", error
    yield "correct_accuracy", correct
    f1 = harmonic_mean(error.value, correct.value)
    yield (
        "f1_score",
        from_draws(f1, f1_draws(errors, corrects))
        if errors and corrects
        else (Estimate(nan, nan, nan)),
    )


def findings(runs: Sequence[Run], reading: str = "strict") -> "pandas.DataFrame":
    """Of samples with an error and of those without one, the share of each finding."""
    labels = labels_of(runs)
    rows: list[Row] = []
    for run in runs:
        pairs = list(pairs_of(run, reading))
        for has_error, names in ((True, ON_ERRORS), (False, ON_CORRECT)):
            found = Counter(finding(*pair) for pair in pairs if pair[0].has_error == has_error)
            total = found.total()
            rows += [
                {
                    "run": labels[run.id],
                    "solutions": "with an error" if has_error else "without an error",
                    "finding": name,
                    "samples": found[name],
                    "share": found[name] / total,
                }
                for name in names
                if total
            ]
    return frame(rows)


def confusion(runs: Sequence[Run], reading: str = "strict", most: int = 20) -> "pandas.DataFrame":
    """How often each position was predicted where each was labelled.

    Args:
        runs: Runs of first errors.
        reading: Which of the scores.
        most: Positions from here on are counted together.
    """
    labels = labels_of(runs)
    rows: list[Row] = []
    for run in runs:
        cells = Counter(
            (_place(sample.label, most), _place(predicted(score), most))
            for sample, score in pairs_of(run, reading)
        )
        whole = Counter(label for label, _ in cells.elements())
        rows += [
            {
                "run": labels[run.id],
                "labelled": label,
                "predicted": index,
                "samples": count,
                "share": count / whole[label],
            }
            for (label, index), count in sorted(cells.items(), key=str)
        ]
    return frame(rows)


def _place(index: int | None, most: int) -> str:
    if index is None:
        return "unread"
    if index <= NO_ERROR:
        return "none" if index == NO_ERROR else "other"
    return str(index) if index < most else f"{most}+"


def votes_curve(runs: Sequence[Run], reading: str = "strict") -> "pandas.DataFrame":
    """F1 and the accuracies at 1, 2, 4 votes and so on, from the same votes."""
    labels = labels_of(runs)
    rows: list[Row] = []
    for run in runs:
        voted = [(sample, score) for sample, score in pairs_of(run, reading) if score.hits_at]
        for k in sorted({k for _, score in voted for k in score.hits_at}):
            at_k = [(s, Scored(score.hits_at[k])) for s, score in voted if k in score.hits_at]
            row: Row = {"run": labels[run.id], "votes": k, "samples": len(at_k)}
            for name, estimate in _figures(run.kind, at_k):
                row[name] = estimate.value
                row[f"{name}_lower"], row[f"{name}_upper"] = estimate.lower, estimate.upper
            rows.append(row)
    return frame(rows)
