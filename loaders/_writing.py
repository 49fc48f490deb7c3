"""Writing files whole or not at all."""

import os
import tempfile
from collections.abc import Mapping
from pathlib import Path

from misstep.registry import DataError


def write_files(contents: Mapping[Path, bytes], cure: str) -> None:
    """Write files, all of them or none; those that are there are replaced.

    Args:
        contents: What goes where; folders are made.
        cure: What to do where a file cannot be written.

    Raises:
        DataError: A file could not be written.
    """
    ready: dict[Path, str] = {}
    target = Path()
    try:
        for target, content in contents.items():
            target.parent.mkdir(parents=True, exist_ok=True)
            with tempfile.NamedTemporaryFile(dir=target.parent, delete=False) as stream:
                ready[target] = stream.name
                stream.write(content)
            os.chmod(stream.name, 0o644)
        for target in list(ready):
            os.replace(ready[target], target)
            del ready[target]
    except OSError as problem:
        raise DataError(f"{target}: cannot be written ({problem.strerror}). {cure}") from None
    finally:
        for left in ready.values():
            Path(left).unlink(missing_ok=True)
