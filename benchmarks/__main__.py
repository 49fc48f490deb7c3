"""Measure misstep against its targets and print a table."""

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
    "computing",
    "starting",
    "reporting",
    "importing",
    "forging",
    "memory",
    "critics",
    "searching",
    "recovery",
    "agents",
    "serving",
    "settings",
    "throughput",
    "full_size",
    "growing",
    "sharding",
)
SHORT = ("imports", "computing", "critics", "throughput")
"""The benchmarks that give a result in a minute or two."""

WIDTH = 140
"""The width of the table if the output is not a terminal."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the benchmarks; return 1 if one of them crashed."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--only", choices=BENCHMARKS, help="run only this benchmark")
    parser.add_argument("--short", action="store_true", help="run the fast ones on few samples")
    given = parser.parse_args(arguments)
    names = [given.only] if given.only else SHORT if given.short else BENCHMARKS
    # The loaders warn about the made-up rows of benchmarks.
    logging.basicConfig(level=logging.ERROR)
    console = Console(width=None if sys.stdout.isatty() else WIDTH)
    measured: list[Measurement] = []
    crashed: list[str] = []
    for name in names:
        # To stderr, so that stdout has only the table.
        print(f"measuring {name} …", file=sys.stderr)
        try:
            # Imported one by one: a module that fails to import must not stop the others.
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
