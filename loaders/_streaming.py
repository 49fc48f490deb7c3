"""Rows of files too large to hold: one after the other, in bounded memory."""

import csv
import json
from collections.abc import Iterator
from typing import IO, Any

import fsspec

from misstep.loaders._files import FORMATS, RawRow, parse_rows, read_file, suffix
from misstep.registry import DataError, from_start

BATCH = 512
"""Rows of a Parquet file that are held at a time."""


def stream_rows(address: str) -> Iterator[RawRow]:
    """The rows of a local file or of any fsspec address, one after the other.

    JSON Lines, CSV and Parquet are read as they are needed, JSON as a whole.

    Raises:
        DataError: The format is not one we read, there is nothing to read, or a row is malformed.
    """
    kind = suffix(address)
    if kind not in FORMATS or kind == ".json":
        yield from parse_rows(read_file(address), address)
        return
    target = address if "://" in address else str(from_start(address))
    try:
        if kind == ".parquet":
            with fsspec.open(target, "rb") as stream:
                yield from _parquet(stream, address)
        else:
            with fsspec.open(target, "rt", encoding="utf-8-sig", newline="\n") as stream:
                yield from (_csv if kind == ".csv" else _lines)(stream, address)
    except UnicodeDecodeError as problem:
        raise DataError(f"{address}: not UTF-8 ({problem.reason}); save it as UTF-8.") from None
    except (OSError, ValueError, ImportError) as problem:
        reason = getattr(problem, "strerror", None) or problem or type(problem).__name__
        raise DataError(f"{target}: cannot be read ({reason}).") from None


def _lines(stream: IO[str], address: str) -> Iterator[RawRow]:
    for number, line in enumerate(stream, start=1):
        if line.strip():
            try:
                row = json.loads(line)
            except (ValueError, RecursionError) as problem:
                raise DataError(
                    f"{address}: line {number} is not valid JSON ({problem})."
                ) from None
            yield number, row


def _csv(stream: IO[str], address: str) -> Iterator[RawRow]:
    reader = csv.DictReader(stream, strict=True)
    try:
        yield from enumerate(reader, start=1)
    except csv.Error as problem:
        raise DataError(
            f"{address}: not valid CSV after line {reader.line_num} ({problem})."
        ) from None


def _parquet(stream: IO[bytes], address: str) -> Iterator[RawRow]:
    import pyarrow
    import pyarrow.parquet

    try:
        file = pyarrow.parquet.ParquetFile(stream)
        batches: Iterator[Any] = file.iter_batches(batch_size=BATCH)
        number = 0
        for batch in batches:
            for row in batch.to_pylist():
                number += 1
                yield number, row
    except pyarrow.ArrowException as problem:
        raise DataError(f"{address}: not a Parquet file ({problem}).") from None
