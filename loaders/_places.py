"""Where the files of a registered source are found, and whether they are what they should be.

The order: the offline mirror (`MISSTEP_DATA`, laid out as `<source>/<file>`), then the source's
home: the Hugging Face cache and the hub itself, or the pinned commit on GitHub.
"""

import os
from hashlib import sha256
from importlib.resources import files
from pathlib import Path

from misstep.loaders._files import parse_rows
from misstep.loaders._github import download
from misstep.registry import DataError, Source, SourceFile

MIRROR_VARIABLE = "MISSTEP_DATA"


def mirror() -> Path:
    """The folder of the offline mirror."""
    named = os.environ.get(MIRROR_VARIABLE)
    if named:
        return Path(named).expanduser()
    cache = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(cache) / "misstep" / "data"


def read_source_file(name: str, source: Source, file: SourceFile, accept: str | None) -> bytes:
    """The bytes of one file of a source, checked against its pin.

    Args:
        name: The source's name.
        source: The source.
        file: The file.
        accept: A checksum that is accepted in place of the pinned one.

    Raises:
        DataError: The file is nowhere to be had, or is not what was pinned.
    """
    path = find_file(name, source, file, accept)
    content = path.read_bytes()
    check_pin(content, file, str(path), accept)
    return content


def check_pin(content: bytes, file: SourceFile, where: str, accept: str | None = None) -> None:
    """Refuse bytes that are not the pinned ones.

    Where no checksum is known the number of rows is the pin.

    Raises:
        DataError: With both values, and the way to accept the other one on purpose.
    """
    found = sha256(content).hexdigest()
    if found in (file.sha256, accept):
        return
    if file.sha256 is not None:
        expected, got = f"sha256 {file.sha256}", f"sha256 {found}"
    else:
        rows = sum(1 for _ in parse_rows(content, where))
        if rows == file.rows and accept is None:
            return
        expected, got = f"{file.rows:,} rows", f"{rows:,} rows, sha256 {found}"
    raise DataError(
        f"{where}: not the file that published numbers were made with.\n"
        f"  expected {expected}\n"
        f"  found    {got}\n"
        f"To run on this file on purpose: -T accept={found}"
    )


def find_file(name: str, source: Source, file: SourceFile, accept: str | None = None) -> Path:
    """The path of a source's file on this machine, downloaded where needed."""
    if source.home == "package":
        return Path(str(files("misstep.loaders"))) / file.path
    if file.mirrored is not None and (mirror() / file.mirrored).is_file():
        return mirror() / file.mirrored
    mirrored = mirror() / name / file.name
    if mirrored.is_file():
        return mirrored
    try:
        if source.home == "github":
            address = f"{source.repository}/{source.revision}/{file.path}"
            return download(address, mirrored, lambda x: check_pin(x, file, address, accept))
        return _from_hub(source, file)
    except OSError as problem:
        reason = (str(problem).strip() or type(problem).__name__).splitlines()[0]
        raise DataError(
            f"The file {file.name!r} of the source {name!r} was not found. Looked in:\n"
            f"  {mirrored} (offline mirror; {MIRROR_VARIABLE} names its folder)\n"
            f"  {_home(source)}: {reason}\n"
            f"On a machine with a network, `misstep data fetch {name}` saves it in the offline "
            f"mirror; copy that folder here and set {MIRROR_VARIABLE} to it."
        ) from None


def _home(source: Source) -> str:
    if source.home == "github":
        return f"GitHub, {source.repository} at {source.revision}"
    return f"the Hugging Face hub and its cache, data set {source.repository}"


def _from_hub(source: Source, file: SourceFile) -> Path:
    """Out of the hub's cache, or downloaded into it; the hub's library resumes what broke off."""
    from huggingface_hub import hf_hub_download
    from huggingface_hub.errors import HfHubHTTPError

    assert source.repository is not None  # noqa: S101 (the model checks it)
    try:
        path = hf_hub_download(
            source.repository, file.path, repo_type="dataset", revision=source.revision
        )
    except HfHubHTTPError as problem:
        raise OSError(str(problem)) from None
    return Path(path)
