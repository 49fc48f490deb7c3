"""Runs and samples as dataframes."""

from collections import Counter
from collections.abc import Iterable, Sequence
from math import nan
from typing import TYPE_CHECKING, Any

from misstep.registry import MisstepError, price_of
from misstep.reports._runs import Run
from misstep.reports._samples import Finding, finding_of
from misstep.reports._scored_samples import FACETS, Sample, Scored
from misstep.verdicts import NO_ERROR, Unread

if TYPE_CHECKING:
    import pandas

Row = dict[str, Any]


def frame(rows: Iterable[Row], columns: Sequence[str] | None = None) -> "pandas.DataFrame":
    """Rows as a dataframe; pandas comes with the extra `plots`."""
    try:
        import pandas
    except ImportError:
        raise MisstepError(
            "Dataframes need pandas, which is not installed: pip install 'misstep[plots]'"
        ) from None
    return pandas.DataFrame(list(rows), columns=columns)


def labels_of(runs: Sequence[Run]) -> dict[str, str]:
    """A name for each run that tells it from the others, by the run's id."""
    plain = {run.id: run.name for run in runs}
    for number in range(3):
        counts = Counter(plain.values())
        for run in runs:
            if counts[plain[run.id]] > 1:
                more = (run.protocol, run.created[:19], run.id)[number]
                plain[run.id] = f"{plain[run.id]} · {more}"
    return plain


def runs_frame(runs: Sequence[Run]) -> "pandas.DataFrame":
    """One row a run: what was run, how it ended, and what it took."""
    labels = labels_of(runs)
    return frame(_run_row(run, labels[run.id]) for run in runs)


def _run_row(run: Run, label: str) -> Row:
    scores = [sample.scores[run.scorer()] for sample in run.scored if run.scorer() in sample.scores]
    cost, source = cost_of(run)
    total, seconds = len(run.samples), [s.seconds for s in run.samples if s.seconds is not None]
    return {
        "run": label,
        "eval": run.eval,
        "data": run.data,
        "version": run.version,
        "model": run.model,
        "protocol": run.protocol,
        "samples": total,
        "unparsed": _share(score.unread is not None and _unparsed(score) for score in scores),
        "truncated": _share(score.truncated for score in scores),
        "errored": (total - len(run.scored)) / total,
        "input_tokens": sum(sample.input_tokens for sample in run.samples),
        "output_tokens": sum(sample.output_tokens for sample in run.samples),
        "cost": nan if cost is None else cost,
        "cost_source": source,
        "seconds_a_sample": sum(seconds) / len(seconds) if seconds else nan,
        "created": run.created,
        "file": run.file,
    }


def _unparsed(score: Scored) -> bool:
    return not score.truncated and score.unread != Unread.NOT_RECORDED


def _share(flags: Iterable[bool]) -> float:
    known = list(flags)
    return sum(known) / len(known) if known else nan


def cost_of(run: Run) -> tuple[float | None, str]:
    """The price of a run in dollars, and where it is from.

    What the log itself has, else the tokens at the registry's list prices; None where a model's
    price is not known.
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
    """One row a scored sample and run.

    `hit` is from 0 to 1; `predicted` and `finding` are those of first errors; a relative position
    is that of the error among the steps, from 0 to 1.

    Args:
        runs: The runs.
        reading: Which of the scores.
    """
    labels = labels_of(runs)
    return frame(
        _sample_row(run, labels[run.id], sample, sample.scores[run.scorer(reading)])
        for run in runs
        for sample in run.scored
        if run.scorer(reading) in sample.scores
    )


def _sample_row(run: Run, label: str, sample: Sample, score: Scored) -> Row:
    first_error = run.kind == "first_error"
    return {
        "run": label,
        "eval": run.eval,
        "data": run.data,
        "id": sample.id,
        "label": sample.label,
        "n_steps": sample.n_steps,
        "relative_position": relative_position(sample),
        "predicted": predicted(score) if first_error else None,
        "hit": score.hit,
        "finding": finding(sample, score) if first_error else None,
        "unread": score.unread,
        **{name: sample.facets.get(name) for name in FACETS},
        "input_tokens": sample.input_tokens,
        "output_tokens": sample.output_tokens,
        "seconds": sample.seconds,
    }


def relative_position(sample: Sample) -> float | None:
    """Where the error is among the steps: 0 is the first, 1 the last."""
    if sample.label is None or sample.label < 0 or not sample.n_steps or sample.n_steps < 2:
        return None
    return min(1.0, sample.label / (sample.n_steps - 1))


def predicted(score: Scored) -> int | None:
    """The predicted index; None where none was read."""
    try:
        return None if score.answer is None else int(score.answer)
    except ValueError:
        return None


def finding(sample: Sample, score: Scored) -> Finding:
    """What the verdict on a sample is: one of ON_ERRORS, or of ON_CORRECT."""
    label = NO_ERROR if sample.label is None else sample.label
    return finding_of(predicted(score), label, score.out_of_range)
