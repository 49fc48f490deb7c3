"""Read and write .eval logs one sample at a time.

An .eval log is a zip file of JSON members. Inspect's own writing holds all samples in memory, and
its time grows with the square of their number.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any
from zipfile import ZIP_DEFLATED, ZipFile

import fsspec
from inspect_ai.log import EvalLog, EvalSample, read_eval_log, write_eval_log
from pydantic_core import from_json, to_json

from misstep.scratch import scratch_folder

SAMPLES = "samples/"
"""The folder of the samples in a log."""
SUMMARIES = "summaries.json"


class NewLog:
    """A log that is being written: first its samples, then the header."""

    def __init__(self, archive: ZipFile, folder: Path) -> None:
        self._archive, self._folder = archive, folder

    def add_sample(self, sample: EvalSample) -> None:
        """Write a sample."""
        name = f"{SAMPLES}{sample.id}_epoch_{sample.epoch}.json"
        self.add_member(name, _json(sample))

    def add_member(self, name: str, content: bytes) -> None:
        """Write a sample that another log holds under this name."""
        self._archive.writestr(name, content)

    def finish(self, header: EvalLog, summaries: Sequence[Any]) -> None:
        """Write everything but the samples. Summaries are in the order of the samples."""
        bare = self._folder / "bare.eval"
        write_eval_log(header.model_copy(update={"samples": []}), str(bare))
        with ZipFile(bare) as source:
            for name in source.namelist():
                content = _json(summaries) if name == SUMMARIES else source.read(name)
                self._archive.writestr(name, content)


_EVENTS = b',"events":'
_AFTER_EVENTS = b"attachment://"


def read_sample_objects(location: str) -> Iterator[dict[str, Any]]:
    """Yield the samples of a log as JSON objects without their events, in the order of the file.

    Events are most of a log, and they stand at the end of a sample, so they are not parsed. A text
    that a log keeps among its attachments is put in its place.
    """
    place = location.removeprefix("file://")
    if not place.endswith(".eval") or "://" in place:
        for sample in read_eval_log(location).samples or []:
            yield sample.model_dump(exclude={"events"})
        return
    with ZipFile(place) as archive:
        for name in archive.namelist():
            if name.startswith(SAMPLES):
                yield _sample_object(archive.read(name))


def _sample_object(content: bytes) -> dict[str, Any]:
    end = content.find(_EVENTS)
    if end >= 0 and _AFTER_EVENTS not in content[:end]:
        sample = from_json(content[:end], allow_partial=True)
        if "store" in sample:
            return dict(sample)
    sample = from_json(content)
    sample.pop("events", None)
    kept = sample.get("attachments") or {}
    return dict(_with_attachments(sample, kept)) if kept else dict(sample)


def _with_attachments(content: Any, kept: dict[str, str]) -> Any:  # noqa: ANN401
    if isinstance(content, str):
        mark = _AFTER_EVENTS.decode()
        return (
            kept.get(content.removeprefix(mark), content) if content.startswith(mark) else content
        )
    if isinstance(content, dict):
        return {key: _with_attachments(value, kept) for key, value in content.items()}
    if isinstance(content, list):
        return [_with_attachments(value, kept) for value in content]
    return content


def _json(content: object) -> bytes:
    return to_json(content, exclude_none=True, inf_nan_mode="constants")


@contextmanager
def new_log(location: str) -> Iterator[NewLog]:
    """Yield a log to write. Nothing is at the location until all of the log is."""
    with scratch_folder() as folder:
        whole = folder / "whole.eval"
        # Compressing well takes twice as long and saves a tenth of the space.
        with ZipFile(whole, "w", ZIP_DEFLATED, compresslevel=1) as archive:
            yield NewLog(archive, folder)
        _upload(whole, location)


def _upload(file: Path, location: str) -> None:
    system, path = fsspec.url_to_fs(location)
    system.makedirs(path.rpartition("/")[0], exist_ok=True)
    partial = f"{path}.part"
    try:
        system.put_file(str(file), partial)
        system.mv(partial, path)
    except OSError:
        with suppress(OSError):
            system.rm_file(partial)
        raise
