"""Reference runs: baselines and models in this process on every bundled set, in full."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from misstep.registry import MisstepError, evals
from misstep.reports._read_runs import read_logs
from misstep.reports._runs import WEIGHTS, Run
from misstep.reports._submissions import weights_digest
from misstep.reports._tasks import load_task
from misstep.solvers import BASELINES, SECTION_BASELINES

EMBEDDED = "embedded/smollm2"
NO_MODEL = "mockllm/model"
"""Inspect needs the name of a model, although a baseline calls none."""
WITH_GRAMMAR = "index_only"
"""The critic of small models: a grammar allows only an index as the reply."""
SEED = 42
"""Samples are drawn with it if only some of them run."""


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
    """Make a reference run, unless its log is there; the limits are those of models."""
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
