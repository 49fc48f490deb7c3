"""`misstep import` of step scores: 21 verifiers of 1,000 rows, and one verifier of 3,400."""

import json
import tempfile
from collections.abc import Iterator
from pathlib import Path
from random import Random

from benchmarks._measurement import Measurement
from benchmarks._programs import BIN, program
from benchmarks._rows import FULL, rows_file
from misstep.loaders import load_rows

VERIFIERS, ROWS = 21, 1_000


def measure() -> Iterator[Measurement]:
    """Yield the seconds of the whole command, start of Python included."""
    for verifiers, rows, target in ((VERIFIERS, ROWS, 20), (1, FULL, 5)):
        with tempfile.TemporaryDirectory() as folder, rows_file(rows) as source:
            scores = _scores_file(Path(folder), source, verifiers)
            command = [BIN / "misstep", "import", scores, "--source", source]
            used = program([*command, "--log-dir", f"{folder}/logs"])
            name = f"import {verifiers} x {rows:,} rows"
            note = f"step scores; {used.cpu:.1f} s of one processor"
            yield Measurement(name, used.seconds, "s", target, note)


def _scores_file(folder: Path, source: Path, verifiers: int) -> Path:
    random = Random(1)
    rows = load_rows(str(source))
    file = folder / "scores.jsonl"
    with file.open("w", encoding="utf-8") as stream:
        for verifier in range(verifiers):
            for row in rows:
                scores = [round(random.random(), 4) for _ in row.steps]
                record = {"id": row.id, "model": f"v{verifier}", "scores": scores}
                stream.write(json.dumps(record) + "\n")
    return file
