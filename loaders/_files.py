"""Reading rows from a file: JSON, JSON Lines, CSV or Parquet, at any address that fsspec knows."""

import csv
import io
import json
from collections.abc import Iterator
from pathlib import PurePosixPath
from typing import Any

import fsspec

from misstep.registry import DataError, from_start

FORMATS = (".json", ".jsonl", ".csv", ".parquet")

RawRow = tuple[int, Any]
"""The row's number, from 1 (in JSON Lines its line), and what stands there."""


def read_file(address: str) -> bytes:
    """The bytes of a local file or of any fsspec address.

    Raises:
        DataError: The format is not one we read, or there is nothing to read.
    """
    if suffix(address) not in FORMATS:
        raise DataError(
            f"{address}: the format {suffix(address) or 'without an ending'!r} is not read. "
            f"Allowed endings: {', '.join(FORMATS)}."
        )
    target = address if "://" in address else str(from_start(address))
    try:
        with fsspec.open(target, "rb", compression="infer") as stream:
            content: bytes = stream.read()
    except (OSError, ValueError, ImportError) as problem:
        reason = getattr(problem, "strerror", None) or problem or type(problem).__name__
        raise DataError(f"{target}: cannot be read ({reason}).") from None
    return content


def suffix(address: str) -> str:
    """The ending that tells the format; that of a compressed file is passed over."""
    path = PurePosixPath(address.split("::")[0])
    return (path.with_suffix("") if path.suffix.lower() == ".gz" else path).suffix.lower()


def parse_rows(content: bytes, address: str) -> Iterator[RawRow]:
    """The rows in a file's bytes.

    Raises:
        DataError: The content is not what the address's ending says.
    """
    match suffix(address):
        case ".parquet":
            return _parquet_rows(content, address)
        case ".csv":
            return _csv_rows(_text(content, address), address)
        case ".jsonl":
            return _json_lines(_text(content, address), address)
        case _:
            return _json_rows(_text(content, address), address)


def _text(content: bytes, address: str) -> str:
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as problem:
        raise DataError(
            f"{address}: byte {problem.start} is not UTF-8; save it as UTF-8."
        ) from None


def _json_rows(text: str, address: str) -> Iterator[RawRow]:
    try:
        rows = json.loads(text)
    except (ValueError, RecursionError) as problem:  # a number of thousands of digits, too
        raise DataError(
            f"{address}: not valid JSON ({problem}). One object a line goes into a .jsonl file."
        ) from None
    if not isinstance(rows, list):
        raise DataError(f"{address}: holds a JSON {type(rows).__name__}; a list of rows is wanted.")
    yield from enumerate(rows, start=1)


def _json_lines(text: str, address: str) -> Iterator[RawRow]:
    # Not splitlines(): U+2028 and its like may stand unescaped inside a JSON string.
    for number, line in enumerate(text.split("\n"), start=1):
        if line.strip():
            try:
                yield number, json.loads(line)
            except (ValueError, RecursionError) as problem:
                raise DataError(
                    f"{address}: line {number} is not valid JSON ({problem})."
                ) from None


def _csv_rows(text: str, address: str) -> Iterator[RawRow]:
    reader = csv.DictReader(io.StringIO(text), strict=True)
    try:
        for number, row in enumerate(reader, start=1):
            # A cell beyond the header lands under the key None.
            if None in row:
                raise DataError(f"{address}: row {number} has more cells than the header.")
            yield number, {key: value for key, value in row.items() if value not in ("", None)}
    except csv.Error as problem:
        raise DataError(
            f"{address}: not valid CSV after row {reader.line_num} ({problem})."
        ) from None


def _parquet_rows(content: bytes, address: str) -> Iterator[RawRow]:
    import pyarrow
    import pyarrow.parquet

    try:
        table = pyarrow.parquet.read_table(io.BytesIO(content))
    except (pyarrow.ArrowException, OSError) as problem:
        raise DataError(f"{address}: not a Parquet file ({problem}).") from None
    yield from enumerate(table.to_pylist(), start=1)
