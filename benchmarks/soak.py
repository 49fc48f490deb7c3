"""Long trials of endurance: whatever fails, the metrics are those of an undisturbed run.

python -m benchmarks.soak            # faults at 1, 10 and 30%; kills; two at once; hostile servers
python -m benchmarks.soak --short    # the same at 10% alone, on fewer samples
"""

import argparse
import os
import sys
import tempfile
from collections.abc import Iterator, Sequence
from itertools import product

from rich.console import Console
from rich.table import Table

from benchmarks._trials import Trial, Trials
from tests.support.openai_server import PASSING_FAULTS, Fault

PROVIDERS = ("openai-api", "lean")
NO_ANSWER = (Fault.TRUNCATED, Fault.NULL_CONTENT, Fault.REFUSAL, Fault.CONTEXT_LENGTH)
"""Answers that hold no verdict, and would hold none the next time."""
RATES = (0.01, 0.1, 0.3)
KILLS = 3
FEW = 100
"""Samples of the short form, which kills a run once."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run all trials and print a table; return 1 if one of them failed."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.soak", description=__doc__)
    parser.add_argument("--short", action="store_true")
    short = parser.parse_args(arguments).short
    os.environ["LOCAL_API_KEY"] = "x"
    table = Table("trial", "requests", "seconds", "outcome")
    failed = False
    for trial in _trials(short):
        print(trial, file=sys.stderr)
        failed |= bool(trial.problem)
        table.add_row(
            trial.name,
            f"{trial.requests:,}",
            f"{trial.seconds:.0f}",
            trial.problem or "as expected",
        )
    Console().print(table)
    return int(failed)


def _trials(short: bool) -> Iterator[Trial]:
    with tempfile.TemporaryDirectory() as folder:
        trials = Trials(folder, FEW, 1) if short else Trials(folder, None, KILLS)
        for provider, rate in product(PROVIDERS, RATES[1:2] if short else RATES):
            for fault in PASSING_FAULTS:
                yield trials.passing(provider, fault, rate)
            yield trials.too_few_choices(provider, rate)
            for fault in NO_ANSWER:
                yield trials.no_answer(provider, fault, rate)
        yield trials.dead_server(5 if short else 60)
        yield trials.killed()
        yield trials.split_killed()
        yield trials.two_at_once()
        yield trials.hostile_replies()
        for provider in PROVIDERS:
            yield trials.long_errors(provider)


if __name__ == "__main__":
    sys.exit(main())
