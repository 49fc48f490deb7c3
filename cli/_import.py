"""`misstep import`: results of runs made elsewhere become logs like any other."""

import sys
from collections.abc import Iterator

import click
from inspect_ai.dataset import MemoryDataset
from inspect_ai.log import EvalLog
from rich.console import Console
from rich.markup import escape

from misstep.cli._figures import figures_table
from misstep.cli._import_solutions import import_solutions
from misstep.loaders import holds_solutions, recorded_datasets
from misstep.registry import RECORDED, evals, printable
from misstep.scorers import first_error_scoring
from misstep.solvers import recorded

EVAL = "processbench"
"""What an imported log is a log of, so that it compares with native ones."""


@click.command("import")
@click.argument("files", nargs=-1, required=True)
@click.option("--source", default="processbench", show_default=True, help="Where the rows are.")
@click.option("--subset", help="Of the source, where the files do not name it.")
@click.option("--model", help="The model's name, where the files do not give it.")
@click.option(
    "--threshold",
    default=0.5,
    show_default=True,
    type=click.FloatRange(0, 1),
    help="A step that scores less is wrong.",
)
@click.option("--log-dir", default="logs", show_default=True, help="Where the logs go.")
def import_results(
    files: tuple[str, ...],
    source: str,
    subset: str | None,
    model: str | None,
    threshold: float,
    log_dir: str,
) -> None:
    """Turn result FILES into Inspect logs, one for each model.

    FILES are ProcessBench's own (math_error.jsonl, math_correct.jsonl: rows with
    generated_critique, prediction, match), PRM step scores (JSONL: id, scores, and model if there
    are several), predictions (CSV: id, prediction), or sampled solutions with the scores of their
    steps (JSONL: problem_id, problem, target, steps, answer, scores by reward model).
    """
    console = Console()
    if holds_solutions(files[0]):
        import_solutions(console, files, log_dir)
        return
    for name, dataset in recorded_datasets(files, source, subset).items():
        log = _log(dataset, f"imported/{model or name or 'unnamed'}", threshold, log_dir)
        console.print(f"\n[bold]{escape(printable(log.eval.model))}[/bold]  {log.location}")
        if log.status != "success" or log.results is None:
            console.print(f"The import ended with the status {log.status!r}.", style="bold red")
            sys.exit(1)
        console.print(figures_table(log.results))
        differing = list(_differing(log))
        if differing:
            shown = ", ".join(escape(printable(id)) for id in differing[:5])
            console.print(
                f"{len(differing)} predictions differ from the recorded ones: {shown}",
                style="yellow",
            )


def _log(dataset: MemoryDataset, model: str, threshold: float, log_dir: str) -> EvalLog:
    from inspect_ai import Task
    from inspect_ai import eval as run

    votes = max(len(_record(sample.metadata).get("critiques", [])) for sample in dataset)
    task = Task(
        dataset=dataset,
        solver=recorded(threshold),
        name=f"misstep/{EVAL}",
        version=evals()[EVAL].version,
        metadata={"imported": True},
        **first_error_scoring(max(1, votes)),
    )
    [log] = run(task, model=model, log_dir=log_dir, display="none", log_realtime=False)
    return log


def _record(metadata: dict[str, object] | None) -> dict[str, list[str]]:
    record: dict[str, list[str]] = (metadata or {})[RECORDED]  # type: ignore[assignment]
    return record


def _differing(log: EvalLog) -> Iterator[str]:
    """The ids whose critiques give another verdict than the prediction recorded beside them."""
    for sample in log.samples or []:
        score = (sample.scores or {})["first_error"]
        prediction = sample.metadata[RECORDED].get("prediction")
        if prediction is not None and str(prediction) != score.answer:
            yield str(sample.id)
