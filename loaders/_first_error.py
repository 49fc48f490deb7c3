"""Worked solutions with their first wrong step, or all their erroneous sections, as samples."""

import logging
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import PurePosixPath
from typing import Annotated, Any

from inspect_ai.dataset import MemoryDataset, Sample
from pydantic import BaseModel, BeforeValidator, ConfigDict

from misstep.generator import solutions
from misstep.loaders._deltabench import PROBLEMS, first_error_fields
from misstep.loaders._files import RawRow, read_rows
from misstep.loaders._rows import (
    SHOWN,
    BadRow,
    Id,
    Name,
    NonEmpty,
    Steps,
    all_good,
    index_problem,
    refuse_other_kind,
    row_kind,
    validate_rows,
    whole_number,
    wrong_kind_message,
)
from misstep.loaders._sources import source_files
from misstep.registry import DataError, RowKind, SourceFile, UnknownNameError, sources
from misstep.samples import LabelMetadata, SolutionMetadata, problem_cluster
from misstep.verdicts import NO_ERROR

logger = logging.getLogger(__name__)

FIRST_ERROR: tuple[RowKind, ...] = ("first_error", "error_sections")
"""The kinds of rows that have a first error."""


class FirstErrorRow(BaseModel):
    """A problem, a worked solution in steps, and the index of its first wrong step."""

    model_config = ConfigDict(extra="allow", strict=True)

    id: Id
    problem: NonEmpty
    steps: Steps
    label: Annotated[int, BeforeValidator(whole_number)]
    subset: Name | None = None
    generator: str | None = None
    cluster: Id | None = None
    """What dependent rows have in common, such as a query. Default: the problem."""

    @property
    def extra(self) -> dict[str, Any]:
        """The other fields of the row."""
        return self.model_extra or {}


class FirstErrorMetadata(SolutionMetadata, LabelMetadata):
    """Metadata of a sample with a first error."""

    label: int
    generator: str | None
    n_steps: int
    """The number of steps. Summaries in a log drop long lists, and reports read summaries."""


def check_rows(raw: Iterable[RawRow]) -> tuple[list[FirstErrorRow], list[BadRow]]:
    """Return the good rows, and every problem of the bad ones."""
    return validate_rows(raw, _row, _label_problems)


def _row(number: int, content: dict[str, Any]) -> FirstErrorRow:
    sections = row_kind(content) == "error_sections"
    fields = first_error_fields(content) if sections else content
    return FirstErrorRow.model_validate({"id": f"row-{number}"} | fields)


def _label_problems(row: FirstErrorRow) -> Iterator[tuple[str, str]]:
    # Published rows of DeltaBench whose annotations do not fit are kept and flagged.
    problem = index_problem(row.label, len(row.steps), NO_ERROR)
    if problem and PROBLEMS not in row.extra:
        yield "label", f"{problem}; labels are -1 or 0 to {len(row.steps) - 1}"


def check_file(address: str) -> tuple[list[FirstErrorRow], list[BadRow]]:
    """Return the good rows of the user's own file, and every problem of the bad ones."""
    rows, bad = check_rows(read_rows(address))
    refuse_other_kind(rows, bad, address, FIRST_ERROR)
    return rows, bad


def load_rows(
    source: str,
    subset: str | None = None,
    accept: str | None = None,
    needed: Sequence[RowKind] = FIRST_ERROR,
) -> list[FirstErrorRow]:
    """Return the checked rows of a registered source or of the user's own file.

    `accept` is the sha256 of a file that is accepted instead of the pinned one.
    """
    rows = list(_rows(source, subset, accept, needed))
    if subset is None:
        return rows
    chosen = [row for row in rows if row.subset == subset]
    if not chosen:
        raise UnknownNameError("subset", subset, {row.subset for row in rows if row.subset})
    return chosen


def _rows(
    source: str, subset: str | None, accept: str | None, needed: Sequence[RowKind]
) -> Iterator[FirstErrorRow]:
    for file in source_files(source, needed, subset, accept):
        command = f"`misstep data check {file.address}`"
        rows = all_good(*check_rows(file.rows), file.address, needed, command)
        if file.entry is None:
            yield from rows
            continue
        _check_counts(rows, file.entry, accepted=accept is not None)
        for row in rows:
            yield row if row.subset else row.model_copy(update={"subset": file.entry.subset})
    generated = sources()[source].generated if source in sources() else None
    if generated and subset in (None, generated.subset):
        made = solutions(generated.seed, generated.rows)
        raw = (one.row() | {"subset": generated.subset} for one in made)
        yield from check_rows(enumerate(raw, start=1))[0]


def _check_counts(rows: list[FirstErrorRow], file: SourceFile, accepted: bool) -> None:
    """Compare the numbers of rows, of rows with an error and of rows by subset with the pins."""
    errors = sum(row.label != NO_ERROR for row in rows)
    subsets = dict(Counter(row.subset for row in rows)) if file.subsets else {}
    pinned_errors = errors if file.errors is None else file.errors
    if (len(rows), errors, subsets) != (file.rows, pinned_errors, file.subsets):
        found = f"{len(rows)} rows, {errors} with an error, {subsets or 'one subset'}"
        pinned = f"{file.rows} rows, {pinned_errors} with an error, {file.subsets or 'one subset'}"
        message = f"{file.name}: {found}; pinned are {pinned}."
        if not accepted:
            raise DataError(message)
        logger.warning(message)


def first_error_dataset(
    source: str,
    subset: str | None = None,
    exclude_label_errors: bool = False,
    accept: str | None = None,
    exclude_misfits: bool = False,
) -> MemoryDataset:
    """Return rows as samples: the problem is the input, the label the target."""
    rows = _handle_misfits(load_rows(source, subset, accept), exclude_misfits)
    if exclude_label_errors:
        rows = _without_label_errors(source, rows)
    _warn_of_empty_sets(rows)
    return MemoryDataset(
        [first_error_sample(row) for row in rows], name=dataset_name(source, subset)
    )


def error_sections_dataset(
    source: str, subset: str | None = None, accept: str | None = None, exclude_misfits: bool = False
) -> MemoryDataset:
    """Return rows as samples: the problem is the input, the erroneous sections the target.

    The arguments are those of `first_error_dataset`; the user's own file has DeltaBench's fields.
    """
    needed: tuple[RowKind, ...] = ("error_sections",)
    rows = _handle_misfits(load_rows(source, subset, accept, needed), exclude_misfits)
    for row in rows:
        if "gold_sections" not in row.extra:
            where = f"{source}: the row {row.id!r}"
            raise DataError(wrong_kind_message(where, "first_error", needed))
    samples = [first_error_sample(row) for row in rows]
    for sample, row in zip(samples, rows, strict=True):
        sample.target = ", ".join(map(str, row.extra["gold_sections"])) or "none"
    return MemoryDataset(samples, name=dataset_name(source, subset))


def dataset_name(source: str, subset: str | None) -> str:
    """Return the name of the data in the log."""
    name = source if source in sources() else PurePosixPath(source).name
    return f"{name}-{subset}" if subset else name


def _handle_misfits(rows: list[FirstErrorRow], exclude: bool) -> list[FirstErrorRow]:
    """Warn of rows whose annotations do not fit; return all rows, or only the others."""
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


def _without_label_errors(source: str, rows: list[FirstErrorRow]) -> list[FirstErrorRow]:
    known = sources()[source].known_label_errors if source in sources() else {}
    left_out = [f"{row.id} ({known[row.id]})" for row in rows if row.id in known]
    logger.warning("Left out because of wrong labels: %s", ", ".join(left_out) or "no row")
    return [row for row in rows if row.id not in known]


def _warn_of_empty_sets(rows: list[FirstErrorRow]) -> None:
    errors = sum(row.label != NO_ERROR for row in rows)
    if errors == 0:
        logger.warning("No row has an error: error_accuracy and f1_score are undefined (nan).")
    if errors == len(rows):
        logger.warning("No row has no error: correct_accuracy and f1_score are undefined (nan).")


def first_error_sample(row: FirstErrorRow) -> Sample:
    """Return the sample of a row: the problem, its label, and the rest as metadata."""
    known = FirstErrorMetadata(
        label=row.label,
        has_error=row.label != NO_ERROR,
        subset=row.subset,
        cluster=row.cluster or problem_cluster(row.problem),
        generator=row.generator,
        steps=row.steps,
        n_steps=len(row.steps),
    )
    return Sample(
        id=row.id,
        input=row.problem,
        target=str(row.label),
        metadata={**row.extra, **known.model_dump()},
    )
