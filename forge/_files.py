"""The files of a built set: JSON Lines, Parquet, the rejects, the card."""

import io
import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from misstep.forge._record import Example

DATA = "adversarial"
"""What the files are called."""

_LISTS = ("steps", "original_steps", "checks")
_NUMBERS = {"label": "int64", "late_fraction": "float64", "final_answer_correct": "bool_"}


def data_files(folder: Path, examples: Iterable[Example]) -> dict[Path, bytes]:
    """The contents of the data files, rows in the order of their ids."""
    rows = [example.row() for example in sorted(examples, key=lambda one: one.id)]
    return {
        folder / f"{DATA}.jsonl": lines(rows),
        folder / f"{DATA}.parquet": _parquet(rows),
    }


def lines(rows: Iterable[Mapping[str, Any]]) -> bytes:
    """Rows as JSON Lines."""
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows).encode()


def _parquet(rows: list[dict[str, Any]]) -> bytes:
    import pyarrow
    import pyarrow.parquet

    # Named and not guessed: a set without a single error has columns of nothing but null.
    fields = []
    for name, told in Example.model_fields.items():
        if told.exclude:
            continue
        kind = pyarrow.list_(pyarrow.string()) if name in _LISTS else pyarrow.string()
        if name in _NUMBERS:
            kind = getattr(pyarrow, _NUMBERS[name])()
        fields.append(pyarrow.field(name, kind))
    stream = io.BytesIO()
    table = pyarrow.Table.from_pylist(rows, schema=pyarrow.schema(fields))
    pyarrow.parquet.write_table(table, stream)
    return stream.getvalue()
