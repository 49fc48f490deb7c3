"""Measure misstep against its targets, and print one table."""

import argparse
import importlib
import logging
import sys
import traceback
from collections.abc import Sequence

from rich.console import Console
from rich.table import Table

from benchmarks._measurement import Measurement

BENCHMARKS = (
    "imports",
    "loading",
    "generating",
    "starting",
    "reporting",
    "forging",
    "scoring",
    "thresholds",
    "memory",
    "voting",
    "stepwise",
    "searching",
    "adaptive",
    "recovery",
    "serving",
    "settings",
    "throughput",
    "full_size",
    "growing",
    "sharding",
)
SHORT = ("imports", "loading", "generating", "scoring", "thresholds", "stepwise", "throughput")
"""What says something in a minute or two."""

WIDTH = 140
"""Of the table where it does not go to a terminal."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the benchmarks; 1 if one of them crashed, whatever the others measured."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--only", choices=BENCHMARKS, help="run this one alone")
    parser.add_argument("--short", action="store_true", help="the quick ones, on few samples")
    given = parser.parse_args(arguments)
    names = [given.only] if given.only else SHORT if given.short else BENCHMARKS
    # Of the loaders' warnings on made-up rows there is nothing to learn here.
    logging.basicConfig(level=logging.ERROR)
    console = Console(width=None if sys.stdout.isatty() else WIDTH)
    measured: list[Measurement] = []
    crashed: list[str] = []
    for name in names:
        # To stderr, so that the table alone can be kept.
        print(f"measuring {name} …", file=sys.stderr)
        try:
            # Imported in turn: one that cannot be imported must not stop the others.
            module = importlib.import_module(f"benchmarks.{name}")
            short = getattr(module, "measure_short", module.measure)
            measured += short() if given.short else module.measure()
        except Exception:
            traceback.print_exc()
            crashed.append(name)
    console.print(_table(measured))
    if crashed:
        console.print(f"Crashed: {', '.join(crashed)}")
    return 1 if crashed else 0


def _table(measured: Sequence[Measurement]) -> Table:
    table = Table()
    table.add_column("what")
    for heading in ("measured", "target", "ratio"):
        table.add_column(heading, justify="right")
    table.add_column("")
    table.add_column("note")
    for one in measured:
        table.add_row(
            one.name,
            "" if one.value is None else f"{one.value:.3g} {one.unit}",
            "" if one.target is None else f"≤ {one.target:.3g} {one.unit}",
            "" if one.ratio is None else f"{one.ratio:.2f}",
            one.outcome,
            one.note,
        )
    return table


if __name__ == "__main__":
    sys.exit(main())
