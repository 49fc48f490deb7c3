"""Rewards beside what is right, rates of error recovery, and accuracy beside its budget."""

from collections.abc import Sequence
from math import nan
from typing import TYPE_CHECKING

from misstep.reports._breakdowns import pairs_of
from misstep.reports._frames import Row, frame, labels_of
from misstep.reports._runs import Run
from misstep.scorers import share

if TYPE_CHECKING:
    import pandas

BINS = 10


def step_rewards(run: Run, reading: str = "strict") -> list[tuple[float, bool]]:
    """The rewards of a run's steps, and whether each is right.

    Steps before the first error are right, the one at it is wrong; what comes after it is not
    labelled, and left out.
    """
    pairs: list[tuple[float, bool]] = []
    for sample, score in pairs_of(run, reading):
        end = len(score.rewards) if not sample.has_error else (sample.label or 0) + 1
        for step, reward in enumerate(score.rewards[:end]):
            if reward is not None:
                pairs.append((reward, not sample.has_error or step < (sample.label or 0)))
    return pairs


def calibration(runs: Sequence[Run], reading: str = "strict") -> "pandas.DataFrame":
    """How often steps are right whose reward is about so much; runs without rewards have no rows.

    `calibration_error` is the mean distance of a step's bin from its reward (ECE), `brier` the
    mean squared distance of rewards from what is right.
    """
    labels = labels_of(runs)
    rows: list[Row] = []
    for run in runs:
        pairs = step_rewards(run, reading)
        bins: dict[int, list[tuple[float, bool]]] = {}
        for reward, right in pairs:
            bins.setdefault(min(BINS - 1, max(0, int(reward * BINS))), []).append((reward, right))
        means = {
            number: (sum(r for r, _ in steps) / len(steps), share([float(x) for _, x in steps]))
            for number, steps in sorted(bins.items())
        }
        gaps = [len(bins[n]) * abs(mean - right.value) for n, (mean, right) in means.items()]
        brier = sum((reward - right) ** 2 for reward, right in pairs) / max(1, len(pairs))
        rows += [
            {
                "run": labels[run.id],
                "bin": number / BINS,
                "steps": len(bins[number]),
                "reward": mean,
                "right": right.value,
                "right_lower": right.lower,
                "right_upper": right.upper,
                "calibration_error": sum(gaps) / len(pairs),
                "brier": brier,
            }
            for number, (mean, right) in means.items()
        ]
    return frame(rows)


def rates_by_task(runs: Sequence[Run], reading: str = "strict") -> "pandas.DataFrame":
    """Of error recovery: how often each variation is right, by task and over all."""
    labels = labels_of(runs)
    rows: list[Row] = []
    for run in runs:
        by_task: dict[str, list[dict[str, float]]] = {}
        for sample, score in pairs_of(run, reading):
            if isinstance(score.value, dict):
                for task in ("all", sample.facets.get("task")):
                    if task is not None:
                        by_task.setdefault(task, []).append(score.value)
        for task, values in by_task.items():
            for name in values[0]:
                rate = share([value[name] for value in values])
                rows.append(
                    {
                        "run": labels[run.id],
                        "task": task,
                        "variation": name,
                        "samples": len(values),
                        "rate": rate.value,
                        "rate_lower": rate.lower,
                        "rate_upper": rate.upper,
                    }
                )
    return frame(rows)


def budget(runs: Sequence[Run], reading: str = "strict") -> "pandas.DataFrame":
    """Accuracy beside what a sample took: tokens, seconds, and calls where they are known."""
    labels = labels_of(runs)
    rows: list[Row] = []
    for run in runs:
        scores = [score for _, score in pairs_of(run, reading)]
        hits = share([score.hit for score in scores])
        calls = [score.budget["calls"] for score in scores if "calls" in score.budget]
        n = len(run.scored)
        rows.append(
            {
                "run": labels[run.id],
                "accuracy": hits.value,
                "accuracy_lower": hits.lower,
                "accuracy_upper": hits.upper,
                "tokens_a_sample": sum(s.input_tokens + s.output_tokens for s in run.scored) / n,
                "calls_a_sample": sum(calls) / len(calls) if calls else nan,
                "seconds_a_sample": sum(s.seconds or 0.0 for s in run.scored) / n,
            }
        )
    return frame(rows)
