"""Joining while the shards still run."""

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib import import_module
from threading import Event, Thread
from zipfile import BadZipFile

import fsspec
from fsspec.implementations.local import LocalFileSystem

from misstep.runs._archive import Archive
from misstep.runs._split_run import SplitRun

_SECONDS = 3
"""Between one look at the logs and the next."""
_GROWTH = 1.1
"""A log is read again when it has grown so much, so that all reading takes a time that is linear
in its size."""


@contextmanager
def gathering(run: SplitRun, archive: Archive) -> Iterator[None]:
    """Take the samples of shards as they come, so that little is left to do when the last ends.

    What was taken is compared with the finished logs when they are joined, and taken again where
    it is not the same.
    """
    ended = Event()
    gatherer = Thread(target=_gather, args=(run, archive, ended))
    gatherer.start()
    try:
        yield
    finally:
        ended.set()
        gatherer.join()


def _gather(run: SplitRun, archive: Archive, ended: Event) -> None:
    # Figures are computed with it: it is loaded in the meantime, too.
    import_module("numpy")
    # What is far away is fetched once, at the end.
    if not isinstance(fsspec.url_to_fs(run.folder)[0], LocalFileSystem):
        return
    read: dict[str, int] = {}
    while not ended.wait(_SECONDS):
        for log in run.logs():
            size = log.size or 0
            if size > _GROWTH * read.get(log.name, 0):
                read[log.name] = size
                # What cannot be read is told of at the end, if it is still there.
                with suppress(OSError, BadZipFile, ValueError):
                    archive.take(log.name)
