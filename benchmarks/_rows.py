"""Rows for benchmarks: real ones if the offline mirror has them, else the bundled sample."""

import json
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import cycle, islice
from pathlib import Path
from random import Random

from misstep.loaders import FirstErrorRow, load_rows, mirror

FULL = 3400
"""The size of ProcessBench."""
SUBSETS = ("gsm8k", "math")


@contextmanager
def rows_file(count: int) -> Iterator[Path]:
    """Yield a temporary JSON Lines file of `count` first-error rows, repeated under new ids."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rows.jsonl"
        with path.open("w", encoding="utf-8") as stream:
            for number, row in enumerate(islice(cycle(_rows()), count)):
                renamed = row.model_copy(update={"id": f"{row.id}-{number}"})
                stream.write(json.dumps(renamed.model_dump()) + "\n")
        yield path


def _rows() -> list[FirstErrorRow]:
    files = [mirror() / "processbench" / f"{subset}.json" for subset in SUBSETS]
    if all(file.is_file() for file in files):
        rows = [row for subset in SUBSETS for row in load_rows("processbench", subset)]
    else:
        rows = load_rows("sample")
    # The files begin with the rows that have an error. A part of the rows should have both kinds.
    return Random(0).sample(rows, len(rows))
