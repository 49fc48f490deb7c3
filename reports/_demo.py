"""The demo: baselines, a calculator and a small model judge the same solutions."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from inspect_ai import Task
from inspect_ai.dataset import Sample

from misstep.registry import MisstepError
from misstep.reports._comparison import Contrast, compare
from misstep.reports._read_runs import read_run
from misstep.reports._reference import EMBEDDED
from misstep.reports._runs import Run
from misstep.reports._samples import SampleRecord
from misstep.reports._tasks import load_task
from misstep.solvers import BASELINES

TASK = "misstep/processbench.written"
"""The solutions that people wrote. The generated ones are longer, and the demo has a minute."""
CALCULATOR = "arithmetic"
EMBEDDED_CRITIC = "index_only"
"""The embedded model cannot write a critique. A grammar makes it answer with an index."""
_MOST_STEPS = 7


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
        locations += _run([_task(EMBEDDED_CRITIC)], EMBEDDED, log_dir, limit=rows)
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
