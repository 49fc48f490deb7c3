"""Results of runs made elsewhere as Inspect logs, scored as the evals themselves score.

Nothing runs: a log is built from the records by the solvers and scorers of misstep, sample by
sample. It has no transcript.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cache
from importlib.metadata import version
from typing import Any, cast

from inspect_ai import Task
from inspect_ai.dataset import Sample
from inspect_ai.log import (
    EvalConfig,
    EvalDataset,
    EvalLog,
    EvalPlan,
    EvalPlanStep,
    EvalSample,
    EvalSpec,
    EvalStats,
    recompute_metrics,
)
from inspect_ai.model import ChatMessageUser, ModelName
from inspect_ai.scorer import Scorer, Target
from inspect_ai.solver import Generate, Solver, TaskState
from inspect_ai.util import registry_info
from shortuuid import uuid

from misstep._inspect_private import scorer_specs
from misstep.forge import add_position, is_injection
from misstep.loaders import (
    RecordedRun,
    holds_judgements,
    holds_solutions,
    holds_verifier_scores,
    judgement_datasets,
    recorded_runs,
    solution_datasets,
)
from misstep.log_files import new_log, text_sample_summary
from misstep.registry import MisstepError
from misstep.reports._foreign_results import ForeignRun, foreign_runs
from misstep.reports._read_runs import in_processes, no_garbage_collection, run_in_memory
from misstep.reports._show import RunSummary, summary_of_run
from misstep.reports._tasks import load_task, run_coroutine
from misstep.reports._text import file_name, some_ids
from misstep.solvers import recorded, recorded_best_of_n
from misstep.stores import critic_verdict

_MANY_SAMPLES = 5_000
"""More samples than this are scored by several processes, which take two seconds to start."""


@dataclass(frozen=True)
class ImportedLog:
    """A log of imported results, and the ids of samples that a reader of its metrics must know."""

    log: EvalLog
    """Its header, without samples."""
    summary: RunSummary
    differing: list[str] = field(default_factory=list)
    """Samples whose critique gives another verdict than the recorded prediction."""
    missing: list[str] = field(default_factory=list)
    """Rows of the source that have no result. They are not in the metrics."""
    partial: list[str] = field(default_factory=list)
    """Samples whose scores end before the last step."""
    undecided: list[str] = field(default_factory=list)
    """Those of them that have no verdict."""
    format: str | None = None
    """The format of another project that was recognised, or None."""


def import_files(
    files: Sequence[str],
    log_dir: str,
    source: str | None = None,
    subset: str | None = None,
    model: str | None = None,
    threshold: float | None = None,
    partial: bool = False,
) -> Iterator[ImportedLog]:
    """Write the results in files as logs, one for each model.

    The source, subset and model are those of files that do not name them; a step with a score
    below the threshold is wrong. Default: 0.5, or the recorded labels if there are any. Records
    whose scores end before the last step are refused unless `partial` is true.
    """
    by_path = holds_verifier_scores(files[0])
    if not by_path:
        foreign = foreign_runs(files, source, threshold)
        if model is not None and len(foreign) > 1:
            raise MisstepError(
                f"--model {model}: each of the {len(foreign)} files holds the outputs of one "
                "model, which is named after the file. Import one file, or leave the name out."
            )
        for one in foreign:
            yield _write_foreign(one, model, log_dir, threshold)
        if foreign:
            return
    threshold = 0.5 if threshold is None else threshold
    named = source is not None
    source = source or "processbench"
    if not by_path and holds_judgements(files[0]):
        rows = "agentprocessbench_labels" if source == "processbench" else source
        builder = LogBuilder("agent_process", {"source": "agent_sample"}, recorded(), {})
        for judge, judged in judgement_datasets(files, rows, model).items():
            # Trajectories without a judgement count as wrong: they are part of the metrics.
            missing = sum(not (one.metadata or {})["recorded"] for one in judged)
            yield _imported(builder.write(judged, rows, judge, log_dir, {"not_judged": missing}))
        return
    if not by_path and holds_solutions(files[0]):
        arguments = {"source": "sample", "method": "plain"}
        builder = LogBuilder("guided_search", arguments, recorded_best_of_n(), {})
        for name, dataset in solution_datasets(files).items():
            yield _imported(builder.write(dataset, "solutions", name, log_dir))
        return
    with no_garbage_collection():
        runs = recorded_runs(files, source, subset, by_folder=model is None, compare=named)
    if not partial:
        _refuse_partial_records(runs)
    jobs = [
        _Job(run, source, model or name or "unnamed", log_dir, threshold)
        for name, run in runs.items()
    ]
    samples = sum(len(run.samples) for run in runs.values())
    yield from in_processes(_write_run, jobs, samples >= _MANY_SAMPLES)


def _write_foreign(
    run: ForeignRun, model: str | None, log_dir: str, threshold: float | None
) -> ImportedLog:
    arguments = {"source": run.source if run.eval == "prmbench" else "sample"}
    options = {"threshold": 0.5 if threshold is None else threshold}
    builder = LogBuilder(run.eval, arguments, recorded(**options), options, run.scorers)
    notes = {"rows_without_result": len(run.missing)}
    log = builder.write(run.samples, run.source, model or run.model, log_dir, notes)
    return _imported(log, missing=run.missing, format=run.format)


def _imported(log: EvalLog, **ids: Any) -> ImportedLog:  # noqa: ANN401
    summary = summary_of_run(run_in_memory(log))
    return ImportedLog(log.model_copy(update={"samples": None}), summary, **ids)


@dataclass(frozen=True)
class _Job:
    """A recorded run that becomes a log."""

    run: RecordedRun
    source: str
    model: str
    log_dir: str
    threshold: float


@no_garbage_collection()
def _write_run(job: _Job) -> ImportedLog:
    run, samples = job.run, job.run.samples.values()
    critiques = [len((one.metadata or {})["recorded"].get("critiques", [])) for one in samples]
    built = all(is_injection(sample) for sample in samples)
    if built:
        for sample in samples:
            add_position(sample)
    eval_name = "adversarial_numinamath" if built else "processbench"
    builder = _builder(eval_name, max(1, *critiques), job.threshold)
    notes = {"partial_records": len(run.partial), "rows_without_result": len(run.missing)}
    log = builder.write(samples, job.source, job.model, job.log_dir, notes)
    written = log.samples or []
    undecided = {str(one.id) for one in written if _has_no_verdict(one)}
    return _imported(
        log,
        differing=[str(one.id) for one in written if _differs(one)],
        missing=run.missing,
        partial=run.partial,
        undecided=[id for id in run.partial if id in undecided],
    )


@cache
def _builder(eval_name: str, votes: int, threshold: float) -> "LogBuilder":
    options = {"threshold": threshold}
    arguments = {"source": "sample", "votes": votes}
    return LogBuilder(eval_name, arguments, recorded(**options), options)


def _refuse_partial_records(runs: dict[str | None, RecordedRun]) -> None:
    for name, run in runs.items():
        if run.partial:
            of_model = f" of {name!r}" if name else ""
            raise MisstepError(
                f"{len(run.partial):,} of {len(run.samples):,} records{of_model} have no score for "
                f"their last steps ({some_ids(run.partial)}). Such a record gives a verdict only "
                "if a step before its end is below the threshold. To import them: --partial."
            )


class LogBuilder:
    """Builds logs like those of an eval: the same name, version, scorers and viewer."""

    def __init__(
        self,
        eval_name: str,
        arguments: dict[str, Any],
        solver: Solver,
        options: dict[str, Any],
        more: Sequence[Scorer] = (),
    ) -> None:
        self._task: Task = load_task(eval_name, arguments)
        self._name = eval_name
        self._solver = solver
        self._plan = EvalPlan(
            steps=[EvalPlanStep(solver=registry_info(solver).name, params=options)]
        )
        self._scorers = {
            registry_info(scorer).name.rpartition("/")[2]: scorer
            for scorer in [*cast(list[Scorer], self._task.scorer), *more]
        }

    @no_garbage_collection()
    def write(
        self,
        samples: Iterable[Sample],
        dataset: str,
        model: str,
        log_dir: str,
        notes: dict[str, int] | None = None,
    ) -> EvalLog:
        """Write the log of a model. `notes` are kept in the metadata if they are not 0."""
        scored = run_coroutine(self._scored(samples, f"imported/{model}"))
        now = datetime.now(UTC).isoformat(timespec="seconds")
        spec = EvalSpec(
            run_id=uuid(),
            created=now,
            task=f"misstep/{self._name}",
            task_id=uuid(),
            task_version=self._task.version,
            task_display_name=f"misstep/{self._name}",
            dataset=EvalDataset(
                name=dataset,
                samples=len(scored),
                sample_ids=[sample.id for sample in scored],
                shuffled=False,
            ),
            model=f"imported/{model}",
            config=EvalConfig(epochs=1),
            packages={"inspect_ai": version("inspect_ai")},
            metadata={"imported": True} | {k: n for k, n in (notes or {}).items() if n},
            viewer=self._task.viewer,
            scorers=scorer_specs([*self._scorers.values()]),
            headline_metric=self._task.headline_metric,
        )
        stats = EvalStats(started_at=now, completed_at=now)
        log = EvalLog(status="success", eval=spec, plan=self._plan, stats=stats, samples=scored)
        recompute_metrics(log)
        stamp = now.replace(":", "-").replace("+", "-")
        name = self._name.replace("_", "-")
        log.location = f"{log_dir.rstrip('/')}/{stamp}_{file_name(name)}_{spec.task_id}.eval"
        with new_log(log.location) as file:
            for sample in scored:
                file.add_sample(sample)
            file.finish(log, [text_sample_summary(sample) for sample in scored])
        return log

    async def _scored(self, samples: Iterable[Sample], model: str) -> list[EvalSample]:
        return [await self._scored_sample(sample, ModelName(model)) for sample in samples]

    async def _scored_sample(self, sample: Sample, model: ModelName) -> EvalSample:
        text, target = str(sample.input), Target(sample.target)
        state = TaskState(
            model=model,
            sample_id=sample.id or "",
            epoch=1,
            input=text,
            messages=[ChatMessageUser(content=text, source="input")],
            target=target,
            metadata=dict(sample.metadata or {}),
        )
        state = await self._solver(state, cast(Generate, None))
        # The scorers of recorded results always return a score.
        scores = {name: cast(Any, await one(state, target)) for name, one in self._scorers.items()}
        return EvalSample(
            id=state.sample_id,
            epoch=1,
            input=text,
            target=sample.target,
            messages=state.messages,
            output=state.output,
            scores=scores,
            metadata=state.metadata,
            store=dict(state.store.items()),
            uuid=uuid(),
        )


def _has_no_verdict(sample: EvalSample) -> bool:
    left = critic_verdict(sample.store, sample.output)
    return left is not None and left.unread is not None


def _differs(sample: EvalSample) -> bool:
    prediction = sample.metadata["recorded"].get("prediction")
    scores = sample.scores or {}
    answer = (scores.get("first_error") or scores["detections"]).answer
    return prediction is not None and str(prediction) != answer
