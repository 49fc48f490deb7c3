"""Leaderboards: the runs of a benchmark with their intervals, beside published results.

Runs are ranked by the headline. Runs of few samples, or of a part of the samples, are listed apart.
Runs that cannot be told apart share a group. Published results are those on the same data, and by
the same protocol and rule.
"""

from collections.abc import Iterator, Mapping, Sequence
from math import isnan, nan
from typing import TYPE_CHECKING

from misstep.plain_text import metric_key
from misstep.registry import PublishedResult, PublishedTable, published
from misstep.reports._comparison import group_letters
from misstep.reports._paired import compared_metrics
from misstep.reports._run_groups import Benchmark
from misstep.reports._runs import FrameRow, Run, dataframe, protocols, public_name, run_labels

if TYPE_CHECKING:
    import pandas

MEAN = "mean_subset_f1_score"
"""The average that the ProcessBench paper reports."""

PUBLISHED_RULE = "published_"
"""The prefix of metrics that are computed by the paper's rule."""
BY_PUBLISHED_RULE: dict[str, tuple[str, tuple[str, ...]]] = {
    "agent_process": ("step_labels_published", ("first_error_accuracy", "step_accuracy")),
    "who_and_when": ("attribution_published", ("step_accuracy", "agent_accuracy")),
    "deltabench_sections": (
        "error_sections_published",
        ("f1_macro", "precision_macro", "recall_macro"),
    ),
    "prmbench": ("step_validity_published", ("prmscore", "simplicity", "soundness", "sensitivity")),
    "mr_ben": ("marking_published", ("mr_score", "mcc", "task2_accuracy", "task3_accuracy")),
}
"""By eval, the scorer and the metrics of papers whose rule differs from ours. Published results are
comparable with these metrics only."""

METRICS = {
    "mistake_location": ("mean_task_accuracy", "accuracy", "said_no"),
    "marking": ("mr_score_without_reason", "mr_score", "mcc", "task2_accuracy", "task3_accuracy"),
    "attribution": (
        *("step_accuracy", "agent_accuracy", "both", "step_within_1", "step_within_3"),
        *("step_within_5", "random_step", "random_agent"),
    ),
    "step_validity": ("prmscore", "simplicity", "soundness", "sensitivity", "f1", "negative_f1"),
    "first_error": ("f1_score", "error_accuracy", "correct_accuracy", MEAN),
    "error_sections": ("f1_macro", "precision_macro", "recall_macro", "f1_micro"),
    "recovery": (
        *("IR_correct_rate", "CR_correct_rate", "NR_correct_rate", "recovery_rate"),
        *("XI_correct_rate", "XC_correct_rate", "IRm_correct_rate", "CRm_correct_rate"),
        *("IRp_correct_rate", "own_error_gap", "net_own_error_gap", "blind_spot"),
        *("blind_spot_with_marker", "marker_gain", "marker_harm", "propagation_loss"),
        "faithful_recovery_rate",
    ),
}
"""The metrics of a leaderboard by kind of run, the headline first. Other kinds have accuracy."""

SUBSET_METRIC = {"first_error": "f1_score", "error_sections": "f1_macro"}
"""The metric that is shown for each subset, by kind of run."""

MOST_SUBSETS = 12

SMALL, COMPLETE = 50, 0.9
"""A run of fewer samples, or of a smaller share of them, is not ranked beside larger ones."""

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
    **{f"{name}_correct_rate": name for name in ("XC", "XI", "CRm", "IRm", "IRp")},
    "own_error_gap": "Own error gap, XI − IR",
    "net_own_error_gap": "Net own error gap",
    "blind_spot": "Blind spot, (XI − IR) / XI",
    "blind_spot_with_marker": "Blind spot with marker",
    "marker_gain": "Marker gain, IRm − IR",
    "marker_harm": "Marker harm, CR − CRm",
    "propagation_loss": "Propagation loss, IR − IRp",
    "faithful_recovery_rate": "Faithful recovery rate",
    "accuracy": "Accuracy",
    "mean": "Mean",
    "both": "Agent and step",
    "random_step": "Step, random guess",
    "random_agent": "Agent, random guess",
}

_CRITIQUE_VOTES = {"single": 1, "critic": 1, "maj@8": 8}
"""The votes of published protocols with the critique prompt."""
_NEVER_ALIKE = ("orm", "subset", "3-shot")
"""Published protocols that no run of misstep follows."""


def metric_name(metric: str) -> str:
    """The name of a metric for people."""
    if metric.startswith(PUBLISHED_RULE):
        own_name = metric.removeprefix(PUBLISHED_RULE)
        names = {name for _, known in BY_PUBLISHED_RULE.values() for name in known}
        name = next((one for one in names if own_name.endswith(f"_{one}")), own_name)
        subset = own_name.removesuffix(name).rstrip("_")
        return ", ".join(filter(None, [metric_name(name), subset, "published rule"]))
    for own in SUBSET_METRIC.values():
        if metric.endswith(f"_{own}") and metric not in METRIC_NAMES:
            return f"{metric.removesuffix(f'_{own}')} F1"
    return METRIC_NAMES.get(metric) or f"{metric[:1].upper()}{metric[1:].replace('_', ' ')}"


def leaderboard_metrics(benchmark: Benchmark, reading: str = "strict") -> list[str]:
    """The metrics of a benchmark's leaderboard."""
    metrics = [board_values(run, reading) for run in benchmark.runs]
    available = {name for of_run in metrics for name, value in of_run.items() if not isnan(value)}
    headline, *others = METRICS.get(benchmark.kind, ("accuracy", "mean"))
    published_names = BY_PUBLISHED_RULE.get(benchmark.eval, ("", ()))[1]
    wanted = [headline, *(f"{PUBLISHED_RULE}{name}" for name in published_names), *others]
    if len(benchmark.subsets) < 2:
        available.discard(MEAN)
    of_subset = SUBSET_METRIC.get(benchmark.kind)
    if of_subset and len(benchmark.subsets) <= MOST_SUBSETS:
        wanted += [metric_key(f"{subset}_{of_subset}") for subset in benchmark.subsets]
    wanted += [
        f"{PUBLISHED_RULE}{metric_key(f'{subset}_{name}')}"
        for subset in benchmark.subsets
        for name in ([of_subset] if of_subset in published_names else published_names)
    ]
    return [name for name in wanted if name in available] or [next(iter(metrics[0]))]


def board_values(run: Run, reading: str = "strict") -> dict[str, float]:
    """The metrics of a run in a reading, and those of the published rule if it differs."""
    values = dict(run.metrics[run.scorer(reading)])
    scorer = BY_PUBLISHED_RULE.get(run.eval, ("", ()))[0]
    if scorer != run.scorer(reading):
        by_rule = run.metrics.get(scorer, {})
        values |= {f"{PUBLISHED_RULE}{name}": value for name, value in by_rule.items()}
    return values


def leaderboard(benchmark: Benchmark, reading: str = "strict") -> "pandas.DataFrame":
    """One row per run with its metrics and intervals, best first, then the published results.

    Metrics are fractions, as in the log. `<metric>_lower` and `<metric>_upper` are the ends of the
    95% interval, nan if there is none. `protocol` says what differs between the runs, `settings`
    all that is not the default. `apart` says why a run has no rank. Ranked runs that share a letter
    in `tied` cannot be told apart by the headline.
    """
    metrics = leaderboard_metrics(benchmark, reading)
    headline = ranking_metric(benchmark, metrics)
    labels, asked = run_labels(benchmark.runs), protocols(benchmark.runs)
    apart = _apart(benchmark)
    ranked = [run for run in benchmark.runs if not apart[run.id]]
    tied = group_letters(ranked, headline, reading)
    rows = [
        {
            "run": labels[run.id],
            "name": run.name,
            "model": public_name(run.model),
            "protocol": asked[run.id],
            "settings": run.protocol,
            "published": False,
            "source": run.file,
            "samples": len(run.scored),
            "rank": None,
            "tied": tied.get(run.id, ""),
            "apart": apart[run.id],
            **metric_columns(board_values(run, reading), metrics),
        }
        for run in benchmark.runs
    ]
    for place, row in enumerate(sorted(rows, key=lambda row: _order(row, [headline]))):
        row["rank"] = None if row["apart"] else place + 1
    rows += published_rows(benchmark, metrics, reading)
    return dataframe(sorted(rows, key=lambda row: _order(row, [headline, *metrics])))


def _order(row: FrameRow, metrics: Sequence[str]) -> tuple[bool, bool, int, float]:
    """Sort own runs first, then runs without a rank, then published results; the best first."""
    return row["published"], bool(row["apart"]), *best_first(row, metrics)


def best_first(row: FrameRow, metrics: Sequence[str]) -> tuple[int, float]:
    """The sort key of a row: the first of the metrics that it has, largest values first."""
    known = (place for place, metric in enumerate(metrics) if not isnan(row[metric]))
    place = next(known, len(metrics))
    return place, -row[metrics[place]] if place < len(metrics) else 0.0


def _apart(benchmark: Benchmark) -> dict[str, str]:
    """Why each run is not ranked, by its id; empty if it is.

    If all runs are small, they are ranked: a small run is apart only beside larger ones.
    """
    sizes = {run.id: len(run.scored) for run in benchmark.runs}
    most = max(sizes.values())
    found = {}
    for run in benchmark.runs:
        size, lost = sizes[run.id], len(run.samples) - sizes[run.id]
        why = ""
        if size < COMPLETE * most:
            why = f"{size:,} of {most:,} samples"
        elif lost > (1 - COMPLETE) * len(run.samples):
            why = f"{lost:,} samples ended in an error"
        elif size < SMALL <= most:
            why = f"only {size:,} samples"
        found[run.id] = why
    if all(found.values()):
        return dict.fromkeys(found, "")
    return found


def is_tested(benchmark: Benchmark, metric: str) -> bool:
    """Whether `misstep compare` has a test for a metric of these runs."""
    run = benchmark.runs[0]
    score = next(iter(run.scored[0].scores.values()))
    columns = list(score.value) if isinstance(score.value, dict) else None
    known = compared_metrics(run.kind, columns, len(benchmark.subsets) or 1)
    return metric in [one.name for one in known]


def ranking_metric(benchmark: Benchmark, metrics: Sequence[str]) -> str:
    """The metric that ranks a leaderboard: the published one if there are published results."""
    return MEAN if MEAN in metrics and any(published_rows(benchmark, metrics)) else metrics[0]


def metric_columns(values: Mapping[str, float], metrics: Sequence[str]) -> FrameRow:
    columns = (f"{name}{end}" for name in metrics for end in ("", "_lower", "_upper"))
    return {column: values.get(column, nan) for column in columns}


def published_rows(
    benchmark: Benchmark, metrics: Sequence[str], reading: str = "strict"
) -> Iterator[FrameRow]:
    """Yield the published results on the same data and by the protocol of one of the runs.

    If the paper's rule differs from that of the reading, they have values only in the columns of
    the published rule.
    """
    source = benchmark.source or benchmark.data.partition("-")[0]
    source = source.removesuffix("_labels")  # a benchmark's labels alone are the same rows
    subset = benchmark.only_subset if not benchmark.subsets else ""
    whole = benchmark.data == benchmark.source
    by_rule = benchmark.eval in BY_PUBLISHED_RULE and reading != "published"
    begin = PUBLISHED_RULE if by_rule else ""
    seen: set[tuple[object, ...]] = set()
    for table in published().values():
        # Users' own rows and the bundled sample have no published results.
        data = table.data or table.eval.partition("_")[0]
        if table.eval != benchmark.eval or source != data:
            continue
        asked = {
            protocol
            for protocol in table.protocols
            if any(asked_alike(run, protocol, table) for run in benchmark.runs)
        }
        for model, result in table.results.items():
            found = _published_values(result, subset, benchmark.subsets, whole)
            values = {f"{begin}{name}": value for name, value in found.items()}
            # Papers repeat rows of other papers.
            same = (model, *(cell.f1 for cell in result.subsets.values()), *result.metrics.values())
            shown = result.protocol in asked and not values.keys().isdisjoint(metrics)
            if values and shown and same not in seen:
                seen.add(same)
                known = {name: value / 100 for name, value in values.items() if value is not None}
                yield {
                    "run": model,
                    "name": model,
                    "model": model,
                    "protocol": result.protocol,
                    "settings": result.protocol,
                    "published": True,
                    "source": f"{table.source}; {table.protocols[result.protocol]}",
                    "samples": None,
                    "rank": None,
                    "tied": "",
                    "apart": "",
                    **metric_columns(known, metrics),
                }


def asked_alike(run: Run, protocol: str, table: PublishedTable) -> bool:
    """Whether a run was asked like the models of a published protocol."""
    traits = run.traits
    if run.is_baseline or protocol in _NEVER_ALIKE:
        return False
    if protocol == "prm" or run.by_rewards:
        return protocol == "prm" and run.by_rewards
    if table.wording and not (run.imported or traits.get("wording") == "published"):
        return False
    if protocol in _CRITIQUE_VOTES:
        plain = not (run.epochs > 1 or traits.get("adaptive") or traits.get("weighted"))
        critic, domain = traits.get("critic"), traits.get("domain")
        mathematics = run.kind == "error_sections" or domain in (None, "mathematics")
        return (
            plain
            and mathematics
            and critic in (None, "critique")
            and traits.get("votes", 1) == _CRITIQUE_VOTES[protocol]
        )
    if protocol.endswith(" answer"):
        answer = "without" if traits.get("ground_truth") is False else "with"
        return protocol == f"{traits.get('critic') or 'all_at_once'} {answer} answer"
    methods = {name.partition(" ")[0] for name in table.protocols}
    critic = str(traits.get("critic"))
    return critic not in methods or protocol.startswith(critic)


def _published_values(
    result: PublishedResult, subset: str, subsets: Sequence[str], whole: bool
) -> dict[str, float | None]:
    """The published metrics of a model in percent. A mean is over the subsets that were run."""
    metric = "f1_macro" if result.overall else "f1_score"
    if result.metrics:
        # They are results on the whole benchmark, or on the subset that their name begins with.
        begin = f"{subset}_" if subset else ""
        begins = tuple(f"{one}_" for one in subsets)
        return {
            name.removeprefix(begin): value
            for name, value in result.metrics.items()
            if name.startswith(begin) and (subset or whole or name.startswith(begins))
        }
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
