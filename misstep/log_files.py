"""Write .eval logs one sample at a time.

An .eval log is a zip file of JSON members. Inspect's own writing holds all samples in memory, and
its time grows with the square of their number.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any
from zipfile import ZIP_DEFLATED, ZipFile

import fsspec
from inspect_ai.log import EvalLog, EvalSample, write_eval_log
from pydantic_core import to_json

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
