"""Problems with a right beginning and a wrong step, as Inspect samples."""

import logging
from collections.abc import Iterable, Iterator
from itertools import count

from inspect_ai.dataset import MemoryDataset, Sample

from misstep.generator import VERSION, Solution, check_count, settings_of, solution
from misstep.loaders._files import parse_rows, read_file, suffix
from misstep.loaders._first_error import dataset_name
from misstep.loaders._mistakes import MistakeRow, check_mistakes
from misstep.loaders._places import read_source_file
from misstep.loaders._rows import account
from misstep.registry import DataError, UnknownNameError, find_continuation, sources

logger = logging.getLogger(__name__)

GENERATED = "generated"
"""The source whose rows are made when they are asked for."""

FAMILIES = ("word_problems", "shuffled_objects", "sorting", "deduction", "brackets")
"""The generator's families of the same kinds as the five tasks of BIG-Bench Mistake."""
STEPS, DIFFICULTY = "5-6", 1
"""Short, so that small models on small machines come to an end."""
EACH = 8
"""How many of each family, where nothing is said."""


def recovery_dataset(
    source: str, per_task: int | None = None, seed: int = 0, accept: str | None = None
) -> MemoryDataset:
    """Load rows as samples: the question as input, the right answer as target.

    Metadata has `task`, `mistake_index`, `n_steps`, `correct_steps` (those before the mistake) and
    `incorrect_step`.

    Args:
        source: A registered source of BIG-Bench Mistake's rows, the address of the user's own
            file, or `generated`.
        per_task: Only the first rows of each task, so many.
        seed: Which rows are generated.
        accept: The sha256 of a file to accept in place of a registered source's pinned one.

    Raises:
        DataError: Rows that are missing, changed or malformed.
        UnknownNameError: An unknown source.
    """
    if per_task is not None:
        check_count("per_task", per_task, 1)
    if source == GENERATED:
        samples = list(_generated(check_count("seed", seed, 0), per_task or EACH))
        return MemoryDataset(samples, name=f"recovery-{VERSION}-{seed}")
    rows = _first_of_each(_rows(source, accept), per_task)
    name = dataset_name(source, None if per_task is None else f"{per_task}-per-task")
    return MemoryDataset([_sample(row) for row in rows], name=name)


def _rows(source: str, accept: str | None) -> list[MistakeRow]:
    known = sources()
    if source in known:
        rows: list[MistakeRow] = []
        for file in known[source].files:
            content = read_source_file(source, known[source], file, accept)
            rows += _checked(content, file.path, file.subset)
        return rows
    if suffix(source):
        rows = _checked(read_file(source), source, None)
        if not rows:
            raise DataError(
                f"{source}: no row has a mistake before its last step and a wrong answer."
            )
        return rows
    raise UnknownNameError("source (nor is it a file)", source, [*known, GENERATED])


def _checked(content: bytes, address: str, task: str | None) -> list[MistakeRow]:
    rows, bad = check_mistakes(parse_rows(content, address), task, find_continuation().tasks)
    if bad:
        raise DataError(account(address, bad))
    kept = [row for row in rows if row.recoverable]
    logger.info("%s: %d of %d rows have something to recover from.", address, len(kept), len(rows))
    return kept


def _first_of_each(rows: Iterable[MistakeRow], per_task: int | None) -> Iterator[MistakeRow]:
    counts: dict[str, int] = {}
    for row in rows:
        counts[row.task] = counts.get(row.task, 0) + 1
        if per_task is None or counts[row.task] <= per_task:
            yield row


def _sample(row: MistakeRow) -> Sample:
    assert row.mistake_index is not None  # noqa: S101 (only such rows are kept)
    return Sample(
        id=row.id,
        input=find_continuation().task(row.task).instruction + row.input,
        target=row.target,
        metadata=_metadata(row.task, row.steps, row.mistake_index) | {"wrong_answer": row.answer},
    )


def _metadata(task: str, steps: list[str], mistake: int) -> dict[str, object]:
    return {
        "task": task,
        "subset": task,
        "mistake_index": mistake,
        "n_steps": len(steps),
        "correct_steps": steps[:mistake],
        "incorrect_step": steps[mistake],
    }


def _generated(seed: int, each: int) -> Iterator[Sample]:
    """Samples by turns, one of each family: the first few hold all kinds."""
    settings = settings_of(STEPS, families=FAMILIES, difficulty=DIFFICULTY, correct_share=0)
    found: dict[str, list[Solution]] = {family: [] for family in FAMILIES}
    for index in count():
        made = solution(seed, index, settings)
        if _usable(made) and len(found[made.family]) < each:
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
                metadata=_metadata(family, made.steps, made.label)
                | {"error_type": made.error_type, "generated_as": made.id},
            )


def _usable(made: Solution) -> bool:
    """Whether the error stays, leads astray, and has right steps before it and others after it."""
    return (
        made.outcome == "plain"
        and not made.final_answer_correct
        and 0 < made.label < len(made.steps) - 1
    )
