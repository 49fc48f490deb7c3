"""A report on twenty runs of ProcessBench's size: time, memory, size; and a comparison of two.

The runs are made up: critics of different skill, some with votes, some with rewards, each with its
own words. `python -m benchmarks.reporting FOLDER` writes only the logs. The report is the whole
command with its start.
"""

import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from random import Random

from inspect_ai.event import InfoEvent
from inspect_ai.log import EvalSample
from inspect_ai.model import ChatMessageAssistant, ChatMessageUser

from benchmarks._measurement import Measurement, quickest
from benchmarks._programs import BIN, program
from benchmarks._rows import FULL, rows_file
from misstep.loaders import FirstErrorRow, load_rows
from misstep.reports import compare, read_run
from tests.support.logs import write_first_error_log

LOGS = 20
VOTES = 8
MOST_MEGABYTES = 25


def measure() -> Iterator[Measurement]:
    """Yield time, memory and size of a report, and the time of a comparison."""
    with tempfile.TemporaryDirectory() as folder:
        logs = write_logs(Path(folder))
        page = Path(folder) / "report.html"
        done = program([BIN / "misstep", "report", folder, "-o", page])
        if page.read_text(encoding="utf-8").count("<figure") < LOGS // 4:
            raise RuntimeError("the page has hardly any charts")
        note = f"{LOGS} logs of {FULL:,} samples"
        used = f"{note}; {done.cpu:.0f} s of one processor"
        yield Measurement("misstep report", done.seconds, "s", 15, used)
        yield Measurement("peak memory of a report", done.megabytes, "MB", 1500, note)
        size = page.stat().st_size / 1e6
        yield Measurement("size of a report", size, "MB", MOST_MEGABYTES, note)
        pair = [read_run(str(log)) for log in logs[:2]]
        compared = quickest(lambda: compare(pair))
        sizes = f"{FULL:,} samples, 10,000 resamples"
        yield Measurement("compare two runs", compared, "s", 2, sizes)
        whole = quickest(lambda: compare([read_run(str(log)) for log in logs[:2]]))
        yield Measurement("compare two logs", whole, "s", 2, "the same, with reading them")


def write_logs(folder: Path, count: int = LOGS, samples: int = FULL) -> list[Path]:
    """Write the logs of made-up critics: every fourth votes, every fourth has rewards."""
    with rows_file(samples) as path:
        rows = load_rows(str(path))
    logs = []
    for number in range(count):
        random, skill = Random(number), 0.3 + 0.5 * number / count
        log = folder / f"2026-01-02T03-04-{number:02d}-00-00_processbench_{number}.eval"
        votes = VOTES if number % 4 == 1 else 1
        replies = [[_reply(row, skill, random) for _ in range(votes)] for row in rows]
        rewards = [_rewards(row, skill, random) for row in rows] if number % 4 == 2 else None
        write_first_error_log(
            log,
            rows,
            replies,
            model=f"openai/model-{number}",
            rewards=rewards,
            weight=_add_conversation,
        )
        logs.append(log)
    return logs


def _reply(row: FirstErrorRow, skill: float, random: Random) -> str:
    """Return a critique of about 1,200 characters that quotes the steps and ends in a box."""
    right = random.random() < skill
    index = row.label if right else random.randrange(-1, len(row.steps))
    if random.random() < 0.02:
        return "I cannot decide which paragraph is wrong."
    words = [word for step in row.steps for word in step.split()] or ["nothing"]
    checked = (
        f"Paragraph {i}: {' '.join(random.sample(words, min(len(words), 24)))} holds."
        for i in range(8)
    )
    return "\n\n".join([*checked, rf"The first error is in paragraph $\boxed{{{index}}}$."])


def _rewards(row: FirstErrorRow, skill: float, random: Random) -> list[float]:
    wrong = [row.label >= 0 and i >= row.label for i in range(len(row.steps))]
    return [
        round(min(1, max(0, random.gauss(0.5 - skill / 2 if bad else 0.5 + skill / 2, 0.2))), 4)
        for bad in wrong
    ]


def _add_conversation(sample: EvalSample, texts: Sequence[str]) -> None:
    """Make a sample as heavy as one of a real run, which holds the prompt and its events."""
    prompt = "\n\n".join([str(sample.input), *sample.metadata["steps"]])
    sample.messages = [ChatMessageUser(content=prompt), ChatMessageAssistant(content=texts[0])]
    sample.events = [InfoEvent(data={"request": prompt, "reply": list(texts), "state": "x" * 6000})]


if __name__ == "__main__":
    write_logs(Path(sys.argv[1]))
