"""Read and write .eval logs one sample at a time.

An .eval log is a zip file of JSON members. Inspect's own writing holds all samples in memory, and
its time grows with the square of their number.
"""

from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from textwrap import shorten
from typing import Any
from zipfile import ZIP_DEFLATED, ZipFile

import fsspec
from inspect_ai.log import EvalLog, EvalSample, EvalSampleSummary, read_eval_log, write_eval_log
from pydantic_core import from_json, to_json

from misstep.scratch import scratch_folder

SAMPLES = "samples/"
"""The folder of the samples in a log."""
SUMMARIES = "summaries.json"
_MOST_WAITING = 64


class NewLog:
    """A log that is being written: first its samples, then the header."""

    def __init__(self, archive: ZipFile, folder: Path, thread: Executor) -> None:
        self._archive, self._folder, self._thread = archive, folder, thread
        self._writing: deque[Future[None]] = deque()

    def add_sample(self, sample: EvalSample) -> None:
        """Write a sample."""
        name = f"{SAMPLES}{sample.id}_epoch_{sample.epoch}.json"
        self.add_member(name, _json(sample))

    def add_member(self, name: str, content: bytes) -> None:
        """Write a sample that another log holds under this name."""
        # Compression runs without Python's lock. Only a few members wait for it in memory.
        if len(self._writing) == _MOST_WAITING:
            self._writing.popleft().result()
        self._writing.append(self._thread.submit(self._archive.writestr, name, content))

    def finish(self, header: EvalLog, summaries: Sequence[Any]) -> None:
        """Write everything but the samples. Summaries are in the order of the samples."""
        bare = self._folder / "bare.eval"
        write_eval_log(header.model_copy(update={"samples": []}), str(bare))
        with ZipFile(bare) as source:
            for name in source.namelist():
                content = _json(summaries) if name == SUMMARIES else source.read(name)
                self.add_member(name, content)
        while self._writing:
            self._writing.popleft().result()


def text_sample_summary(sample: EvalSample) -> EvalSampleSummary:
    """Return the summary of a finished sample whose input is a text and that called no model.

    It equals Inspect's own summary, which takes several times as long.
    """
    scores = {
        name: score.model_copy(
            update={
                "answer": _short(score.answer),
                "explanation": _short(score.explanation),
                "reason": _short(score.reason),
                "metadata": None if score.metadata is None else _short_values(score.metadata),
            }
        )
        for name, score in (sample.scores or {}).items()
    }
    text = str(sample.input)
    return EvalSampleSummary.model_construct(
        id=sample.id,
        epoch=sample.epoch,
        input=text if len(text) <= _LONGEST_INPUT else sample.summary().input,
        target=sample.target,
        metadata=_short_values(sample.metadata),
        scores=scores,
        uuid=sample.uuid,
        completed=True,
        message_count=len(sample.messages),
    )


_LONGEST, _SCANNED, _LONGEST_INPUT = 1024, 8192, 5120
"""The most characters of a text in a summary, of a text that is read for it, and of an input."""
TOO_LONG = "Key removed from summary (> 1k)"
"""The text that replaces a list or an object that is too long for a summary."""


def _short(text: str | None) -> str | None:
    if text is None:
        return None
    line = " ".join(text[:_SCANNED].split())
    if len(line) <= _LONGEST:
        return line
    # All words but the last are whole. A last word without a hyphen is left out.
    start, end = line.rfind(" ", 0, _LONGEST - 2), line.find(" ", _LONGEST)
    if 0 < start < end <= start + _LONGEST and "-" not in line[start:end]:
        return f"{line[:start]}..."
    return shorten(line, _LONGEST, placeholder="...")


def _short_values(values: Mapping[str, Any]) -> dict[str, Any]:
    return {name: _short_value(value) for name, value in values.items()}


def _short_value(value: Any) -> Any:  # noqa: ANN401
    if isinstance(value, str):
        return _short(value)
    if value is None or isinstance(value, int | float):
        return value
    size = len(to_json(value, indent=2, exclude_none=True).decode())
    return value if size <= _LONGEST else TOO_LONG


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
        with (
            ZipFile(whole, "w", ZIP_DEFLATED, compresslevel=1) as archive,
            ThreadPoolExecutor(1) as thread,
        ):
            yield NewLog(archive, folder, thread)
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
