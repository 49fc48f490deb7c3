"""A joined log's file, made of the members of others: an .eval file is a zip of JSON.

Samples go from file to file one at a time, so that a log of any size can be joined; reading and
writing whole logs by Inspect takes many times as long, with all of them in memory.
"""

import struct
import tempfile
import zipfile
from collections.abc import Callable, Iterator, Sequence
from copy import copy
from io import SEEK_CUR
from pathlib import Path
from typing import Any, BinaryIO, cast
from zipfile import BadZipFile, ZipFile, ZipInfo
from zlib import crc32

import fsspec

# It teaches zipfile the compression of logs, too.
from inspect_ai.log import EvalError, EvalLog, EvalSample, write_eval_log
from inspect_ai.scorer import Score
from pydantic import BaseModel
from pydantic_core import from_json, to_json

_SAMPLES = "samples/"
_SUMMARIES = "summaries.json"
_LOCAL_HEADER = struct.Struct("<4s5H3L2H")
_LENGTH_BEHIND = 0x08


class _Scored(BaseModel):
    """What metrics look at in a sample."""

    id: int | str
    epoch: int
    scores: dict[str, Score] | None = None
    metadata: dict[str, Any] = {}
    error: EvalError | None = None


_BLANK = EvalSample(id="", epoch=1, input="", target="")


def write_archive(
    parts: Sequence[str],
    location: str,
    header_of: Callable[[list[EvalSample]], EvalLog],
    place: Callable[[dict[str, Any]], tuple[int, int]],
) -> EvalLog:
    """Write a log that has the samples of others; nothing is there until all of it is.

    Args:
        parts: The logs whose samples it has.
        location: Where it goes.
        header_of: Makes the rest of it from its samples, of which only what scoring knows is given.
        place: The key that sorts the summaries of samples.
    """
    with tempfile.TemporaryDirectory(prefix="misstep-") as folder:
        whole, bare = Path(folder) / "whole.eval", Path(folder) / "bare.eval"
        samples: list[EvalSample] = []
        summaries: list[dict[str, Any]] = []
        with ZipFile(whole, "w") as archive:
            for part in parts:
                with fsspec.open(part, "rb") as stream, ZipFile(stream) as source:
                    samples += map(_scored, _copied(source, archive))
                    summaries += from_json(source.read(_SUMMARIES))
            log = header_of(samples)
            # Inspect itself writes all but the samples.
            write_eval_log(log.model_copy(update={"samples": []}), str(bare))
            summaries.sort(key=place)
            with ZipFile(bare) as source:
                for info in source.infolist():
                    content = source.read(info)
                    if info.filename == _SUMMARIES:
                        content = to_json(summaries, inf_nan_mode="constants")
                    archive.writestr(info, content)
        _put(whole, location)
    return log.model_copy(update={"samples": None, "location": location})


def _copied(source: ZipFile, target: ZipFile) -> Iterator[bytes]:
    """The samples of an archive, each after it was copied to another.

    They are copied as they are packed: packing them again would take as long as all else here.
    Python's zipfile has no way to do so; this is what its own reading and writing amount to.

    Raises:
        BadZipFile: A sample is damaged.
    """
    # Of members with one name the last one counts.
    for name in dict.fromkeys(source.namelist()):
        if name.startswith(_SAMPLES):
            info = source.getinfo(name)
            packed = _packed(source, info)
            content = _unpacked(info, packed)
            _add(target, info, packed)
            yield content


def _packed(source: ZipFile, info: ZipInfo) -> bytes:
    reader = cast(BinaryIO, source.fp)
    reader.seek(info.header_offset)
    *_, name_length, extra_length = _LOCAL_HEADER.unpack(reader.read(_LOCAL_HEADER.size))
    reader.seek(name_length + extra_length, SEEK_CUR)
    return reader.read(info.compress_size)


def _unpacked(info: ZipInfo, packed: bytes) -> bytes:
    # None where it is stored as it is.
    method: Any = zipfile._get_decompressor(info.compress_type)  # type: ignore[attr-defined]
    content = packed if method is None else method.decompress(packed) + method.flush()
    if crc32(content) != info.CRC:
        raise BadZipFile(f"the CRC of {info.filename} is not that of its content")
    return content


def _add(target: ZipFile, info: ZipInfo, packed: bytes) -> None:
    writer = cast(BinaryIO, target.fp)
    added = copy(info)
    # Its header says how long it is, so nothing behind it need say so.
    added.flag_bits &= ~_LENGTH_BEHIND
    writer.seek(target.start_dir)
    added.header_offset = writer.tell()
    writer.write(added.FileHeader())
    writer.write(packed)
    target.start_dir = writer.tell()
    target.filelist.append(added)
    target.NameToInfo[added.filename] = added


def _scored(content: bytes) -> EvalSample:
    return _BLANK.model_copy(update=dict(_Scored.model_validate_json(content)))


def _put(file: Path, location: str) -> None:
    system, path = fsspec.url_to_fs(location)
    partial = f"{path}.part"
    system.put_file(str(file), partial)
    system.mv(partial, path)
