"""A joined log's file, made of the members of others: an .eval file is a zip of JSON.

Samples go from file to file one at a time, so that a log of any size can be joined; reading and
writing whole logs by Inspect takes many times as long, with all of them in memory.
"""

import struct
import tempfile
import zipfile
from collections.abc import Callable, Sequence
from copy import copy
from io import SEEK_CUR
from pathlib import Path
from typing import Any, BinaryIO, Self, cast
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


class Archive:
    """A joined log in the making, in a file that is gone when a `with` ends."""

    def __init__(self) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="misstep-")
        self._whole = Path(self._folder.name) / "whole.eval"
        self._members = ZipFile(self._whole, "w")
        self._samples: dict[str, EvalSample] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._members.close()
        self._folder.cleanup()

    def take(self, log: str) -> list[str]:
        """Take the samples of a log that are not here yet, or are others here.

        They are copied as they are packed: packing them again would take as long as all else here.
        Python's zipfile has no way to do so; this is what its own reading and writing amount to.

        Returns:
            The names of all samples that the log has.

        Raises:
            BadZipFile: A sample is damaged.
        """
        with fsspec.open(log, "rb") as stream, ZipFile(stream) as source:
            # Of members with one name the last one counts.
            names = [name for name in source.NameToInfo if name.startswith(_SAMPLES)]
            for name in names:
                info = source.getinfo(name)
                here = self._members.NameToInfo.get(name)
                if here is None or here.CRC != info.CRC:
                    packed = _packed(source, info)
                    self._samples[name] = _scored(_unpacked(info, packed))
                    self._drop(name)
                    _add(self._members, info, packed)
        return names

    def write(
        self,
        parts: Sequence[str],
        location: str,
        header_of: Callable[[list[EvalSample]], EvalLog],
        place: Callable[[dict[str, Any]], tuple[int, int]],
    ) -> EvalLog:
        """Write a log that has the samples of others; nothing is there until all of it is.

        Args:
            parts: The logs whose samples it has.
            location: Where it goes.
            header_of: Makes the rest of it from its samples, of which only what scoring knows is
                given.
            place: The key that sorts the summaries of samples.
        """
        names = [name for part in parts for name in self.take(part)]
        for name in self._samples.keys() - set(names):
            self._drop(name)
        log = header_of([self._samples[name] for name in names])
        # Inspect itself writes all but the samples.
        bare = Path(self._folder.name) / "bare.eval"
        write_eval_log(log.model_copy(update={"samples": []}), str(bare))
        summaries = sorted((one for part in parts for one in _summaries(part)), key=place)
        with ZipFile(bare) as source:
            for info in source.infolist():
                content = source.read(info)
                if info.filename == _SUMMARIES:
                    content = to_json(summaries, inf_nan_mode="constants")
                self._members.writestr(info, content)
        self._members.close()
        _put(self._whole, location)
        return log.model_copy(update={"samples": None, "location": location})

    def _drop(self, name: str) -> None:
        if info := self._members.NameToInfo.pop(name, None):
            self._members.filelist.remove(info)


def _summaries(log: str) -> list[dict[str, Any]]:
    with fsspec.open(log, "rb") as stream, ZipFile(stream) as source:
        return list(from_json(source.read(_SUMMARIES)))


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
