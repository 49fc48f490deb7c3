"""Runs that need no key: the demo, reference runs of every bundled set, and recorded outputs.

In the demo, baselines, a calculator and a small model judge the same solutions. In reference runs,
baselines and models in this process judge every bundled set in full. Recorded outputs of real
models are scored here, beside the numbers that others have for them.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import isnan, nan
from pathlib import Path
from typing import Any

from inspect_ai import Task
from inspect_ai.dataset import Sample

from misstep.registry import MisstepError, RecordedOutputs, evals, published, records, sources
from misstep.reports._board import weights_digest
from misstep.reports._comparison import Contrast, compare
from misstep.reports._imports import import_files
from misstep.reports._read_runs import read_logs, read_run
from misstep.reports._runs import WEIGHTS, Run
from misstep.reports._samples import SampleRecord
from misstep.reports._step_rewards import reward_rows
from misstep.reports._tasks import load_task
from misstep.reports._thresholds import TunedThreshold, tune_threshold
from misstep.rewards import THRESHOLD
from misstep.solvers import BASELINES, SECTION_BASELINES

EMBEDDED = "embedded/smollm2"
NO_MODEL = "mockllm/model"
"""Inspect needs the name of a model, although a baseline calls none."""
WITH_GRAMMAR = "index_only"
"""The critic of small models, which cannot write a critique: a grammar allows only an index."""
SEED = 42
"""The seed that draws the samples if only some of them run."""
TASK = "misstep/processbench.written"
"""The solutions that people wrote. The generated ones are longer, and the demo has a minute."""
CALCULATOR = "arithmetic"
_MOST_STEPS = 7

PUBLISHED = "published"
"""Whose number it is, if it stands in a published table."""
INDEPENDENT = "independent code, by misstep's rule, on the same records"
"""Whose number it is, if the rule is misstep's own."""
_TUNE_ON = "gsm8k"
"""The subset on which the ProcessBench paper tunes thresholds."""


@dataclass(frozen=True)
class ReferenceRun:
    """A run of one model or baseline on one set."""

    eval: str
    arguments: dict[str, Any]
    model: str

    @property
    def label(self) -> str:
        """What runs: the baseline, or the model."""
        return str(self.arguments.get("critic")) if self.model == NO_MODEL else self.model

    def is_in(self, runs: Sequence[Run]) -> bool:
        """Whether one of these runs is this one."""
        return any(
            run.task.replace("-", "_") == self.eval.replace("-", "_")
            and run.model == self.model
            and run.settings == self.arguments
            for run in runs
        )


def planned_runs(baselines: bool, models: Sequence[str]) -> Iterator[ReferenceRun]:
    """Yield a run for each bundled set of each of its baselines and of each model."""
    for name, entry in evals().items():
        for variant, facts in entry.variants.items():
            if facts.reference is None:
                continue
            full = f"{name}.{variant}"
            for critic in _accepted(full, [*BASELINES, *SECTION_BASELINES]) if baselines else ():
                yield ReferenceRun(full, {"critic": critic}, NO_MODEL)
            for model in models:
                own = dict(facts.reference)
                if list(_accepted(full, [WITH_GRAMMAR])):
                    own["critic"] = WITH_GRAMMAR
                yield ReferenceRun(full, own, model)


def _accepted(name: str, critics: Sequence[str]) -> Iterator[str]:
    """Yield the critics that a task accepts; some tasks have none."""
    for critic in dict.fromkeys(critics):
        try:
            load_task(name, {"critic": critic})
        except MisstepError:
            continue
        yield critic


def run_planned(
    planned: ReferenceRun, folder: Path, limit: int | None, max_tokens: int | None
) -> None:
    """Make a reference run, unless its log exists. The limits apply to models, not to baselines."""
    from inspect_ai import eval as run

    if folder.is_dir() and planned.is_in(read_logs(folder).runs):
        return
    own: dict[str, Any] = {}
    if planned.model != NO_MODEL:
        own["metadata"] = {WEIGHTS: weights_digest(planned.model.partition("/")[2])}
        # A reply that is only an index has its own limit.
        if max_tokens is not None and planned.arguments.get("critic") != WITH_GRAMMAR:
            own["max_tokens"] = max_tokens
        if limit is not None:
            own |= {"limit": limit, "sample_shuffle": SEED}
    [log] = run(
        load_task(planned.eval, planned.arguments),
        model=planned.model,
        log_dir=str(folder),
        display="none",
        log_realtime=False,
        **own,
    )
    if log.status != "success":
        raise MisstepError(
            f"{planned.eval}: the run ended with the status {log.status!r}. "
            f"Its log is {log.location}."
        )


@dataclass(frozen=True)
class Demo:
    """The runs of a demo, the comparison of two of them, and a solution as an example."""

    runs: list[Run]
    """The baselines, then the calculator, then the embedded model if it is installed."""
    compared: tuple[Run, Run]
    """The calculator, and the embedded model, or a baseline if it is not installed."""
    contrast: Contrast
    """Their F1 on the same solutions."""
    example: SampleRecord
    problem: str
    steps: list[str]

    def verdicts(self) -> list[tuple[str, int | None]]:
        """Return what each critic said about the example, by the name of its run."""
        said = []
        for run in self.runs:
            own = [sample for sample in run.scored if sample.id == self.example.id]
            said += [(run.name, sample.scores[run.scorer()].predicted) for sample in own]
        return said


def run_demo(log_dir: str, rows: int, progress: Callable[[str], None]) -> Demo:
    """Run all critics on the bundled sample, the embedded model on the first `rows`."""
    others = [critic for critic in BASELINES if critic != CALCULATOR]
    tasks = [_task(critic) for critic in [*others, CALCULATOR]]
    progress(f"{len(tasks)} baselines judge {len(tasks[0].dataset)} solutions ...")
    locations = _run(tasks, "none/none", log_dir)
    if missing := _missing_model():
        progress(f"The embedded model is left out. {missing}")
    else:
        progress(f"{EMBEDDED}, a model of 135 million parameters, judges {rows} of them ...")
        locations += _run([_task(WITH_GRAMMAR)], EMBEDDED, log_dir, limit=rows)
    runs = [read_run(location) for location in locations]
    calculator = runs[len(others)]
    other = runs[len(others) - 1] if missing else runs[-1]
    contrasts = compare([calculator, other], common=True).contrasts
    texts = {str(sample.id): _texts(sample) for sample in tasks[0].dataset}
    example = _example(calculator, other, texts)
    contrast = next(one for one in contrasts if one.metric == "f1_score")
    return Demo(runs, (calculator, other), contrast, example, *texts[example.id])


def _missing_model() -> str | None:
    """Return what is missing to run the embedded model, or None."""
    from inspect_ai.model import get_model

    try:
        get_model(EMBEDDED)
    except MisstepError as problem:
        return str(problem)
    return None


def _task(critic: str) -> Task:
    return load_task(TASK, {"critic": critic})


def _run(tasks: Sequence[Task], model: str, log_dir: str, **options: Any) -> list[str]:  # noqa: ANN401
    from inspect_ai import eval as run

    logs = run(
        list(tasks), model=model, log_dir=log_dir, display="none", log_realtime=False, **options
    )
    for log in logs:
        if log.status != "success":
            cause = f" ({log.error.message})" if log.error else ""
            raise MisstepError(f"{log.location}: the run ended as {log.status!r}{cause}.")
    return [log.location for log in logs]


def _texts(sample: Sample) -> tuple[str, list[str]]:
    return str(sample.input), list((sample.metadata or {})["steps"])


def _example(calculator: Run, other: Run, texts: dict[str, tuple[str, list[str]]]) -> SampleRecord:
    """Return a short solution with an error, one that the calculator finds if there is one."""
    found = {sample.id for sample, score in calculator.scored_pairs() if score.hit == 1}

    def length(sample: SampleRecord) -> int:
        problem, steps = texts[sample.id]
        return len(problem) + sum(map(len, steps))

    wrong = [sample for sample in other.scored if sample.has_error]
    short = [one for one in wrong if (one.n_steps or 0) <= _MOST_STEPS] or wrong
    return min(short, key=lambda one: (one.id not in found, length(one)))


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


def reference_runs(log_dir: Path) -> list[RecordedRuns]:
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
