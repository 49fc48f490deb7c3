"""Rows with all their erroneous sections as Inspect samples."""

from inspect_ai.dataset import MemoryDataset, Sample

from misstep.loaders._first_error import (
    dataset_name,
    load_rows,
    sample_of,
    warned_of_misfits,
)
from misstep.loaders._rows import Row
from misstep.registry import GOLD_SECTIONS, DataError


def error_sections_dataset(
    source: str,
    subset: str | None = None,
    accept: str | None = None,
    exclude_misfits: bool = False,
) -> MemoryDataset:
    """Load rows as samples: the problem as input, the erroneous sections' numbers as target.

    Args:
        source: A registered source, or the address of the user's own file of DeltaBench's rows.
        subset: Only the rows of this subset.
        accept: The sha256 of a file to accept in place of a registered source's pinned one.
        exclude_misfits: Leave out the rows whose annotations do not fit their sections.

    Raises:
        DataError: Rows that are missing, changed, malformed, or without numbers of sections.
        UnknownNameError: An unknown source or subset.
    """
    rows = warned_of_misfits(load_rows(source, subset, accept), exclude_misfits)
    return MemoryDataset([_sample(row, source) for row in rows], name=dataset_name(source, subset))


def _sample(row: Row, source: str) -> Sample:
    if GOLD_SECTIONS not in row.extra:
        raise DataError(
            f"{source}: the row {row.id!r} names a first error alone. All erroneous sections are "
            "wanted: question, sections and reason_error_section_numbers, as DeltaBench has them."
        )
    sample = sample_of(row)
    sample.target = ", ".join(map(str, row.extra[GOLD_SECTIONS])) or "none"
    return sample
