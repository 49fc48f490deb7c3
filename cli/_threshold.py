"""`misstep threshold`: the threshold of a reward model, chosen and judged after the run."""

import json
from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from misstep.loaders import write_files
from misstep.registry import UnknownNameError, printable
from misstep.reports import (
    Figures,
    RewardRow,
    ThresholdCurve,
    calibration_error,
    calibration_records,
    csv_text,
    drawn,
    file_name,
    reward_rows,
    threshold_charts,
    threshold_records,
)
from misstep.rewards import THRESHOLD
from misstep.scorers import Estimate

SCORES = ("f1_score", "error_accuracy", "correct_accuracy")


@click.command()
@click.argument("logs", nargs=-1, required=True, metavar="LOG...")
@click.option(
    "--tune", default="gsm8k", show_default=True, help="The subset that the threshold is chosen on."
)
@click.option(
    "-o",
    "--output",
    type=click.Path(file_okay=False, path_type=Path),
    help="A folder for the curves, as charts and as data.",
)
def threshold(logs: tuple[str, ...], tune: str, output: Path | None) -> None:
    """Sweep the threshold of first-error LOGS that hold rewards; no model is called.

    The threshold with the best F1 on one subset is applied to the others, as the ProcessBench
    paper does with gsm8k. Logs of one model are taken together.
    """
    console = Console()
    for model, rows in reward_rows(logs).items():
        curves = _by_subset(rows)
        if tune not in curves:
            raise UnknownNameError("subset to tune on", tune, curves)
        tuned = curves[tune].best()
        console.print(_table(model, curves, tune, tuned))
        for subset, curve in curves.items():
            error = calibration_error(curve.calibration())
            console.print(
                f"{escape(printable(subset))}: calibration error {error:.3f} "
                f"over {sum(map(len, curve.steps)):,} steps",
                highlight=False,
            )
        if output is not None:
            _write(output, file_name(model), model, curves, tune, tuned)
    if output is not None:
        console.print(f"Curves and data: {output}", highlight=False)


def _by_subset(rows: list[RewardRow]) -> dict[str, ThresholdCurve]:
    subsets = sorted({row.subset for row in rows})
    return {name: ThresholdCurve(row for row in rows if row.subset == name) for name in subsets}


def _table(model: str, curves: dict[str, ThresholdCurve], tune: str, tuned: float) -> Table:
    table = Table(title=f"{printable(model)}, in percent (* tuned on)", title_justify="left")
    table.add_column("subset")
    table.add_column("threshold", justify="right")
    for name in ("F1", "error acc.", "correct acc."):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("rows", justify="right")
    for subset, curve in curves.items():
        for value, note in ((tuned, "tuned"), (THRESHOLD, "default")):
            figures = curve.at(value)
            here = note == "tuned" and subset == tune
            table.add_row(
                escape(printable(subset)) + ("*" if here else ""),
                f"{value:.2f} {note}",
                *(_percent(getattr(figures, name)) for name in SCORES),
                f"{figures.error_count + figures.correct_count:,}",
            )
    return table


def _percent(estimate: Estimate) -> str:
    if estimate.value != estimate.value:
        return "undefined"
    ends = f"{100 * estimate.lower:.1f}, {100 * estimate.upper:.1f}"
    return f"{100 * estimate.value:.1f} [{ends}]"


def _write(
    folder: Path, name: str, model: str, curves: dict[str, ThresholdCurve], tune: str, tuned: float
) -> None:
    chart = threshold_charts(curves, tuned, printable(model))
    summary = {
        "model": model,
        "tuned_on": tune,
        "threshold": tuned,
        "subsets": {
            subset: {
                "tuned": _plain(curve.at(tuned)),
                "default": _plain(curve.at(THRESHOLD)),
                "calibration_error": calibration_error(curve.calibration()),
            }
            for subset, curve in curves.items()
        },
    }
    contents = {
        folder / f"{name}_thresholds.csv": csv_text(threshold_records(curves)).encode(),
        folder / f"{name}_calibration.csv": csv_text(calibration_records(curves)).encode(),
        folder / f"{name}_summary.json": json.dumps(summary, indent=2).encode(),
        folder / f"{name}_curves.html": drawn(chart, "html"),
        folder / f"{name}_curves.svg": drawn(chart, "svg"),
    }
    write_files(contents, "Name a folder that can be written: -o DIR.")


def _plain(figures: Figures) -> dict[str, Any]:
    plain: dict[str, Any] = {"threshold": figures.threshold}
    for name in SCORES:
        estimate: Estimate = getattr(figures, name)
        known = estimate.value == estimate.value
        plain[name] = estimate.value if known else None
        plain[f"{name}_interval"] = [estimate.lower, estimate.upper] if known else None
    return plain | {"errors": figures.error_count, "corrects": figures.correct_count}
