"""Runs and samples as dataframes."""

from collections import Counter
from collections.abc import Iterable, Sequence
from math import nan
from typing import TYPE_CHECKING, Any

from misstep.registry import price_of
from misstep.reports._runs import EPOCHS, IMPORTED, REDUCER, REWARD_MODEL, Run, public_name
from misstep.reports._samples import FACETS, SampleRecord, ScoreRecord
from misstep.scorers import Estimate

if TYPE_CHECKING:
    import pandas

FrameRow = dict[str, Any]


def dataframe(rows: Iterable[FrameRow]) -> "pandas.DataFrame":
    """Return rows as a dataframe."""
    import pandas

    return pandas.DataFrame(list(rows))


def estimate_columns(name: str, estimate: Estimate) -> FrameRow:
    """A metric with its interval as three columns."""
    return {name: estimate.value, f"{name}_lower": estimate.lower, f"{name}_upper": estimate.upper}


def protocols(runs: Sequence[Run]) -> dict[str, str]:
    """How each model was asked, by the run's id, in words for what differs between these runs.

    A trait that some runs do not have at all, such as the style of an imported run, differs only if
    the others differ in it.
    """
    values: dict[str, set[str]] = {}
    for run in runs:
        for name, value in {} if run.is_baseline else run.traits.items():
            values.setdefault(name, set()).add(repr(value))
    some = {name for name in (IMPORTED, EPOCHS, REWARD_MODEL) if name in values}
    differing = [
        name
        for name, found in values.items()
        if len(found) > 1 or (name in some and any(name not in run.traits for run in runs))
    ]
    if EPOCHS in differing:
        differing.append(REDUCER)
    return {run.id: run.describe(dict.fromkeys(differing)) for run in runs}


def run_labels(runs: Sequence[Run]) -> dict[str, str]:
    """A unique label for each run, by the run's id."""
    labels = {run.id: run.name for run in runs}
    asked = protocols(runs)
    for number in range(4):
        counts = Counter(labels.values())
        sizes: dict[str, set[int]] = {}
        for run in runs:
            sizes.setdefault(labels[run.id], set()).add(len(run.scored))
        for run in runs:
            label = labels[run.id]
            if counts[label] > 1:
                size = f"{len(run.scored):,} samples" if len(sizes[label]) > 1 else ""
                more = (asked[run.id], size, run.created[:19], run.id)[number]
                labels[run.id] = f"{labels[run.id]} · {more}" if more else labels[run.id]
    return labels


def runs_frame(runs: Sequence[Run]) -> "pandas.DataFrame":
    """One row per run: the settings, the failures, and what the run used."""
    labels = run_labels(runs)
    return dataframe(_run_row(run, labels[run.id]) for run in runs)


def _run_row(run: Run, label: str) -> FrameRow:
    scores = [score for _, score in run.scored_pairs()]
    metrics = run.metrics[run.scorer()]
    cost, source = run_cost(run)
    total, seconds = len(run.samples), [s.seconds for s in run.samples if s.seconds is not None]
    return {
        "run": label,
        "name": run.name,
        "eval": run.eval,
        "data": run.data,
        "version": run.version,
        "model": public_name(run.model),
        "protocol": run.protocol,
        "samples": total,
        "unread": _share_true(map(_is_unparsed, scores)),
        "unparsed": metrics.get("unparsed", _share_true(map(_is_unparsed, scores))),
        "truncated": metrics.get("truncated", _share_true(score.truncated for score in scores)),
        "errored": (total - len(run.scored)) / total,
        "input_tokens": sum(sample.input_tokens for sample in run.samples),
        "output_tokens": sum(sample.output_tokens for sample in run.samples),
        "cost": nan if cost is None else cost,
        "cost_source": source,
        "seconds_a_sample": sum(seconds) / len(seconds) if seconds else nan,
        "created": run.created,
        "file": run.file,
    }


def metrics_frame(runs: Sequence[Run]) -> "pandas.DataFrame":
    """One row per run, scorer and metric: the value, and the ends of its interval if it has one."""
    labels = run_labels(runs)
    return dataframe(
        {
            "run": labels[run.id],
            "scorer": scorer,
            "metric": name,
            "value": value,
            "lower": metrics.get(f"{name}_lower", nan),
            "upper": metrics.get(f"{name}_upper", nan),
        }
        for run in runs
        for scorer, metrics in run.metrics.items()
        for name, value in metrics.items()
        if not name.endswith(("_lower", "_upper"))
    )


def _is_unparsed(score: ScoreRecord) -> bool:
    return score.unread is not None and not score.truncated


def _share_true(flags: Iterable[bool]) -> float:
    known = list(flags)
    return sum(known) / len(known) if known else nan


def run_cost(run: Run) -> tuple[float | None, str]:
    """The price of a run in dollars, and its source.

    The price is the log's own, or the tokens at the registry's list prices. It is None if the price
    of a model is unknown.
    """
    costs = [sample.cost for sample in run.samples]
    if costs and all(cost is not None for cost in costs):
        return sum(cost for cost in costs if cost is not None), "log"
    total = 0.0
    for model, (tokens_in, tokens_out) in run.usage.items():
        if (price := price_of(model)) is None:
            return None, ""
        total += (tokens_in * price.input + tokens_out * price.output) / 1e6
    return (total, "list price") if run.usage else (None, "")


def samples_frame(runs: Sequence[Run], reading: str = "strict") -> "pandas.DataFrame":
    """One row per run and scored sample.

    `hit` is from 0 to 1. `predicted` and `finding` are filled for first-error runs. The relative
    position is the position of the error among the steps, from 0 to 1.
    """
    labels = run_labels(runs)
    return dataframe(
        _sample_row(run, labels[run.id], sample, score)
        for run in runs
        for sample, score in run.scored_pairs(reading)
    )


def _sample_row(run: Run, label: str, sample: SampleRecord, score: ScoreRecord) -> FrameRow:
    first_error = run.kind == "first_error"
    return {
        "run": label,
        "eval": run.eval,
        "data": run.data,
        "id": sample.id,
        "label": sample.label,
        "n_steps": sample.n_steps,
        "relative_position": sample.relative_position,
        "predicted": score.predicted if first_error else None,
        "hit": score.hit,
        "finding": sample.finding(score) if first_error else None,
        "unread": score.unread,
        **{name: sample.facets.get(name) for name in FACETS},
        "input_tokens": sample.input_tokens,
        "output_tokens": sample.output_tokens,
        "seconds": sample.seconds,
    }
