"""Worked solutions to build sets from: a registered corpus, or the user's own file."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from misstep.loaders._files import RawRow, suffix
from misstep.loaders._places import MIRROR_VARIABLE, mirror
from misstep.loaders._streaming import stream_rows
from misstep.registry import Corpus, DataError, corpora, find_corpus


def corpus_rows(source: str) -> Iterator[RawRow]:
    """The rows of a corpus one after the other, numbered from 1.

    Args:
        source: A registered corpus, or the address of a JSON, JSONL, CSV or Parquet file.

    Raises:
        DataError: There is nothing to read, or the corpus has another number of rows than is
            pinned; that is known, and said, only after the last row.
        UnknownNameError: An unknown corpus.
    """
    if source not in corpora() and suffix(source):
        yield from stream_rows(source)
        return
    corpus = find_corpus(source)
    files = mirrored_files(source, corpus)
    rows = _from_files(files) if files else _from_hub(source, corpus)
    count = 0
    for count, row in enumerate(rows, start=1):
        yield count, row
    if corpus.rows is not None and count != corpus.rows:
        where = ", ".join(map(str, files)) or corpus.repository
        raise DataError(
            f"{where}: {count:,} rows; {source} is pinned to {corpus.rows:,}. "
            f"To use it on purpose name the file itself: --source {files[0] if files else 'FILE'}"
        )


def mirrored_files(source: str, corpus: Corpus) -> list[Path]:
    """What the offline mirror has of a corpus."""
    folder = mirror() / source
    found = (sorted(folder.glob(pattern)) for pattern in corpus.mirrored)
    return next((files for files in found if files), [])


def _from_files(files: list[Path]) -> Iterator[Any]:
    for file in files:
        for _, row in stream_rows(str(file)):
            yield row


def _from_hub(source: str, corpus: Corpus) -> Iterator[Any]:
    """Out of the hub's cache, or streamed from it."""
    from datasets import load_dataset

    try:
        yield from load_dataset(corpus.repository, split=corpus.split, streaming=True)
    # The libraries beneath raise errors of many kinds for a network that is not there.
    except (OSError, ValueError, RuntimeError, ImportError) as problem:
        reason = (str(problem).strip() or type(problem).__name__).splitlines()[0]
        raise DataError(
            f"The source {source!r} was not found. Looked in:\n"
            f"  {mirror() / source} for {', '.join(corpus.mirrored)} (offline mirror; "
            f"{MIRROR_VARIABLE} names its folder)\n"
            f"  the Hugging Face hub, data set {corpus.repository}: {reason}\n"
            f"On a machine with a network: huggingface-cli download --repo-type dataset "
            f"{corpus.repository}; then name the files, or copy them there."
        ) from None
