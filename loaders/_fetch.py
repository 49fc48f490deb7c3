"""Getting a source's files from its home, and saving them in the offline mirror."""

from collections.abc import Iterator
from pathlib import Path

from misstep.loaders._places import MIRROR_VARIABLE, check_pin, find_file, mirror
from misstep.loaders._writing import write_files
from misstep.registry import DataError, find_source


def fetch(name: str) -> Iterator[Path]:
    """Save every file of a source in the offline mirror, and yield its path when it is there.

    What is there already is checked, not downloaded again; a download that breaks off is taken up
    where it stopped by the next call.

    Raises:
        DataError: A file could not be had, is not the pinned one, or could not be written.
    """
    source = find_source(name)
    if source.home == "package":
        raise DataError(f"The source {name!r} comes with this package; there is nothing to fetch.")
    for file in source.files:
        target = mirror() / name / file.name
        found = find_file(name, source, file)
        content = found.read_bytes()
        check_pin(content, file, str(found))
        if found != target:
            write_files({target: content}, f"Set {MIRROR_VARIABLE} to a folder that can.")
        yield target
