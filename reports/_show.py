"""One run at a glance: the headline, its parts, subsets, unread replies, cost, warnings."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import isnan, nan

from misstep.registry import UNREAD_METRICS, cautions, sources
from misstep.reports._breakdowns import accuracy_by
from misstep.reports._leaderboard import (
    BY_PUBLISHED_RULE,
    MEAN,
    METRICS,
    PUBLISHED_RULE,
    board_values,
    leaderboard_metrics,
    published_rows,
)
from misstep.reports._run_groups import Benchmark, benchmarks
from misstep.reports._runs import Run, run_cost
from misstep.reports._samples import SampleRecord
from misstep.scorers import f1_estimate, share
from misstep.trajectories import ERROR_KINDS

MOST_PARTS = 6
_ROUNDING = 1e-9
_NOT_PARTS = ("total", "count", "stderr", "lower", "upper", *UNREAD_METRICS)
_GROUPINGS = ("relative_position", "error_kind")
STEP_KIND = "step_kind"
"""The grouping of all steps, not of samples: they call a tool, or are text only."""
_THIRDS = {"early", "middle", "late"}


@dataclass(frozen=True)
class MetricValue:
    """A metric with its interval, as fractions; nan if it is undefined."""

    name: str
    value: float
    lower: float = nan
    upper: float = nan


@dataclass(frozen=True)
class SubsetValue:
    """The headline metric on one subset."""

    subset: str
    samples: int
    metric: MetricValue


@dataclass(frozen=True)
class GroupValue:
    """The accuracy on one group of samples that have an error, or of steps."""

    group: str
    samples: int
    """The number of samples, or of steps if the grouping is `step_kind`."""
    metric: MetricValue


@dataclass(frozen=True)
class PublishedValue:
    """A published result on the same data, by the same protocol."""

    model: str
    value: float
    metric: str
    protocol: str
    source: str
    own: float = nan
    """The same metric of this run, by the paper's rule."""


@dataclass(frozen=True)
class RunSummary:
    """What a person wants to know after a run."""

    log: str
    eval: str
    data: str
    model: str
    protocol: str
    samples: int
    """The number of samples that have a score."""
    total: int
    headline: MetricValue
    parts: list[MetricValue]
    subsets: list[SubsetValue]
    unread: dict[str, float]
    """The share of replies without a result, by cause."""
    input_tokens: int
    output_tokens: int
    cost: float | None
    """In dollars; None if no price is known."""
    cost_source: str
    published: PublishedValue | None
    groups: dict[str, list[GroupValue]] = field(default_factory=dict)
    """For agents: the accuracy on errors, by position and by kind of the first wrong step; and the
    accuracy of all labels by kind of step."""
    notes: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)


def summary_of_run(run: Run) -> RunSummary:
    """Return a run at a glance."""
    scorer = run.headline if run.headline in run.metrics else run.scorer()
    metrics = run.metrics[scorer]
    metric = _headline_metric(run, metrics)
    unread = _unread(run, scorer, metrics)
    failed = len(run.samples) - len(run.scored)
    cost, cost_source = run_cost(run)
    shares = dict.fromkeys(UNREAD_METRICS, 0.0) | {
        "truncated": unread.get("truncated", 0.0),
        "unparsed": sum(value for name, value in unread.items() if name != "truncated"),
    }
    return RunSummary(
        log=run.location,
        eval=run.task,
        data=run.data,
        model=run.name,
        protocol=run.protocol,
        samples=len(run.scored),
        total=len(run.samples),
        headline=_value(metric, metrics),
        parts=list(_parts(run, scorer, metric)),
        subsets=_subsets(run, scorer, metric),
        unread=unread,
        input_tokens=sum(tokens for tokens, _ in run.usage.values()),
        output_tokens=sum(tokens for _, tokens in run.usage.values()),
        cost=cost,
        cost_source=cost_source,
        published=_nearest_published(run, metrics, metric),
        groups=_groups(run),
        notes=list(run.notes),
        warnings=list(cautions(metrics | _class_counts(run) | shares, failed, len(run.samples))),
    )


def _headline_metric(run: Run, metrics: Mapping[str, float]) -> str:
    """Return the registered headline; logs of earlier versions have that of their kind."""
    wanted = (run.headline_metric, *METRICS.get(run.kind, ()))
    known = (name for name in wanted if name is not None and name in metrics)
    return next(known, next(iter(metrics)))


def _value(name: str, metrics: Mapping[str, float], prefix: str = "") -> MetricValue:
    ends = (metrics.get(f"{prefix}{name}{end}", nan) for end in ("", "_lower", "_upper"))
    return MetricValue(name, *ends)


def _parts(run: Run, scorer: str, headline: str) -> Iterator[MetricValue]:
    """Yield the other main metrics: those of the leaderboard, then those with an interval."""
    scorers = dict.fromkeys([scorer, run.scorer()])
    groups = {group for sample in run.samples for group in sample.facets.values()} | _THIRDS
    found: dict[str, MetricValue] = {}
    for own in (run.metrics[name] for name in scorers):
        main = [name for name in METRICS.get(run.kind, ()) if name in own]
        main += [name for name in own if f"{name}_lower" in own]
        main += [name for name in own if not found and name not in main and not main]
        for name in main:
            of_group = any(name.startswith(f"{group}_") for group in groups)
            skipped = name.endswith(_NOT_PARTS) or of_group or name == headline
            if not skipped and not isnan(own[name]):
                value = _value(name, own)
                if isnan(value.lower) and name in ("error_accuracy", "correct_accuracy"):
                    value = _from_samples(name, run.scored, run.scorer()) or value
                found.setdefault(name, value)
    if len({sample.facets.get("subset") for sample in run.samples}) < 2:
        found.pop(MEAN, None)
    # A blind spot never stands without the rates that it is made of.
    most = len(METRICS["recovery"]) if run.kind == "recovery" else MOST_PARTS
    yield from list(found.values())[:most]


def _subsets(run: Run, scorer: str, metric: str) -> list[SubsetValue]:
    """Return the headline of each subset: from the log, else from its samples."""
    members: dict[str, list[SampleRecord]] = {}
    for sample in run.scored:
        if "subset" in sample.facets and scorer in sample.scores:
            members.setdefault(sample.facets["subset"], []).append(sample)
    if len(members) < 2:
        return []
    metrics = run.metrics[scorer]
    computed = _from_samples(metric, run.scored, scorer)
    is_known = computed is not None and abs(computed.value - metrics[metric]) < _ROUNDING
    values = []
    for subset, samples in sorted(members.items()):
        value = _value(metric, metrics, f"{subset}_")
        if is_known and isnan(value.lower):
            value = _from_samples(metric, samples, scorer) or value
        values.append(SubsetValue(subset, len(samples), value))
    return [] if all(isnan(one.metric.value) for one in values) else values


def _groups(run: Run) -> dict[str, list[GroupValue]]:
    """Return where the first errors of agents are found: by position, and in calls or in text."""
    if not any("error_kind" in sample.facets for sample in run.scored):
        return {}
    groups = {by: list(_group_values(run, by)) for by in _GROUPINGS}
    labels = run.metrics.get("step_labels", {})
    groups[STEP_KIND] = [
        GroupValue(name, int(labels[f"{kind}_step_count"]), value)
        for kind, name in ERROR_KINDS.items()
        if not isnan((value := _value("step_accuracy", labels, f"{kind}_")).value)
    ]
    return groups


def _group_values(run: Run, by: str) -> Iterator[GroupValue]:
    name = "error_accuracy"
    for row in accuracy_by([run], by).to_dict("records"):
        ends = (float(row[f"{name}{end}"]) for end in ("", "_lower", "_upper"))
        yield GroupValue(str(row[by]), int(row["samples"]), MetricValue(name, *ends))


def _from_samples(metric: str, samples: Sequence[SampleRecord], scorer: str) -> MetricValue | None:
    """Return a metric of first errors, or a mean over samples, with its interval."""
    scored = [sample for sample in samples if scorer in sample.scores]
    hits = [(sample.has_error, sample.scores[scorer].hit) for sample in scored]
    errors = [hit for has_error, hit in hits if has_error]
    corrects = [hit for has_error, hit in hits if not has_error]
    if any(isnan(hit) for _, hit in hits):
        return None
    if metric == "f1_score":
        known = f1_estimate(errors, corrects)
    else:
        own = {"error_accuracy": errors, "correct_accuracy": corrects}
        known = share(own.get(metric, errors + corrects))
    return MetricValue(metric, known.value, known.lower, known.upper)


def _unread(run: Run, scorer: str, metrics: Mapping[str, float]) -> dict[str, float]:
    """Return the share of replies without a result by cause, the most frequent first."""
    scores = [sample.scores[scorer] for sample in run.scored if scorer in sample.scores]
    counts = Counter(score.unread for score in scores if score.unread)
    shares = {str(cause): count / len(scores) for cause, count in counts.most_common()}
    if not shares:
        known = {name: metrics[name] for name in UNREAD_METRICS if metrics.get(name, 0) > 0}
        shares = dict(sorted(known.items(), key=lambda one: -one[1]))
    return shares


def _class_counts(run: Run) -> dict[str, float]:
    """Return how many rows have an error and how many have none, for evals of first errors."""
    if run.kind != "first_error":
        return {}
    errors = sum(sample.has_error for sample in run.scored)
    return {"error_count": errors, "correct_count": len(run.scored) - errors}


def _nearest_published(
    run: Run, metrics: Mapping[str, float], headline: str
) -> PublishedValue | None:
    """Return the published result of this model, else the nearest one.

    Only results on the same rows, asked in the same way, are compared.
    """
    [benchmark] = benchmarks([run])
    if not _is_whole(run, benchmark):
        return None
    metric = MEAN if benchmark.subsets and MEAN in metrics else headline
    if run.eval in BY_PUBLISHED_RULE:
        metrics = board_values(run)
        names = [one for one in leaderboard_metrics(benchmark) if one.startswith(PUBLISHED_RULE)]
        metric = next((name for name in names if any(published_rows(benchmark, [name]))), metric)
    own = metrics.get(metric, nan)
    rows = [row for row in published_rows(benchmark, [metric]) if not isnan(row[metric])]
    if not rows or isnan(own):
        return None
    name = run.model.rpartition("/")[2].lower()
    nearest = min(rows, key=lambda row: (row["model"].lower() != name, abs(row[metric] - own)))
    source, _, protocol = str(nearest["source"]).partition("; ")
    plain = metric.removeprefix(PUBLISHED_RULE)
    return PublishedValue(nearest["model"], nearest[metric], plain, protocol, source, own)


def _is_whole(run: Run, benchmark: Benchmark) -> bool:
    """Return whether the run has all rows of its source or subset."""
    source, subset = benchmark.source, benchmark.only_subset
    if source not in sources():
        return False
    files = sources()[source].files
    rows = sum(file.rows for file in files if not subset or file.subset == subset)
    of_subsets = sum(file.subsets.get(subset, 0) for file in files)
    return len(run.scored) in (rows, of_subsets)
