"""Rows to measure with: real ones where the offline mirror has them, else the embedded sample."""

import json
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import cycle, islice
from pathlib import Path
from random import Random

from misstep.loaders import Row, load_rows, mirror

FULL = 3400
"""The size of ProcessBench."""
SUBSETS = ("gsm8k", "math")


@contextmanager
def rows_file(count: int) -> Iterator[Path]:
    """A temporary JSON Lines file of that many first-error rows, repeated under new ids."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rows.jsonl"
        with path.open("w", encoding="utf-8") as stream:
            for number, row in enumerate(islice(cycle(_rows()), count)):
                renamed = row.model_copy(update={"id": f"{row.id}-{number}"})
                stream.write(json.dumps(renamed.model_dump()) + "\n")
        yield path


def _rows() -> list[Row]:
    files = [mirror() / "processbench" / f"{subset}.json" for subset in SUBSETS]
    if all(file.is_file() for file in files):
        rows = [row for subset in SUBSETS for row in load_rows("processbench", subset)]
    else:
        rows = load_rows("sample")
    # Files begin with all their rows that have an error; a part of them should have both kinds.
    return Random(0).sample(rows, len(rows))


def critique_of(index: int) -> str:
    r"""A critique of about 1.5 kB that ends in a box.

    It has a brace every 36 characters or so, as the solutions of ProcessBench's math subset have:
    reading a verdict takes time by the brace.
    """
    checks = (
        f"Paragraph {i}: $\\frac{{{i}}}{{2}} x = {i + 3}$ holds, since both sides agree, and so do "
        "the units and the signs of all terms; it follows from what is given."
        for i in range(10)
    )
    return "\n".join([*checks, rf"The first error is in paragraph $\boxed{{{index}}}$."])
