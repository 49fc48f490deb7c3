"""First-error rows as Inspect samples."""

import logging
from collections import Counter
from collections.abc import Iterator
from pathlib import PurePosixPath

from inspect_ai.dataset import MemoryDataset, Sample

from misstep.generator import solutions
from misstep.loaders._deltabench import PROBLEMS
from misstep.loaders._files import parse_rows, read_file, suffix
from misstep.loaders._places import read_source_file
from misstep.loaders._rows import SHOWN, BadRow, Row, account, check_rows
from misstep.registry import DataError, Generated, Source, SourceFile, UnknownNameError, sources
from misstep.verdicts import NO_ERROR

logger = logging.getLogger(__name__)


def first_error_dataset(
    source: str,
    subset: str | None = None,
    exclude_label_errors: bool = False,
    accept: str | None = None,
    exclude_misfits: bool = False,
) -> MemoryDataset:
    """Load rows as samples: the problem as input, the label as target, the steps as metadata.

    Args:
        source: A registered source, or the address of the user's own file.
        subset: Only the rows of this subset.
        exclude_label_errors: Leave out the rows whose labels are reported to be wrong.
        accept: The sha256 of a file to accept in place of a registered source's pinned one.
        exclude_misfits: Leave out the rows whose annotations do not fit their sections.

    Raises:
        DataError: Rows that are missing, changed or malformed.
        UnknownNameError: An unknown source or subset.
    """
    rows = warned_of_misfits(load_rows(source, subset, accept), exclude_misfits)
    if exclude_label_errors:
        rows = _without_label_errors(source, rows)
    _warn_of_empty_sets(rows)
    return MemoryDataset([sample_of(row) for row in rows], name=dataset_name(source, subset))


def dataset_name(source: str, subset: str | None) -> str:
    """What the log calls the data."""
    name = source if source in sources() else PurePosixPath(source).name
    return f"{name}-{subset}" if subset else name


def warned_of_misfits(rows: list[Row], exclude: bool) -> list[Row]:
    """The rows, or those whose annotations fit; a warning tells how many do not."""
    misfits = [row.id for row in rows if row.extra.get(PROBLEMS)]
    if misfits:
        logger.warning(
            "The annotations of %d of %d rows do not fit their sections (%s): %s.",
            len(misfits),
            len(rows),
            ", ".join(misfits[:SHOWN]) + (", …" if len(misfits) > SHOWN else ""),
            "left out" if exclude else f"kept, and flagged as {PROBLEMS} in their metadata",
        )
    return [row for row in rows if not (exclude and row.extra.get(PROBLEMS))]


def load_rows(source: str, subset: str | None = None, accept: str | None = None) -> list[Row]:
    """The checked rows of a source."""
    known = sources()
    if source in known:
        rows = list(_registered_rows(source, known[source], subset, accept))
    elif suffix(source):
        rows = _checked(read_file(source), source)
    else:
        raise UnknownNameError("source (nor is it a file)", source, known)
    if subset is None:
        return rows
    chosen = [row for row in rows if row.subset == subset]
    if not chosen:
        raise UnknownNameError("subset", subset, {row.subset for row in rows if row.subset})
    return chosen


def _registered_rows(
    name: str, source: Source, subset: str | None, accept: str | None
) -> Iterator[Row]:
    named = {file.subset for file in source.files if file.subset}
    if named and subset is not None and subset not in named:
        raise UnknownNameError("subset", subset, named)
    for file in source.files:
        if subset is None or file.subset in (None, subset):
            content = read_source_file(name, source, file, accept)
            rows = _checked(content, file.path)
            _check_counts(rows, file, accepted=accept is not None)
            for row in rows:
                yield row if row.subset else row.model_copy(update={"subset": file.subset})
    if source.generated and subset in (None, source.generated.subset):
        yield from _generated_rows(source.generated)


def _generated_rows(wanted: Generated) -> Iterator[Row]:
    made = (one.row() | {"subset": wanted.subset} for one in solutions(wanted.seed, wanted.rows))
    rows, _ = check_rows(enumerate(made, start=1))
    yield from rows


def check_file(address: str) -> tuple[list[Row], list[BadRow]]:
    """The good rows of the user's own file, and everything that is wrong with the others.

    Raises:
        DataError: The file cannot be read at all, or holds no rows.
    """
    return _check(read_file(address), address)


def _check(content: bytes, address: str) -> tuple[list[Row], list[BadRow]]:
    rows, bad = check_rows(parse_rows(content, address))
    if not rows and not bad:
        raise DataError(f"{address}: holds no rows.")
    return rows, bad


def _checked(content: bytes, address: str) -> list[Row]:
    rows, bad = _check(content, address)
    if bad:
        raise DataError(account(address, bad, f"`misstep data check {address}` lists all"))
    return rows


def _check_counts(rows: list[Row], file: SourceFile, accepted: bool) -> None:
    """The number of rows, of rows with an error and by subset, as published."""
    errors = sum(row.label != NO_ERROR for row in rows)
    found, expected = (len(rows), errors), (file.rows, file.errors)
    subsets = dict(Counter(row.subset for row in rows))
    if (
        found[0] != expected[0]
        or expected[1] not in (None, found[1])
        or (file.subsets and subsets != file.subsets)
    ):
        message = f"{file.name}: {found[0]} rows, {found[1]} with an error; pinned are {expected}."
        if file.subsets:
            message += f" By subset: {subsets}; pinned are {file.subsets}."
        if not accepted:
            raise DataError(message)
        logger.warning(message)


def _without_label_errors(source: str, rows: list[Row]) -> list[Row]:
    known = sources()[source].known_label_errors if source in sources() else {}
    kept = [row for row in rows if row.id not in known]
    left_out = [f"{row.id} ({known[row.id]})" for row in rows if row.id in known]
    logger.warning("Left out for their labels: %s", ", ".join(left_out) or "no row")
    return kept


def _warn_of_empty_sets(rows: list[Row]) -> None:
    errors = sum(row.label != NO_ERROR for row in rows)
    for count, kind, name in (
        (errors, "with an error", "error_accuracy"),
        (len(rows) - errors, "without an error", "correct_accuracy"),
    ):
        if count == 0:
            logger.warning("No row is %s: %s and f1_score are undefined (nan).", kind, name)


def sample_of(row: Row) -> Sample:
    """The sample of a row: the problem, its label, and the rest as metadata."""
    return Sample(
        id=row.id,
        input=row.problem,
        target=str(row.label),
        metadata={
            **row.extra,
            "label": row.label,
            "has_error": row.label != NO_ERROR,
            "subset": row.subset,
            "generator": row.generator,
            "steps": row.steps,
            # Logs keep no long lists in their summaries, which reports are made from.
            "n_steps": len(row.steps),
        },
    )
