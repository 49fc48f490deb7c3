"""Worked solutions with their first wrong step, or all their erroneous sections, as samples."""

import logging
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache
from pathlib import PurePosixPath
from typing import Annotated, Any, Literal, TypeAlias, TypeVar

from inspect_ai.dataset import MemoryDataset, Sample
from pydantic import BaseModel, BeforeValidator, ConfigDict

from misstep.generator import Solution, solutions
from misstep.loaders._files import RawRow, read_rows
from misstep.loaders._formats import LABEL_PROBLEM, PROBLEMS, as_first_error
from misstep.loaders._rows import (
    ROW,
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
from misstep.loaders._sources import RowFile, source_files
from misstep.loaders._trajectories import TRAJECTORY
from misstep.registry import (
    ROW_KINDS,
    DataError,
    RowKind,
    Source,
    SourceFile,
    UnknownNameError,
    find_source,
    sources,
)
from misstep.samples import LabelMetadata, SolutionMetadata, problem_cluster
from misstep.verdicts import NO_ERROR

logger = logging.getLogger(__name__)

T = TypeVar("T")

Subsets: TypeAlias = str | Sequence[str] | None
"""One subset, several, or all."""
Sources: TypeAlias = str | Sequence[str]
"""One source, or several."""
RowOrder: TypeAlias = Literal["interleaved", "published"]
"""The order of samples: the classes and subsets mixed, or the order of the files."""

FIRST_ERROR: tuple[RowKind, ...] = (
    "first_error",
    "error_sections",
    "wrong_steps",
    "trajectory",
    "attribution",
    "mistake",
)
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


def check_rows(
    raw: Iterable[RawRow], needed: Sequence[RowKind] = FIRST_ERROR
) -> tuple[list[FirstErrorRow], list[BadRow]]:
    """Return the good rows, and every problem of the bad ones; `needed` are the allowed kinds."""

    def read(number: int, content: dict[str, Any]) -> FirstErrorRow:
        kind = row_kind(content)
        if kind in FIRST_ERROR and kind not in (*needed, "first_error"):
            raise ValueError(f"holds {ROW_KINDS[kind]}")
        fields = as_first_error(content, number)
        return FirstErrorRow.model_validate({"id": f"row-{number}"} | fields)

    return validate_rows(raw, read, _label_problems)


def _label_problems(row: FirstErrorRow) -> Iterator[tuple[str, str]]:
    # Published rows whose annotations do not fit are kept and flagged.
    problem = index_problem(row.label, len(row.steps), NO_ERROR)
    if problem and not row.extra.keys() & {PROBLEMS, LABEL_PROBLEM}:
        yield "label", f"{problem}; labels are -1 or 0 to {len(row.steps) - 1}"


def check_file(address: str) -> tuple[list[FirstErrorRow], list[BadRow]]:
    """Return the good rows of the user's own file, and every problem of the bad ones."""
    unread: list[BadRow] = []

    def refuse(line: int, problem: str) -> None:
        unread.append(BadRow(line, None, ROW, problem, place="line"))

    rows, bad = check_rows(read_rows(address, refuse))
    bad = sorted([*unread, *bad], key=lambda one: one.number)
    refuse_other_kind(rows, bad, address, FIRST_ERROR)
    return rows, bad


def load_rows(
    source: Sources,
    subset: Subsets = None,
    accept: str | None = None,
    needed: Sequence[RowKind] = FIRST_ERROR,
) -> list[FirstErrorRow]:
    """Return the checked rows of a registered source, of the user's own file, or of several.

    `accept` is the sha256 of a file that is accepted instead of the pinned one. The subsets of
    several sources are named after them: `mr_math`, `processbench-gsm8k`.
    """
    chosen, names = subset_names(subset), source_names(source)
    if len(names) == 1:
        rows = list(_rows(names[0], chosen, accept, needed))
    else:
        parts = {name: list(_rows(name, None, accept, needed)) for name in names}
        rows = list(_rows_of_several(parts))
    if chosen is None:
        return rows
    known = {row.subset for row in rows if row.subset}
    for name in chosen:
        if name not in known:
            raise UnknownNameError("subset", name, known)
    return [row for row in rows if row.subset in chosen]


def source_names(source: Sources) -> list[str]:
    """Return the names of sources, without repetition."""
    return [source] if isinstance(source, str) else list(dict.fromkeys(source))


def _rows_of_several(parts: dict[str, list[FirstErrorRow]]) -> Iterator[FirstErrorRow]:
    """Yield the rows of several sources with subsets named after them, and with distinct ids."""
    counts = Counter(row.id for rows in parts.values() for row in rows)
    for source, rows in parts.items():
        name = dataset_name(source, None)
        for row in rows:
            subset = name if row.subset is None else f"{name}-{row.subset}"
            id = row.id if counts[row.id] == 1 else f"{name}-{row.id}"
            yield row.model_copy(update={"subset": subset, "id": id})


def subset_names(subset: Subsets) -> list[str] | None:
    """Return the names of the wanted subsets, or None for all."""
    return [subset] if isinstance(subset, str) else None if subset is None else list(subset)


def interleaved(rows: Sequence[T], group: Callable[[T], object]) -> list[T]:
    """Return rows in an order in which the first ones have all groups, in proportion.

    The rows of a group keep their order. The result depends only on the rows.
    """
    groups: dict[object, list[T]] = {}
    for row in rows:
        groups.setdefault(group(row), []).append(row)
    places = [
        (place / len(members), rank, row)
        for rank, members in enumerate(groups.values())
        for place, row in enumerate(members)
    ]
    return [row for _, _, row in sorted(places, key=lambda one: one[:2])]


def ordered(rows: list[FirstErrorRow], order: RowOrder) -> list[FirstErrorRow]:
    """Return rows in an order of samples."""
    if order == "published":
        return rows
    mixed = interleaved(rows, lambda row: row.subset)
    return interleaved(mixed, lambda row: row.label != NO_ERROR)


def _rows(
    source: str, subsets: list[str] | None, accept: str | None, needed: Sequence[RowKind]
) -> Iterator[FirstErrorRow]:
    for file in source_files(source, needed, subsets, accept):
        command = f"`misstep data check {file.address}`"
        rows, bad = check_rows(_with_subset(file), needed)
        bad, repeated = _without_repeated(bad, file.address)
        rows = all_good(rows, bad, file.address, needed, command)
        if file.entry is not None:
            _check_counts(rows, repeated, file.entry, accepted=accept is not None)
            _check_row_pins(rows, find_source(source))
        yield from rows
    generated = sources()[source].generated if source in sources() else None
    if generated and (subsets is None or generated.subset in subsets):
        made = _generated(generated.seed, generated.rows)
        raw = (one.row() | {"subset": generated.subset} for one in made)
        yield from check_rows(enumerate(raw, start=1))[0]


@cache
def _generated(seed: int, count: int) -> list[Solution]:
    return list(solutions(seed, count))


def _with_subset(file: RowFile) -> Iterator[RawRow]:
    """Yield the rows of a file, with the file's subset where they name none."""
    known = {"subset": file.entry.subset} if file.entry and file.entry.subset else {}
    for number, content in file.rows:
        yield number, {**known, **content} if known and isinstance(content, dict) else content


def _without_repeated(bad: list[BadRow], address: str) -> tuple[list[BadRow], int]:
    """Return the other problems, and how often PRMBench repeats an id with another solution.

    Its published loader uses the first row of an id, and so does this one.
    """
    repeated = [one for one in bad if one.kind == "wrong_steps" and one.field == "id"]
    if repeated:
        names = ", ".join(str(one.id) for one in repeated)
        logger.warning("%s: ids that occur twice; the first row is used: %s.", address, names)
    return [one for one in bad if one not in repeated], len(repeated)


def _check_counts(
    rows: list[FirstErrorRow], repeated: int, file: SourceFile, accepted: bool
) -> None:
    """Compare the numbers of rows, of rows with an error and of rows by subset with the pins."""
    count = len(rows) + repeated
    errors = sum(row.label != NO_ERROR for row in rows)
    subsets = dict(Counter(row.subset for row in rows)) if file.subsets else {}
    pinned_errors = errors if file.errors is None else file.errors
    if (count, errors, subsets) != (file.rows, pinned_errors, file.subsets):
        found = f"{count} rows, {errors} with an error, {subsets or 'one subset'}"
        pinned = f"{file.rows} rows, {pinned_errors} with an error, {file.subsets or 'one subset'}"
        message = f"{file.name}: {found}; pinned are {pinned}."
        if not accepted:
            raise DataError(message)
        logger.warning(message)


def _check_row_pins(rows: list[FirstErrorRow], source: Source) -> None:
    """Raise DataError for a copy whose rows have other labels than the pinned one."""
    for row in rows:
        for field, pinned in source.row_pins.get(row.id, {}).items():
            found = str(row.extra.get(field, getattr(row, field, None)))
            if found != pinned:
                raise DataError(
                    f"The row {row.id!r} has the {field} {found!r}; the pinned copy "
                    f"({source.repository} at {source.revision}) has {pinned!r}. Another copy of "
                    "these rows is known to have other labels. Use the pinned one."
                )


def first_error_dataset(
    source: Sources,
    subset: Subsets = None,
    exclude_label_errors: bool = False,
    accept: str | None = None,
    exclude_misfits: bool = False,
    order: RowOrder = "interleaved",
) -> MemoryDataset:
    """Return rows as samples: the problem is the input, the label the target."""
    rows = _labelled(load_rows(source, subset, accept))
    rows = _handle_misfits(rows, exclude_misfits)
    if exclude_label_errors:
        rows = _without_label_errors(source_names(source), rows)
    _warn_of_empty_sets(rows)
    return MemoryDataset(
        [first_error_sample(row) for row in ordered(rows, order)], name=dataset_name(source, subset)
    )


def error_sections_dataset(
    source: str,
    subset: Subsets = None,
    accept: str | None = None,
    exclude_misfits: bool = False,
    order: RowOrder = "interleaved",
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
    rows = ordered(rows, order)
    samples = [first_error_sample(row) for row in rows]
    for sample, row in zip(samples, rows, strict=True):
        sample.target = ", ".join(map(str, row.extra["gold_sections"])) or "none"
    return MemoryDataset(samples, name=dataset_name(source, subset))


def marked_dataset(
    source: str, subset: Subsets = None, accept: str | None = None, order: RowOrder = "interleaved"
) -> MemoryDataset:
    """Return rows as samples, also those whose first error is not known: they are marked, too.

    The arguments are those of `first_error_dataset`.
    """
    rows = ordered(load_rows(source, subset, accept), order)
    return MemoryDataset(
        [first_error_sample(row) for row in rows], name=dataset_name(source, subset)
    )


def step_validity_dataset(
    source: str, subset: Subsets = None, accept: str | None = None, order: RowOrder = "interleaved"
) -> MemoryDataset:
    """Return rows whose wrong steps are all known as samples: they have PRMBench's format.

    The arguments are those of `first_error_dataset`.
    """
    needed: tuple[RowKind, ...] = ("wrong_steps",)
    rows = load_rows(source, subset, accept, needed)
    for row in rows:
        if "wrong_steps" not in row.extra:
            where = f"{source}: the row {row.id!r}"
            raise DataError(wrong_kind_message(where, "first_error", needed))
    outside = [row.id for row in rows if "wrong_steps_published" in row.extra]
    if outside:
        logger.warning(
            "%d of %d rows name wrong steps beyond the last step: these steps are ignored.",
            len(outside),
            len(rows),
        )
    return MemoryDataset(
        [first_error_sample(row) for row in ordered(rows, order)], name=dataset_name(source, subset)
    )


def dataset_name(source: Sources, subset: Subsets) -> str:
    """Return the name of the data in the log."""
    names = [one if one in sources() else PurePosixPath(one).name for one in source_names(source)]
    return "-".join(["+".join(names), *(subset_names(subset) or [])])


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


def _labelled(rows: list[FirstErrorRow]) -> list[FirstErrorRow]:
    """Return the rows whose label is usable, and warn of the others."""
    without = [
        f"{row.id} ({row.extra[LABEL_PROBLEM]})" for row in rows if LABEL_PROBLEM in row.extra
    ]
    if without:
        shown = "; ".join(without[:SHOWN]) + ("; …" if len(without) > SHOWN else "")
        logger.warning(
            "Left out, because their first error is not known: %d (%s).", len(without), shown
        )
    return [row for row in rows if LABEL_PROBLEM not in row.extra]


def _without_label_errors(names: list[str], rows: list[FirstErrorRow]) -> list[FirstErrorRow]:
    known: dict[str, str] = {}
    for name in names:
        if name in sources():
            known |= sources()[name].known_label_errors
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
        # The steps have the text of the messages, so the metadata drops the originals.
        metadata={k: v for k, v in row.extra.items() if k != TRAJECTORY} | known.model_dump(),
    )
