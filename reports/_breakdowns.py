"""Where models fail: metrics by group of samples, kinds of verdict, votes, rewards and budget.

Runs of error recovery have the rates of their variations, as a table and as a chart.
"""

from bisect import bisect
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from math import nan
from typing import TYPE_CHECKING, Literal

from inspect_ai.log import read_eval_log_sample_summaries
from inspect_ai.scorer import SampleScore

from misstep.registry import MisstepError
from misstep.reports._charts import chart_library
from misstep.reports._read_runs import read_log
from misstep.reports._runs import SCORERS, FrameRow, Run, dataframe, estimate_columns, run_labels
from misstep.reports._samples import FACETS, ON_CORRECT, ON_ERRORS, SampleRecord, ScoreRecord
from misstep.reports._step_rewards import RewardRow, StepScores, calibration_error
from misstep.scorers import class_estimates, rates_by, recovery_samples, share
from misstep.verdicts import NO_ERROR, Unread

if TYPE_CHECKING:
    import pandas

    from misstep.reports._charts import Chart

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
"""Groupings of samples with an error only."""


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
                if total and (counts[name] or name != "not_recorded")
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
            (_position_name(sample.label, most), _verdict_name(score, most))
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


def _verdict_name(score: ScoreRecord, most: int) -> str:
    if score.unread == Unread.NOT_RECORDED:
        return "not recorded"
    return _position_name(score.predicted, most)


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


RecoveryGrouping = Literal["task", "position", "steps"]

VARIATIONS = {
    "NR": "NR: from nothing",
    "CR": "CR: after correct steps",
    "IR": "IR: after a wrong step",
    "XC": "XC: correct steps by the user",
    "XI": "XI: wrong step by the user",
    "CRm": "CRm: correct steps, marker",
    "IRm": "IRm: wrong step, marker",
    "IRp": "IRp: wrong step and what followed",
}
COLOURS = (
    *("#4c78a8", "#54a24b", "#e45756"),
    *("#9fd18f", "#f5a6a0", "#2f7d3a", "#a8323a", "#7a4b9a"),
)
"""Blue, green and red, as in the plots of the original eval; other greens and reds of the further
variations with correct and with wrong steps."""
RECOVERY_TITLES = {
    "task": "Task",
    "position": "Position of the mistake",
    "steps": "Steps of the solution",
}
WIDTH, HEIGHT = 130, 220
"""The width of a group of bars, and the height of a row."""


@dataclass(frozen=True)
class RecoveryRate:
    """How often one variation was right in one part of a run."""

    run: str
    part: str
    variation: str
    rate: float
    lower: float
    upper: float


def recovery_rates(
    logs: Sequence[str], by: RecoveryGrouping = "task", reading: str = "strict"
) -> list[RecoveryRate]:
    """The rates of each part of some error-recovery logs, with Wilson intervals.

    Parts are tasks, thirds of the position of the mistake, or numbers of steps.
    """
    rates: dict[str, list[RecoveryRate]] = {}
    scorer = SCORERS["recovery"][reading]
    for log in logs:
        name = _run_name(log)
        while name in rates:
            name += " (again)"
        rates[name] = list(_log_rates(log, name, by, scorer))
    return [rate for of_log in rates.values() for rate in of_log]


def recovery_frame(
    runs: Sequence[Run], by: RecoveryGrouping = "task", reading: str = "strict"
) -> "pandas.DataFrame":
    """The rates of error-recovery runs as a dataframe."""
    labels = run_labels(runs)
    return dataframe(
        {**asdict(rate), "run": labels[run.id]}
        for run in runs
        for rate in recovery_rates([run.location], by, reading)
    )


def _run_name(log: str) -> str:
    """The model, the task, and the task arguments that were passed."""
    header = read_log(log, header_only=True).eval
    arguments = [f"{name}={value}" for name, value in header.task_args_passed.items()]
    return ", ".join([header.model, header.task.rpartition("/")[2], *arguments])


def _log_rates(log: str, run: str, by: RecoveryGrouping, scorer: str) -> Iterator[RecoveryRate]:
    scores = [
        SampleScore(score=one.scores[scorer], sample_id=one.id, sample_metadata=one.metadata)
        for one in read_eval_log_sample_summaries(log)
        if one.scores and scorer in one.scores
    ]
    if not scores:
        raise MisstepError(
            f"{log}: no sample has a score of {scorer!r}. Give finished logs of error recovery."
        )
    for part, rates in rates_by(recovery_samples(scores), by).items():
        title = part.replace("_", " ").capitalize()
        for name, rate in rates.items():
            variation = VARIATIONS[name.partition("_")[0]]
            yield RecoveryRate(run, title, variation, rate.value, rate.lower, rate.upper)


def recovery_chart(
    rates: Sequence[RecoveryRate], by: RecoveryGrouping = "task", reading: str = "strict"
) -> "Chart":
    """Grouped bars with intervals, one row per run."""
    alt = chart_library()
    parts = list(dict.fromkeys(rate.part for rate in rates))
    runs = list(dict.fromkeys(rate.run for rate in rates))
    known = {rate.variation for rate in rates}
    colours = {
        title: colour
        for title, colour in zip(VARIATIONS.values(), COLOURS, strict=True)
        if title in known
    }
    variations = list(colours)
    width = max(WIDTH, WIDTH // 3 * len(variations)) * len(parts)
    axis = alt.Axis(labelAngle=0, labelLimit=WIDTH)
    base = alt.Chart().encode(
        x=alt.X("part:N", sort=parts, title=RECOVERY_TITLES[by], axis=axis),
        xOffset=alt.XOffset("variation:N", sort=variations),
    )
    tips = [alt.Tooltip(f"{name}:N") for name in ("run", "part", "variation")]
    tips += [alt.Tooltip(f"{name}:Q", format=".3f") for name in ("rate", "lower", "upper")]
    title = f"Right answers ({reading})"
    bars = base.mark_bar().encode(
        y=alt.Y("rate:Q", title=title, scale=alt.Scale(domain=[0, 1])),
        color=alt.Color(
            "variation:N",
            sort=variations,
            scale=alt.Scale(domain=variations, range=list(colours.values())),
            legend=alt.Legend(title=None, orient="top", columns=4, labelLimit=240),
        ),
        tooltip=tips,
    )
    whiskers = base.mark_rule(color="#333").encode(y=alt.Y("lower:Q", title=""), y2="upper:Q")
    values = base.mark_text(dy=-4, baseline="bottom", fontSize=9).encode(
        y=alt.Y("upper:Q", title=""), text=alt.Text("rate:Q", format=".2f")
    )
    header = alt.Header(labelOrient="top", labelAnchor="start", labelLimit=width)
    layers = alt.layer(bars, whiskers, values).properties(width=width, height=HEIGHT)
    chart: Chart = layers.facet(
        data=alt.Data(values=[asdict(rate) for rate in rates]),
        row=alt.Row("run:N", title=None, sort=runs, header=header),
    )
    return chart
