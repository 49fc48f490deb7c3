"""Reasoning with a mistake that a model can recover from, as samples."""

import logging
from collections.abc import Iterable, Iterator
from functools import partial
from itertools import count
from typing import Annotated, Any

from inspect_ai.dataset import MemoryDataset, Sample
from pydantic import BaseModel, BeforeValidator, ConfigDict

from misstep.generator import VERSION, Solution, check_count, settings_of, solution
from misstep.loaders._first_error import RowOrder, dataset_name, interleaved
from misstep.loaders._rows import (
    Id,
    Name,
    NonEmpty,
    Steps,
    all_good,
    index_problem,
    validate_rows,
    whole_number,
)
from misstep.loaders._sources import source_files
from misstep.registry import DataError, RowKind, find_continuation
from misstep.samples import MistakeMetadata, RecoveryMetadata, problem_cluster

logger = logging.getLogger(__name__)

GENERATED = "generated"
"""The source of generated rows."""

_NEEDED: tuple[RowKind, ...] = ("mistake",)

FAMILIES = ("word_problems", "shuffled_objects", "sorting", "deduction", "brackets")
"""The generator's families that correspond to the five tasks of BIG-Bench Mistake."""
STEPS, DIFFICULTY = "5-6", 1
"""Short solutions, so that small models on small machines finish."""
ROWS_PER_FAMILY = 8
"""The default number of generated rows per family."""


def _index(value: object) -> int | None:
    return None if value is None else whole_number(value)


class MistakeRow(BaseModel):
    """A row of BIG-Bench Mistake: a question, reasoning in steps, and its first mistake."""

    model_config = ConfigDict(extra="ignore", strict=True)

    id: Id
    task: Name
    input: NonEmpty
    steps: Steps
    target: NonEmpty
    answer: str | None
    """The answer that the steps lead to."""
    mistake_index: Annotated[int | None, BeforeValidator(_index)]
    """The index of the first wrong step; None if there is none."""
    cluster: Id | None = None

    @property
    def recoverable(self) -> bool:
        """Whether a mistake before the last step leads to a wrong answer."""
        return (
            self.mistake_index is not None
            and self.mistake_index < len(self.steps) - 1
            and self.answer != self.target
        )


def recovery_dataset(
    source: str,
    per_task: int | None = None,
    seed: int = 0,
    accept: str | None = None,
    order: RowOrder = "interleaved",
) -> MemoryDataset:
    """Return rows as samples: the question is the input, the right answer the target.

    Metadata has `task`, `mistake_index`, `n_steps`, `correct_steps` (those before the mistake) and
    `incorrect_step`.
    """
    if per_task is not None:
        check_count("per_task", per_task, 1)
    if source == GENERATED:
        samples = list(_generated(check_count("seed", seed, 0), per_task or ROWS_PER_FAMILY))
        return MemoryDataset(samples, name=f"recovery-{VERSION}-{seed}")
    rows = list(_first_of_each(_recoverable_rows(source, accept), per_task))
    if order == "interleaved":
        rows = interleaved(rows, lambda row: row.task)
    name = dataset_name(source, None if per_task is None else f"{per_task}-per-task")
    return MemoryDataset([_sample(row) for row in rows], name=name)


def _recoverable_rows(source: str, accept: str | None) -> list[MistakeRow]:
    kept: list[MistakeRow] = []
    for file in source_files(source, _NEEDED, accept=accept, more=[GENERATED]):
        read = partial(_row, file.entry.subset if file.entry else None)
        rows = all_good(*validate_rows(file.rows, read, _problems), file.address, _NEEDED)
        found = [row for row in rows if row.recoverable]
        counts = f"{len(found)} of {len(rows)} rows"
        logger.info("%s: %s have a mistake to recover from.", file.address, counts)
        kept += found
    if not kept:
        raise DataError(f"{source}: no row has a mistake before its last step and a wrong answer.")
    return kept


def _row(task: str | None, number: int, content: dict[str, Any]) -> MistakeRow:
    own = {"task": task} | content
    # Without `answer`, the reasoning counts as wrong. Without `id`, rows are numbered from 0.
    defaults = {"id": f"{own['task'] or 'row'}-{number - 1}", "answer": None}
    return MistakeRow.model_validate(defaults | own)


def _problems(row: MistakeRow) -> Iterator[tuple[str, str]]:
    known = find_continuation().tasks
    steps = len(row.steps)
    if row.mistake_index is not None and (problem := index_problem(row.mistake_index, steps, 0)):
        allowed = f"allowed are 0 to {steps - 1}, and null for no mistake"
        yield "mistake_index", f"{problem}; {allowed}"
    if row.task not in known:
        yield "task", f"{row.task!r} is unknown; allowed are {', '.join(known)}"


def _first_of_each(rows: Iterable[MistakeRow], per_task: int | None) -> Iterator[MistakeRow]:
    counts: dict[str, int] = {}
    for row in rows:
        counts[row.task] = counts.get(row.task, 0) + 1
        if per_task is None or counts[row.task] <= per_task:
            yield row


def _sample(row: MistakeRow) -> Sample:
    assert row.mistake_index is not None  # noqa: S101 (the row is recoverable)
    return Sample(
        id=row.id,
        input=find_continuation().task(row.task).instruction + row.input,
        target=row.target,
        metadata=_metadata(
            row.task, row.steps, row.mistake_index, row.cluster or problem_cluster(row.input)
        )
        | {"wrong_answer": row.answer},
    )


class MistakeSampleMetadata(RecoveryMetadata, MistakeMetadata):
    """Metadata of a sample with a mistake to recover from."""


def _metadata(task: str, steps: list[str], mistake: int, cluster: str) -> dict[str, Any]:
    return MistakeSampleMetadata(
        task=task,
        subset=task,
        cluster=cluster,
        mistake_index=mistake,
        n_steps=len(steps),
        correct_steps=steps[:mistake],
        incorrect_step=steps[mistake],
    ).model_dump()


def _generated(seed: int, each: int) -> Iterator[Sample]:
    """Yield samples of all families in turn, so that the first few cover all families."""
    settings = settings_of(STEPS, families=FAMILIES, difficulty=DIFFICULTY, correct_share=0)
    found: dict[str, list[Solution]] = {family: [] for family in FAMILIES}
    for index in count():
        made = solution(seed, index, settings)
        is_wrong = made.outcome == "plain" and not made.final_answer_correct
        is_inside = 0 < made.label < len(made.steps) - 1
        if is_wrong and is_inside and len(found[made.family]) < each:
            found[made.family].append(made)
        if all(len(rows) == each for rows in found.values()):
            break
    for place in range(each):
        for family in FAMILIES:
            made = found[family][place]
            yield Sample(
                id=f"{family}-{seed}-{place}",
                input=made.problem,
                target=made.answer,
                metadata=_metadata(family, made.steps, made.label, problem_cluster(made.problem))
                | {"error_type": made.error_type, "generated_as": made.id},
            )
