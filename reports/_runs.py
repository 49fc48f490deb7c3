"""Reading logs, each once: those that cannot be counted in full are listed and skipped."""

import gc
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from inspect_ai.log import (
    EvalLog,
    list_eval_logs,
    read_eval_log,
    read_eval_log_sample_summaries,
)

from misstep.registry import MisstepError, evals
from misstep.reports._scored_samples import Sample, read_samples, tokens_in

READINGS = {
    "first_error": {"strict": "first_error", "lenient": "first_error_lenient"},
    "error_sections": {"strict": "error_sections", "published": "error_sections_published"},
    "recovery": {"strict": "recovery", "lenient": "recovery_lenient"},
}
"""The scorers of our own, by what they score and how they read."""

ANSWERS = "answers"
"""The kind of a run whose samples are simply right or wrong."""


TOLD = ("critic", "style", "order", "domain")
"""Arguments whose values say how a model was asked."""
DATA = ("source", "subset", "accept", "per_task", "seed", *TOLD)
"""Arguments that say which rows are asked about, or are told already."""


@dataclass(frozen=True)
class Run:
    """A finished run."""

    location: str
    file: str
    """The log's name within its folder, as the viewer knows it."""
    id: str
    eval: str
    task: str
    kind: str
    """What is scored: a key of READINGS, or ANSWERS."""
    version: str
    data: str
    model: str
    created: str
    settings: dict[str, Any]
    """The task's arguments, as given."""
    imported: bool
    metrics: dict[str, dict[str, float]]
    """By scorer, as the log has them."""
    headline: str | None
    """The scorer that the eval itself shows first."""
    samples: list[Sample]
    epochs: int
    usage: dict[str, tuple[int, int]]
    """Tokens in and out by model."""

    @cached_property
    def scored(self) -> list[Sample]:
        """The samples that did not fail."""
        return [sample for sample in self.samples if sample.scores]

    @property
    def name(self) -> str:
        """The model's name; of a baseline, which calls no model, its own."""
        critic = self.settings.get("critic")
        return str(critic) if critic and not self.usage and not self.imported else self.model

    @cached_property
    def protocol(self) -> str:
        """How the model was asked, in a few words."""
        if self.name != self.model:
            return "baseline"
        told = ["imported"] * self.imported
        told += [str(self.settings[n]) for n in TOLD if n in self.settings]
        scored = (score for sample in self.scored for score in sample.scores.values())
        votes = max((max(score.hits_at, default=1) for score in scored), default=1)
        told += [f"{votes} votes"] * (votes > 1)
        told += [name for name in ("adaptive", "weighted") if self.settings.get(name)]
        if self.kind != "first_error":
            told += [f"{name}={value}" for name, value in self.settings.items() if name not in DATA]
        told += [f"{self.epochs} epochs"] * (self.epochs > 1)
        return ", ".join(told) or "default"

    def scorer(self, reading: str = "strict") -> str:
        """The scorer that reads so.

        Raises:
            MisstepError: The run has no such reading.
        """
        known = READINGS.get(self.kind) or {"strict": self._own_scorer()}
        name = known.get(reading)
        if name is None or name not in self.metrics:
            there = [word for word, scorer in known.items() if scorer in self.metrics]
            raise MisstepError(
                f"{self.location}: it has no {reading} reading, only {', '.join(there)}."
            )
        return name

    def _own_scorer(self) -> str:
        return self.headline if self.headline in self.metrics else next(iter(self.metrics))


@dataclass(frozen=True)
class Skipped:
    """A log that is not counted, and why."""

    location: str
    reason: str


@dataclass(frozen=True)
class Logs:
    """What some logs hold."""

    runs: list[Run]
    skipped: list[Skipped]


def read_logs(*places: str | Path) -> Logs:
    """Read logs; those that cannot be counted in full are listed and skipped.

    Args:
        places: Log files, or folders of them.

    Raises:
        MisstepError: A place is neither a file nor a folder.
    """
    runs: dict[str, Run] = {}
    skipped: list[Skipped] = []
    for location, file in _files(places):
        try:
            run = read_run(location, file)
        except MisstepError as problem:
            skipped.append(Skipped(location, str(problem).removeprefix(f"{location}: ")))
            continue
        if run.id in runs:
            skipped.append(Skipped(location, f"the same run as {runs[run.id].file}"))
        else:
            runs[run.id] = run
    return Logs(sorted(runs.values(), key=lambda run: (run.eval, run.data, run.created)), skipped)


def _files(places: Iterable[str | Path]) -> Iterator[tuple[str, str]]:
    """Each log's place, and its name within the folder that was given."""
    for place in map(str, places):
        if place.endswith((".eval", ".json")):
            yield place, place.rpartition("/")[2]
            continue
        remote = "://" in place
        if not remote and not Path(place).is_dir():
            raise MisstepError(f"{place}: there is no such log or folder of logs.")
        root = place if remote else Path(place).resolve().as_posix()
        for info in list_eval_logs(root, descending=False):
            name = info.name if remote else info.name.removeprefix("file://")
            yield name, name.removeprefix(root.rstrip("/") + "/")


def read_run(location: str, file: str | None = None) -> Run:
    """Read one log.

    Args:
        location: The log file.
        file: Its name within its folder.

    Raises:
        MisstepError: It is no log, is not finished, or is not of an eval that is known here.
    """
    try:
        with _no_collection():
            log = read_eval_log(location, header_only=True)
            name = _countable(log, location)
            samples = read_samples(log, read_eval_log_sample_summaries(location), location)
    except MisstepError:
        raise
    except Exception as problem:  # Inspect has no error of its own for a file that is no log.
        reason = " ".join(str(problem).split()) or type(problem).__name__
        raise MisstepError(f"{location}: cannot be read as an Inspect log ({reason}).") from None
    if not any(sample.scores for sample in samples):
        raise MisstepError(f"{location}: empty: no sample has a score.")
    return _run(log, location, file or location.rpartition("/")[2], name, samples)


@contextmanager
def _no_collection() -> Iterator[None]:
    """Nothing that is read is garbage yet: to look for some takes a third of the time."""
    was = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was:
            gc.enable()


def _run(log: EvalLog, location: str, file: str, name: str, samples: list[Sample]) -> Run:
    spec, metrics = log.eval, _metrics(log)
    headline = spec.headline_metric
    known = (kind for kind, by in READINGS.items() if metrics.keys() & set(by.values()))
    return Run(
        location=location,
        file=file,
        id=spec.eval_id,
        eval=name,
        task=spec.task.removeprefix("misstep/"),
        kind=next(known, ANSWERS),
        version=str(spec.task_version),
        data=spec.dataset.name or name,
        model=spec.model,
        created=spec.created,
        settings=dict(spec.task_args_passed),
        imported=bool((spec.metadata or {}).get("imported")),
        metrics=metrics,
        headline=headline.scorer if headline else None,
        samples=samples,
        epochs=spec.config.epochs or 1,
        usage={m: (tokens_in(u), u.output_tokens) for m, u in log.stats.model_usage.items()},
    )


def _countable(log: EvalLog, location: str) -> str:
    """The eval's name, of a log that can be counted."""
    name = log.eval.task.rpartition("/")[2].partition(".")[0].replace("-", "_")
    scores = log.results.scores if log.results else []
    scorers = {scorer for readings in READINGS.values() for scorer in readings.values()}
    if name not in _evals() and not scorers & {score.name for score in scores}:
        raise MisstepError(f"{location}: foreign: {log.eval.task!r} is not an eval of misstep.")
    if log.status != "success":
        words = {"started": "unfinished", "error": "ended in an error"}
        word = words.get(log.status, log.status)
        raise MisstepError(f"{location}: {word}. To finish it: inspect eval-retry {location}")
    if log.invalidated:
        raise MisstepError(f"{location}: marked as invalid.")
    if not any(score.metrics for score in scores):
        raise MisstepError(f"{location}: empty: it has no scores.")
    return name


def _evals() -> set[str]:
    return {name.replace("-", "_") for name in evals()}


def _metrics(log: EvalLog) -> dict[str, dict[str, float]]:
    metrics: dict[str, dict[str, float]] = {}
    for score in log.results.scores if log.results else []:
        if score.metrics:
            # Of several reducers the first is the one that the samples are reduced by.
            values = {name: float(metric.value) for name, metric in score.metrics.items()}
            metrics.setdefault(score.name, values)
    return metrics
