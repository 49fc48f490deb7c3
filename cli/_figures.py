"""The figures of a first-error run as a table: percent, one decimal."""

from math import isnan

from inspect_ai.log import EvalResults
from rich.table import Table

SCORES = ("f1_score", "error_accuracy", "correct_accuracy")
SHARES = ("unparsed", "truncated")


def figures_table(results: EvalResults) -> Table:
    """Strict and lenient scores side by side, with their intervals."""
    scorers = {
        score.name: {name: metric.value for name, metric in score.metrics.items()}
        for score in results.scores
        if "f1_score" in score.metrics
    }
    table = Table(
        title=f"{results.completed_samples} of {results.total_samples} samples, in percent",
        title_justify="left",
    )
    table.add_column("")
    for name in scorers:
        table.add_column(name, justify="right")
    names = next(iter(scorers.values()), {})
    by_subset = [name for name in names if name.endswith("_f1_score")]
    for name in (*SCORES, *by_subset):
        table.add_row(name, *(_with_interval(figures, name) for figures in scorers.values()))
    for name in SHARES:
        table.add_row(name, *(_percent(figures[name]) for figures in scorers.values()))
    return table


def _with_interval(figures: dict[str, float], name: str) -> str:
    value = _percent(figures[name])
    if isnan(figures[name]):
        return value
    lower, upper = _percent(figures[f"{name}_lower"]), _percent(figures[f"{name}_upper"])
    return f"{value} [{lower}, {upper}]"


def _percent(value: float) -> str:
    return "undefined" if isnan(value) else f"{100 * value:.1f}"
