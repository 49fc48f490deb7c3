"""Trajectories of agents: loading, importing a judge, and what `misstep find` adds to a call."""

import json
import resource
from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path
from tempfile import TemporaryDirectory

from inspect_ai import Task, eval as run_eval
from inspect_ai.dataset import Sample
from inspect_ai.model import Model, ModelOutput, ModelUsage, get_model
from inspect_ai.scorer import includes
from inspect_ai.solver import generate

from benchmarks._measurement import Measurement, quickest
from misstep.loaders import trajectory_dataset
from misstep.reports import find_task, import_files, run_find

ROWS = 1000
CALLS = 400


def measure() -> Iterator[Measurement]:
    """The bundled trajectories, repeated, as rows, as judgements and as transcripts."""
    with TemporaryDirectory() as folder:
        rows, judged, chats = _files(Path(folder))
        load = quickest(lambda: trajectory_dataset(rows))
        yield Measurement(f"load and render {ROWS:,} trajectories", load, "s", 3.0)
        work = quickest(lambda: list(import_files([judged], folder, rows)))
        yield Measurement(f"import a judge of {ROWS:,} trajectories", work, "s", 5.0)
        model = get_model("mockllm/model", custom_outputs=_reply)
        samples = [Sample(id=str(i), input="x" * 2500, target="-1") for i in range(CALLS)]
        bare = Task(dataset=samples, solver=generate(), scorer=includes())
        own = _milliseconds(lambda: _run(bare, model))
        find = _milliseconds(lambda: _find(chats, model))
        note = f"Inspect alone: {own:.1f} ms"
        yield Measurement("misstep find, CPU time added to a call", find - own, "ms", 15.0, note)


def _files(folder: Path) -> tuple[str, str, str]:
    """Write the rows, the judgements of one judge, and the transcripts."""
    path = files("misstep.loaders") / "embedded/agents.jsonl"
    bundled = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    rows = [
        bundled[i % len(bundled)] | {"id": f"made-{i}", "subset": "made", "total_index": i}
        for i in range(ROWS)
    ]
    judged = [
        {"dataset": "made", "total_index": i, "annotator": "a", "step_labels": row["step_labels"]}
        for i, row in enumerate(rows)
    ]
    contents = {"rows": rows, "judged": judged, "chats": rows[:CALLS]}
    for name, lines in contents.items():
        text = "".join(json.dumps(line) + "\n" for line in lines)
        (folder / f"{name}.jsonl").write_text(text, encoding="utf-8")
    return tuple(str(folder / f"{name}.jsonl") for name in contents)  # type: ignore[return-value]


def _reply(*_: object) -> ModelOutput:
    output = ModelOutput.from_content("mockllm/model", r"Fine. \boxed{-1}")
    output.usage = ModelUsage(input_tokens=1, output_tokens=1, total_tokens=2)
    return output


def _run(task: Task, model: Model) -> None:
    with TemporaryDirectory() as logs:
        run_eval(task, model=model, log_dir=logs, display="none")


def _find(chats: str, model: Model) -> None:
    with TemporaryDirectory() as logs:
        run_find(find_task(chats, chosen="all"), model, logs, display="none")


def _milliseconds(work: object) -> float:
    """Return the CPU time of a call, the smaller of two runs."""
    return min(_cpu(work) for _ in range(2)) * 1000 / CALLS


def _cpu(work: object) -> float:
    def used() -> float:
        return sum(resource.getrusage(resource.RUSAGE_SELF)[:2])

    before = used()
    work()  # type: ignore[operator]
    return used() - before
