"""The one reader of files: JSON, JSON Lines, CSV and Parquet, and `.gz` of each. And a safe writer.

Files are not trusted: nothing in them is executed, and every file that cannot be read is refused
with a message.

A folder can be locked, so that two commands do not do the same work at once. The operating system
holds the lock and releases it when the process ends, however it ends: there are no stale locks. The
lock file says who holds it. Folders of other computers (`s3://…`) and systems without such locks
are not locked.
"""

import csv
import io
import json
import logging
import os
import re
import socket
import stat
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from errno import EACCES, EAGAIN, EISDIR
from pathlib import Path, PurePosixPath
from typing import IO, Any

import fsspec

from misstep.registry import MAX_SIZE, DataError, MisstepError, max_expanded_size, user_path

FORMATS = (".json", ".jsonl", ".csv", ".parquet")

RawRow = tuple[int, Any]
"""A row's number from 1 (in JSON Lines the line number), and its content."""

_BATCH = 512
"""Rows of a Parquet file that are in memory at a time."""
_MAX_EXPANDED = 4 << 30
_COMPRESSED = (".gz", ".bz2", ".xz", ".lzma", ".zip", ".zst")
_BUFFER = 1 << 20
"""Bytes that are read at a time."""


Refuse = Callable[[int, str], None]
"""A function that is called with the number and the problem of a bad line or row."""

_LONE_SURROGATE = re.compile("[\ud800-\udfff]")


def file_format(address: str) -> str:
    """Return the file name's extension in lower case; that before `.gz` for a compressed file."""
    # fsspec chains addresses: `zip://rows.jsonl::archive.zip`, `simplecache::s3://bucket/rows.csv`.
    for part in map(PurePosixPath, address.split("::")):
        if part.suffix:
            is_compressed = part.suffix.lower() == ".gz"
            return (part.with_suffix("") if is_compressed else part).suffix.lower()
    return ""


def read_rows(address: str, refuse: Refuse | None = None) -> Iterator[RawRow]:
    """Yield the rows of a local file or any fsspec address; raise DataError if that fails.

    With `refuse`, a line that cannot be read is given to it, and reading continues. Memory is
    bounded, except for JSON and compressed Parquet, which are read as a whole.
    """
    if file_format(address) not in FORMATS:
        raise DataError(
            f"{address}: unknown file format {file_format(address) or '(no extension)'!r}. "
            f"Allowed extensions: {', '.join(FORMATS)}, each also with .gz."
        )
    target = address if "://" in address else str(user_path(address))
    try:
        with fsspec.open(target, "rb", compression="infer") as stream:
            is_compressed = target.lower().endswith(_COMPRESSED)
            bounded: Any = _Bounded(stream, address) if is_compressed else stream
            yield from _rows(bounded, address, refuse)
    except DataError:
        raise
    except Exception as problem:  # each file system and archive has errors of its own
        reason = getattr(problem, "strerror", None) or f"{type(problem).__name__}: {problem}"
        raise DataError(f"{target}: cannot be read ({reason}).") from None


class _Bounded(io.RawIOBase):
    """A compressed file that is read up to a size: a small file can expand to a huge one."""

    def __init__(self, stream: IO[bytes], address: str) -> None:
        self._stream, self._address, self._read = stream, address, 0
        self._most = max_expanded_size() or _MAX_EXPANDED

    def readable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = 0) -> int:
        self._read = 0
        return self._stream.seek(offset, whence)

    def readinto(self, buffer: Any) -> int:  # noqa: ANN401
        content = self._stream.read(len(buffer))
        self._read += len(content)
        if self._read > self._most:
            raise DataError(
                f"{self._address}: it expands to more than {self._most:,} bytes. If you trust the "
                f"file, set {MAX_SIZE} (or --max-size of misstep's commands) to the number of "
                "bytes that you allow."
            )
        buffer[: len(content)] = content
        return len(content)


def parse_rows(content: bytes, address: str) -> Iterator[RawRow]:
    """Yield the rows in the uncompressed bytes of a file; the address tells the format."""
    return _rows(io.BytesIO(content), address)


def _rows(stream: IO[bytes], address: str, refuse: Refuse | None = None) -> Iterator[RawRow]:
    def stop(number: int, problem: str) -> None:
        raise DataError(f"{address}: line {number}: {problem}.")

    if file_format(address) == ".jsonl":
        return _json_lines(stream, refuse or stop)
    if file_format(address) == ".csv":
        return _csv_rows(stream, address, refuse or stop)
    if file_format(address) == ".parquet":
        return _parquet_rows(stream, address)
    return _json_rows(stream, address, refuse or stop)


def _decoded(text: str) -> Any:  # noqa: ANN401
    """Return the content of a JSON text, with U+FFFD for each lone surrogate.

    A reply that was cut inside an emoji has one, and UTF-8 cannot hold it.
    """
    content = json.loads(text)
    if "\\ud" in text or "\\uD" in text:
        whole = _LONE_SURROGATE.sub("\ufffd", json.dumps(content, ensure_ascii=False))
        return json.loads(whole)
    return content


def read_object(address: str) -> dict[str, Any]:
    """Return the object in a JSON file, as it is."""
    try:
        content = user_path(address).read_bytes()
    except OSError as problem:
        raise DataError(f"{address}: cannot be read ({problem.strerror}).") from None
    return next(parse_object(content, address))[1]  # type: ignore[no-any-return]


def parse_object(content: bytes, address: str) -> Iterator[RawRow]:
    """Yield the one row of a JSON file that is an object, with the file's path as `file`."""
    try:
        row = _decoded(content.decode("utf-8-sig"))
    except (ValueError, RecursionError) as problem:
        raise DataError(f"{address}: not valid JSON in UTF-8 ({problem}).") from None
    if not isinstance(row, dict):
        raise DataError(f"{address}: contains a JSON {type(row).__name__}; an object is needed.")
    yield 1, {"file": address, **row}


def _json_rows(stream: IO[bytes], address: str, refuse: Refuse) -> Iterator[RawRow]:
    content = stream.read()
    try:
        rows = _decoded(content.decode("utf-8-sig"))
    except UnicodeDecodeError as problem:
        raise DataError(
            f"{address}: byte {problem.start} is not UTF-8; save the file as UTF-8."
        ) from None
    except (ValueError, RecursionError) as problem:  # also a number of thousands of digits
        if _is_object(content.partition(b"\n")[0]):
            # Some benchmarks name files of JSON lines .json.
            yield from _json_lines(io.BytesIO(content), refuse)
            return
        raise DataError(
            f"{address}: not valid JSON ({problem}). If each line is an object, name it .jsonl."
        ) from None
    if isinstance(rows, dict) and rows and all(isinstance(x, list) for x in rows.values()):
        rows = list(_listed_rows(rows))
    if not isinstance(rows, list):
        raise DataError(f"{address}: contains a JSON {type(rows).__name__}; a list is needed.")
    yield from enumerate(rows, start=1)


def _is_object(line: bytes) -> bool:
    try:
        return isinstance(json.loads(line), dict)
    except (ValueError, RecursionError):
        return False


def _listed_rows(lists: Mapping[str, list[Any]]) -> Iterator[Any]:
    """Yield the rows of several lists, such as the solutions of each question.

    A row gets the key of its list and its place in it.
    """
    for key, rows in lists.items():
        for place, row in enumerate(rows):
            yield {**row, "key": key, "place": place} if isinstance(row, dict) else row


def _json_lines(stream: IO[bytes], refuse: Refuse) -> Iterator[RawRow]:
    for number, line in enumerate(_lines(stream, refuse), start=1):
        if line.strip():
            try:
                row = _decoded(line)
            except (ValueError, RecursionError) as problem:
                refuse(number, f"not valid JSON ({getattr(problem, 'msg', problem)})")
            else:
                yield number, row


def _csv_rows(stream: IO[bytes], address: str, refuse: Refuse) -> Iterator[RawRow]:
    reader = csv.DictReader(_lines(stream, refuse), strict=True)
    try:
        for number, row in enumerate(reader, start=1):
            # Cells beyond the header have the key None.
            if None in row:
                refuse(reader.line_num, "more cells than the header")
            else:
                yield number, {key: value for key, value in row.items() if value not in ("", None)}
    except csv.Error as problem:
        raise DataError(
            f"{address}: not valid CSV at line {reader.line_num} ({problem})."
        ) from None


def _lines(stream: IO[bytes], refuse: Refuse) -> Iterator[str]:
    """Yield lines of text, an empty one for a line that is refused.

    Only LF ends a line: U+2028 may stand inside a JSON string.
    """
    buffered = io.BufferedReader(stream, _BUFFER)  # type: ignore[type-var]
    for number, line in enumerate(buffered, start=1):
        try:
            text = line.decode("utf-8-sig" if number == 1 else "utf-8")
        except UnicodeDecodeError:
            refuse(number, "not UTF-8; save the file as UTF-8")
            text = "\n"
        yield text


def _parquet_rows(stream: IO[bytes], address: str) -> Iterator[RawRow]:
    import pyarrow
    import pyarrow.parquet

    try:
        try:
            file = pyarrow.parquet.ParquetFile(stream)
        except (ValueError, OSError):
            # Parquet is read from its end. Compressed files and some servers do not support that.
            stream.seek(0)
            file = pyarrow.parquet.ParquetFile(io.BytesIO(stream.read()))
        number = 0
        for batch in file.iter_batches(batch_size=_BATCH):
            for row in batch.to_pylist():
                number += 1
                yield number, row
    except (pyarrow.ArrowException, OSError, ValueError, OverflowError) as problem:
        raise DataError(f"{address}: not a valid Parquet file ({problem}).") from None


def json_lines(rows: Iterable[Mapping[str, Any]]) -> str:
    """Return rows as JSON Lines."""
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)


def _check_target(target: Path) -> None:
    """Raise OSError if a file cannot be there: a folder is, or the name is too long."""
    try:
        is_folder = stat.S_ISDIR(os.lstat(target).st_mode)
    except FileNotFoundError:
        return
    if is_folder:
        raise IsADirectoryError(EISDIR, os.strerror(EISDIR), str(target))


def write_files(contents: Mapping[Path, bytes], cure: str) -> None:
    """Write all files or none, and create their folders; an error ends with the cure.

    A device or a pipe, such as /dev/stdout, is written to; it is never replaced.
    """
    ready: dict[Path, str] = {}
    streams: list[Path] = []
    target = Path()
    try:
        for target, content in contents.items():
            if target.exists() and not target.is_file() and not target.is_dir():
                streams.append(target)
                continue
            target.parent.mkdir(parents=True, exist_ok=True)
            with tempfile.NamedTemporaryFile(dir=target.parent, delete=False) as stream:
                ready[target] = stream.name
                stream.write(content)
            os.chmod(stream.name, 0o644)
        for target in ready:
            _check_target(target)
        for target in list(ready):
            os.replace(ready[target], target)
            del ready[target]
        for target in streams:
            target.write_bytes(contents[target])
    except OSError as problem:
        raise DataError(f"{target}: cannot be written ({problem.strerror}). {cure}") from None
    finally:
        for left in ready.values():
            Path(left).unlink(missing_ok=True)


logger = logging.getLogger(__name__)

LOCK_FILE = ".misstep.lock"


@contextmanager
def folder_lock(folder: str | Path, wait: bool = False) -> Iterator[None]:
    """Hold the lock of a folder inside the `with` block.

    If another process holds it, wait for it, or raise an error that says who it is.
    """
    place = str(folder).removeprefix("file://")
    if "://" in place:
        yield
        return
    path = Path(place) / LOCK_FILE
    is_new = not path.parent.exists()
    file = _locked(path, wait)
    try:
        yield
    finally:
        if file is not None:
            # Before the lock is released: another process may lock a new file of that name next.
            path.unlink(missing_ok=True)
            os.close(file)
        if is_new:
            with suppress(OSError):  # It stays if it holds anything.
                path.parent.rmdir()


def _locked(path: Path, wait: bool) -> int | None:
    """Return the open file that holds the lock; None if this system cannot lock files there."""
    try:
        import fcntl
    except ImportError:  # Windows
        return None
    while True:
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            try:
                file = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
            except FileNotFoundError:  # Another process has just deleted the empty folder.
                continue
        except OSError as problem:
            raise DataError(
                f"{path.parent}: cannot be written ({problem.strerror}). "
                "Choose a folder that can be written: -o DIR, or --log-dir DIR for logs."
            ) from None
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as problem:
            if problem.errno not in (EAGAIN, EACCES):
                os.close(file)  # This file system has no locks.
                return None
            holder = _holder(file)
            if not wait:
                os.close(file)
                raise MisstepError(
                    f"{path.parent}: in use by {holder}. Wait until it ends, then run the same "
                    "command again; or choose another folder."
                ) from None
            logger.warning("%s: in use by %s. Waiting until it ends.", path.parent, holder)
            fcntl.flock(file, fcntl.LOCK_EX)
        if _is_at(file, path):
            record = {"pid": os.getpid(), "host": socket.gethostname()}
            record["since"] = f"{datetime.now(UTC):%Y-%m-%d %H:%M:%S} UTC"
            os.truncate(file, 0)
            os.pwrite(file, json.dumps(record).encode(), 0)
            return file
        os.close(file)  # The previous holder deleted it.


def _is_at(file: int, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(file), os.stat(path))
    except OSError:
        return False


def _holder(file: int) -> str:
    """Return who holds a lock, in words. The content of the file is not trusted."""
    try:
        record = json.loads(os.pread(file, 1000, 0))
        return f"process {record['pid']} on {record['host']} since {record['since']}"
    except (OSError, ValueError, TypeError, KeyError):
        return "another process"
