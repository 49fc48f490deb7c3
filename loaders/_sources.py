"""Registered sources: where their files are, and whether they are the pinned ones.

Files are looked for in the offline mirror (`MISSTEP_DATA`, laid out as `<source>/<file>`), then in
the source's home: the Hugging Face cache and hub, or the pinned commit on GitHub.
"""

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from glob import glob
from hashlib import sha256
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

from misstep.loaders._files import (
    FORMATS,
    RawRow,
    file_format,
    parse_object,
    parse_rows,
    read_rows,
    write_files,
)
from misstep.loaders._rows import registered_kinds, wrong_kind_message
from misstep.registry import (
    Corpus,
    DataError,
    RowKind,
    Source,
    SourceFile,
    UnknownNameError,
    corpora,
    find_source,
    sources,
    user_path,
    user_registry,
)

if TYPE_CHECKING:
    import httpx

MIRROR_VARIABLE = "MISSTEP_DATA"
OFFLINE_VARIABLE = "HF_HUB_OFFLINE"
"""Turns off downloads from the hub and from GitHub."""

GITHUB = "https://raw.githubusercontent.com"
TIMEOUT = 30.0
"""Seconds without a byte."""
_CONNECT_TIMEOUT = 5.0
"""Seconds until the hub answers."""


@dataclass(frozen=True)
class RowFile:
    """A file of a source."""

    address: str
    rows: Iterator[RawRow]
    entry: SourceFile | None = None
    """Its entry in the registry; None for the user's own file."""


def source_files(
    source: str,
    needed: Sequence[RowKind],
    subsets: Sequence[str] | None = None,
    accept: str | None = None,
    more: Sequence[str] = (),
) -> Iterator[RowFile]:
    """Yield the files of a registered source, checked against their pins, or the user's own file.

    Files of other subsets are skipped. `needed` are the allowed kinds of rows, the usual one first;
    `more` are allowed names besides the registered ones, for messages.
    """
    check_kind(source, needed, more)
    if source in sources():
        entries = find_source(source).all_files
        named = {file.subset for file in entries if file.subset}
        for subset in subsets or ():
            if named and subset not in named:
                raise UnknownNameError("subset", subset, named)
        for file in entries:
            if subsets is None or file.subset is None or file.subset in subsets:
                path = find_file(source, file, accept)
                content = path.read_bytes()
                check_pin(content, file, str(path), accept)
                yield RowFile(str(path), _chosen_rows(content, str(path), file), file)
    elif "*" in source and file_format(source):
        addresses = sorted(glob(str(user_path(source))))
        if not addresses:
            raise DataError(f"{source}: no file has such a name.")
        # Each JSON file is one row.
        one_row = file_format(source) == ".json"
        for address in addresses:
            rows = parse_object(Path(address).read_bytes(), address) if one_row else None
            yield RowFile(address, rows or read_rows(address))
    elif file_format(source):
        yield RowFile(source, read_rows(source))
    else:
        raise _unknown(source, needed, more)


def check_kind(source: str, needed: Sequence[RowKind], more: Sequence[str] = ()) -> None:
    """Raise DataError for a registered source that holds rows of another kind."""
    kind = registered_kinds().get(source)
    if kind is not None and kind not in needed:
        message = wrong_kind_message(f"The source {source!r}", kind, needed, more)
        for name, other in sources().items():
            if other.kind in needed and source in {file.subset for file in other.files}:
                message += f" For the subset of {name}: -T source={name} -T subset={source}"
        raise DataError(message)


def _unknown(source: str, needed: Sequence[RowKind], more: Sequence[str] = ()) -> UnknownNameError:
    known = [name for name, kind in registered_kinds().items() if kind in needed]
    files = f"Or name a file with the extension {', '.join(FORMATS)} or .gz of these."
    return UnknownNameError("source", source, [*known, *more], files)


def mirror() -> Path:
    """Return the folder of the offline mirror."""
    named = os.environ.get(MIRROR_VARIABLE)
    if named:
        return Path(named).expanduser()
    cache = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(cache) / "misstep" / "data"


def fetch(name: str) -> Iterator[Path]:
    """Save every file of a source in the offline mirror, check it, and yield its path."""
    source = find_source(name)
    if source.home in ("package", "file"):
        where = "part of this package" if source.home == "package" else "on this machine"
        raise DataError(f"The source {name!r} is {where}; there is nothing to fetch.")
    for file in source.all_files:
        target = mirror() / name / file.name
        found = find_file(name, file)
        content = found.read_bytes()
        check_pin(content, file, str(found))
        if found != target:
            write_files({target: content}, f"Set {MIRROR_VARIABLE} to a writable folder.")
        yield target


def check_pin(content: bytes, file: SourceFile, where: str, accept: str | None = None) -> None:
    """Raise DataError for bytes that are not the pinned ones; without sha256, rows are counted."""
    found = sha256(content).hexdigest()
    if found in (file.sha256, accept):
        return
    if file.sha256 is not None:
        expected, got = f"sha256 {file.sha256}", f"sha256 {found}"
    else:
        rows = sum(1 for _ in _chosen_rows(content, where, file))
        if rows == file.rows and accept is None:
            return
        expected, got = f"{file.rows:,} rows", f"{rows:,} rows, sha256 {found}"
    raise DataError(
        f"{where}: not the pinned file, which published numbers are based on.\n"
        f"  expected {expected}\n"
        f"  found    {got}\n"
        f"To use this file anyway: -T accept={found}"
    )


def _chosen_rows(content: bytes, address: str, file: SourceFile) -> Iterator[RawRow]:
    """Yield the rows of a file that belong to the source."""
    parse = parse_object if file.numbered else parse_rows
    for number, row in parse(content, address):
        if not isinstance(row, dict) or all(row.get(k) == v for k, v in file.only.items()):
            yield number, row


def find_file(name: str, file: SourceFile, accept: str | None = None) -> Path:
    """Return the path of a source's file on this machine; download the file if needed."""
    source = find_source(name)
    if source.home == "package":
        return Path(str(files("misstep.loaders"))) / file.path
    if source.home == "file":
        path = user_registry() / Path(file.path).expanduser()
        if not path.is_file():
            raise DataError(
                f"{path}: no such file. The source {name!r} in {user_registry() / 'sources.yaml'} "
                "names it; a relative path is relative to that folder."
            )
        return path
    if file.mirrored is not None and (mirror() / file.mirrored).is_file():
        return mirror() / file.mirrored
    mirrored = mirror() / name / file.name
    if mirrored.is_file():
        return mirrored
    try:
        if source.home == "github":
            address = f"{source.repository}/{source.revision}/{file.path}"
            return download(address, mirrored, lambda x: check_pin(x, file, address, accept))
        return _hub_file(source, file)
    except OSError as problem:
        home = (
            f"GitHub, {source.repository} at {source.revision}"
            if source.home == "github"
            else f"the Hugging Face hub and its cache, data set {source.repository}"
        )
        raise _not_found(
            f"file {file.name!r} of the source {name!r}",
            str(mirrored),
            home,
            problem,
            f"run `misstep data fetch {name}`, which saves it in the offline mirror. Copy that "
            f"folder to this machine and set {MIRROR_VARIABLE} to it.",
        ) from None


def _not_found(what: str, mirrored: str, home: str, problem: Exception, cure: str) -> DataError:
    reason = (str(problem).strip() or type(problem).__name__).splitlines()[0]
    return DataError(
        f"The {what} was not found. Looked in:\n"
        f"  {mirrored} (offline mirror; {MIRROR_VARIABLE} names its folder)\n"
        f"  {home}: {reason}\n"
        f"On a machine with a network, {cure}"
    )


def _hub_file(source: Source, file: SourceFile) -> Path:
    """Return a file from the hub's cache or the hub; the hub's library resumes downloads."""
    from huggingface_hub import hf_hub_download
    from huggingface_hub.errors import HfHubHTTPError, LocalEntryNotFoundError

    assert source.repository is not None  # noqa: S101 (the model checks it)
    unreachable = _hub_problem()
    try:
        path = hf_hub_download(
            source.repository,
            file.path,
            repo_type="dataset",
            revision=source.revision,
            local_files_only=unreachable is not None,
        )
    except LocalEntryNotFoundError as problem:
        raise OSError(unreachable or str(problem)) from None
    except HfHubHTTPError as problem:
        raise OSError(str(problem)) from None
    return Path(path)


def _hub_problem() -> str | None:
    """Return why the hub cannot be reached, or None. Its library would retry for 25 seconds."""
    import httpx
    from huggingface_hub.constants import ENDPOINT

    if _is_offline():
        return f"skipped because {OFFLINE_VARIABLE} is set"
    try:
        httpx.head(ENDPOINT, timeout=_CONNECT_TIMEOUT)
    except httpx.HTTPError as problem:
        return f"{ENDPOINT} cannot be reached ({problem or type(problem).__name__})"
    return None


def _is_offline() -> bool:
    return os.environ.get(OFFLINE_VARIABLE, "").lower() in ("1", "true", "yes", "on")


def download(address: str, target: Path, check: Callable[[bytes], None]) -> Path:
    """Save a file from GitHub, complete and checked or not at all; raise OSError if that fails.

    A download that breaks off leaves `<target>.part`; the next call requests the rest.
    """
    import httpx

    if _is_offline():
        raise OSError(f"skipped because {OFFLINE_VARIABLE} is set")
    part = target.with_name(f"{target.name}.part")
    target.parent.mkdir(parents=True, exist_ok=True)
    try:
        with httpx.Client(follow_redirects=True, timeout=TIMEOUT) as client:
            _append(client, f"{GITHUB}/{address}", part)
    except httpx.HTTPError as problem:
        raise OSError(f"{problem or type(problem).__name__} ({GITHUB}/{address})") from None
    try:
        check(part.read_bytes())
    except DataError:
        # Resuming a wrong file cannot make it right.
        part.unlink()
        raise
    os.replace(part, target)
    return target


def _append(client: "httpx.Client", url: str, part: Path) -> None:
    """Append the missing bytes to the part; begin again if the server cannot resume."""
    have = part.stat().st_size if part.is_file() else 0
    # A range counts the bytes that are sent, so compressed bytes could not be resumed.
    headers = {"Accept-Encoding": "identity"}
    if have:
        headers["Range"] = f"bytes={have}-"
    with client.stream("GET", url, headers=headers) as response:
        if response.status_code == 416:
            # The part is at least as long as the file, so it may be wrong.
            part.unlink()
            return _append(client, url, part)
        response.raise_for_status()
        with part.open("ab" if response.status_code == 206 else "wb") as stream:
            for piece in response.iter_bytes():
                stream.write(piece)


def corpus_rows(source: str) -> Iterator[RawRow]:
    """Yield the rows of a registered corpus or of a file with worked solutions, numbered from 1.

    The number of rows of a corpus is checked after the last one.
    """
    check_kind(source, ("solution",))
    if source not in corpora():
        if file_format(source):
            yield from read_rows(source)
            return
        raise _unknown(source, ("solution",))
    corpus = corpora()[source]
    folder = mirror() / source
    found = (sorted(folder.glob(pattern)) for pattern in corpus.mirrored)
    paths = next((paths for paths in found if paths), [])
    rows = (row for path in paths for _, row in read_rows(str(path)))
    count = 0
    for count, row in enumerate(rows if paths else _hub_corpus(source, corpus), start=1):
        yield count, row
    if corpus.rows is not None and count != corpus.rows:
        where = ", ".join(map(str, paths)) or corpus.repository
        raise DataError(
            f"{where}: {count:,} rows; {source} is pinned to {corpus.rows:,}. "
            f"To use these rows anyway: --source {paths[0] if paths else 'FILE'}"
        )


def _hub_corpus(source: str, corpus: Corpus) -> Iterator[Any]:
    """Yield rows from the hub's cache or the hub."""
    try:
        if unreachable := _hub_problem():
            raise OSError(unreachable)
        from datasets import load_dataset

        yield from load_dataset(corpus.repository, split=corpus.split, streaming=True)
    # Without a network, the libraries raise errors of many kinds.
    except (OSError, ValueError, RuntimeError, ImportError) as problem:
        raise _not_found(
            f"source {source!r}",
            f"{mirror() / source} for {', '.join(corpus.mirrored)}",
            f"the Hugging Face hub, data set {corpus.repository}",
            problem,
            f"run `huggingface-cli download --repo-type dataset {corpus.repository}`. Copy the "
            "files to the offline mirror, or name them.",
        ) from None
