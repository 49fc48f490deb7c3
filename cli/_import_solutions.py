"""`misstep import` of sampled solutions: best-of-n by a reward model as a log like any other."""

import sys

from rich.console import Console
from rich.markup import escape

from misstep.loaders import solution_datasets
from misstep.registry import evals, printable
from misstep.rewards import AGGREGATIONS
from misstep.scorers import answer_scoring
from misstep.solvers import recorded_best_of_n

EVAL = "guided_search"


def import_solutions(console: Console, files: tuple[str, ...], log_dir: str) -> None:
    """Turn recorded solutions into logs, one for each reward model."""
    from inspect_ai import Task
    from inspect_ai import eval as run

    for model, dataset in solution_datasets(files).items():
        task = Task(
            dataset=dataset,
            solver=recorded_best_of_n(),
            name=f"misstep/{EVAL}",
            version=evals()[EVAL].version,
            metadata={"imported": True},
            **answer_scoring(),
        )
        [log] = run(
            task, model=f"imported/{model}", log_dir=log_dir, display="none", log_realtime=False
        )
        console.print(f"\n[bold]{escape(printable(log.eval.model))}[/bold]  {log.location}")
        if log.status != "success" or log.results is None:
            console.print(f"The import ended with the status {log.status!r}.", style="bold red")
            sys.exit(1)
        metrics = log.results.scores[0].metrics
        for name in (*AGGREGATIONS, "majority", "oracle"):
            value, lower, upper = (
                100 * metrics[f"{name}_accuracy{end}"].value for end in ("", "_lower", "_upper")
            )
            console.print(f"  {name:<9} {value:5.1f} [{lower:.1f}, {upper:.1f}]", highlight=False)
