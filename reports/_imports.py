"""Results of runs made elsewhere as Inspect logs, scored as the evals themselves score."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from inspect_ai import Task
from inspect_ai.dataset import Dataset
from inspect_ai.log import EvalLog, EvalSample
from inspect_ai.solver import Solver

from misstep.loaders import (
    holds_judgements,
    holds_solutions,
    judgement_datasets,
    recorded_datasets,
    solution_datasets,
)
from misstep.reports._tasks import load_task
from misstep.solvers import recorded, recorded_best_of_n


@dataclass(frozen=True)
class ImportedLog:
    """A log of imported results."""

    log: EvalLog
    differing: list[str]
    """Ids of samples whose critique gives another verdict than the recorded prediction."""


def import_files(
    files: Sequence[str],
    log_dir: str,
    source: str = "processbench",
    subset: str | None = None,
    model: str | None = None,
    threshold: float = 0.5,
) -> Iterator[ImportedLog]:
    """Write the results in files as logs, one for each model.

    The source, subset and model are those of files that do not name them; a step with a score
    below the threshold is wrong.
    """
    if holds_judgements(files[0]):
        for name, dataset in judgement_datasets(files, source).items():
            log = _log(
                "agent_process",
                {"source": "agent_sample"},
                dataset,
                recorded(),
                model or name,
                log_dir,
            )
            yield ImportedLog(log, [])
        return
    if holds_solutions(files[0]):
        arguments: dict[str, Any] = {"source": "sample", "method": "plain"}
        for name, dataset in solution_datasets(files).items():
            log = _log("guided_search", arguments, dataset, recorded_best_of_n(), name, log_dir)
            yield ImportedLog(log, [])
        return
    for recorded_name, dataset in recorded_datasets(files, source, subset).items():
        critiques = ((sample.metadata or {})["recorded"].get("critiques", []) for sample in dataset)
        arguments = {"source": "sample", "votes": max(1, *map(len, critiques))}
        label = model or recorded_name or "unnamed"
        log = _log("processbench", arguments, dataset, recorded(threshold), label, log_dir)
        yield ImportedLog(log, [str(one.id) for one in log.samples or [] if _differs(one)])


def _log(
    eval_name: str,
    arguments: dict[str, Any],
    dataset: Dataset,
    solver: Solver,
    model: str,
    log_dir: str,
) -> EvalLog:
    """Return a log that compares with those of an eval: same name, version, scorers, viewer."""
    from inspect_ai import eval as run

    native = load_task(eval_name, arguments)
    task = Task(
        dataset=dataset,
        solver=solver,
        scorer=native.scorer,
        headline_metric=native.headline_metric,
        viewer=native.viewer,
        name=f"misstep/{eval_name}",
        version=native.version,
        metadata={"imported": True},
    )
    [log] = run(
        task, model=f"imported/{model}", log_dir=log_dir, display="none", log_realtime=False
    )
    return log


def _differs(sample: EvalSample) -> bool:
    prediction = sample.metadata["recorded"].get("prediction")
    answer = (sample.scores or {})["first_error"].answer
    return prediction is not None and str(prediction) != answer
