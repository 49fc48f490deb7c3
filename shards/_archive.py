"""A joined log's file, made of the members of others: an .eval file is a zip of JSON.

Samples go from file to file one at a time, so that a log of any size can be joined; reading and
writing whole logs by Inspect takes many times as long, with all of them in memory.
"""

import json
import struct
import tempfile
from collections.abc import Callable, Iterator, Sequence
from copy import copy
from io import SEEK_CUR
from pathlib import Path
from typing import Any, BinaryIO, cast
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

import fsspec

# It teaches zipfile the compression of logs, too.
from inspect_ai.log import EvalLog, EvalSample, write_eval_log
from pydantic_core import from_json

_SAMPLES = "samples/"
_SUMMARIES = "summaries.json"
_LOCAL_HEADER = struct.Struct("<4s5H3L2H")
_LENGTH_BEHIND = 0x08
_SCORED = ("id", "epoch", "scores", "metadata", "error")
"""What metrics look at."""


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
        with ZipFile(whole, "w", ZIP_DEFLATED) as archive:
            for part in parts:
                with fsspec.open(part, "rb") as stream, ZipFile(stream) as source:
                    samples += map(_scored, _copied(source, archive))
                    summaries += json.loads(source.read(_SUMMARIES))
            log = header_of(samples)
            # Inspect itself writes all but the samples.
            write_eval_log(log.model_copy(update={"samples": []}), str(bare))
            with ZipFile(bare) as source:
                for info in source.infolist():
                    if info.filename != _SUMMARIES:
                        archive.writestr(info, source.read(info))
            archive.writestr(_SUMMARIES, json.dumps(sorted(summaries, key=place)))
        _put(whole, location)
    return log.model_copy(update={"samples": None, "location": location})


def _copied(source: ZipFile, target: ZipFile) -> Iterator[bytes]:
    """The samples of an archive, each after it was copied to another."""
    # Of members with one name the last one counts.
    for name in dict.fromkeys(source.namelist()):
        if name.startswith(_SAMPLES):
            content = source.read(name)
            _copy_packed(source, target, source.getinfo(name))
            yield content


def _copy_packed(source: ZipFile, target: ZipFile, info: ZipInfo) -> None:
    """Copy a member as it is packed: packing it again would take as long as all else here.

    Python's zipfile has no way to do so; this is what its own writing amounts to.
    """
    reader, writer = cast(BinaryIO, source.fp), cast(BinaryIO, target.fp)
    reader.seek(info.header_offset)
    *_, name_length, extra_length = _LOCAL_HEADER.unpack(reader.read(_LOCAL_HEADER.size))
    reader.seek(name_length + extra_length, SEEK_CUR)
    copied = copy(info)
    # Its header says how long it is, so nothing behind it need say so.
    copied.flag_bits &= ~_LENGTH_BEHIND
    writer.seek(target.start_dir)
    copied.header_offset = writer.tell()
    writer.write(copied.FileHeader())
    writer.write(reader.read(info.compress_size))
    target.start_dir = writer.tell()
    target.filelist.append(copied)
    target.NameToInfo[copied.filename] = copied


def _scored(content: bytes) -> EvalSample:
    sample = from_json(content)
    known = {name: sample[name] for name in _SCORED if name in sample}
    return EvalSample(input="", target="", **known)


def _put(file: Path, location: str) -> None:
    system, path = fsspec.url_to_fs(location)
    partial = f"{path}.part"
    system.put_file(str(file), partial)
    system.mv(partial, path)
