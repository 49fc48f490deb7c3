"""Reasoning with a mistake that a model can recover from, as samples."""

import logging
from collections.abc import Iterable, Iterator
from functools import partial
from itertools import count
from typing import Any, Literal, TypeAlias

from inspect_ai.dataset import MemoryDataset, Sample
from pydantic import BaseModel, ConfigDict

from misstep.generator import VERSION, Solution, check_count, settings_of, solution
from misstep.loaders._first_error import RowOrder, Subsets, dataset_name, interleaved, subset_names
from misstep.loaders._rows import (
    Id,
    Index,
    Name,
    NonEmpty,
    Steps,
    all_good,
    index_problem,
    validate_rows,
)
from misstep.loaders._sources import source_files
from misstep.loaders._wording import published_wording
from misstep.registry import (
    ContinuationPrompts,
    DataError,
    MisstepError,
    RowKind,
    UnknownNameError,
    Wording,
    find_continuation,
    sources,
)
from misstep.samples import MistakeMetadata, RecoveryMetadata, problem_cluster

logger = logging.getLogger(__name__)

MistakeRows: TypeAlias = Literal["recoverable", "mistake"]
"""Rows with a mistake before the last step and a wrong answer, or all rows with a mistake."""

GENERATED = "generated"
"""The source of generated rows."""

_NEEDED: tuple[RowKind, ...] = ("mistake",)

FAMILIES = ("word_problems", "shuffled_objects", "sorting", "deduction", "brackets")
"""The generator's families that correspond to the five tasks of BIG-Bench Mistake."""
STEPS, DIFFICULTY = "5-6", 1
"""Short solutions, so that small models on small machines finish."""
ROWS_PER_FAMILY = 8
"""The default number of generated rows per family."""


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
    mistake_index: Index
    """The index of the first wrong step; None if there is none."""
    cluster: Id | None = None

    @property
    def has_mistake(self) -> bool:
        """Whether a step is labelled as wrong."""
        return self.mistake_index is not None

    @property
    def recoverable(self) -> bool:
        """Whether a mistake before the last step leads to a wrong answer."""
        return (
            self.mistake_index is not None
            and self.mistake_index < len(self.steps) - 1
            and self.answer != self.target
        )


def recovery_prompts(
    prompts: str = "error_recovery", wording: Wording = "own"
) -> ContinuationPrompts:
    """Return the prompts of error recovery by their name in `continuations.yaml`.

    The published wording replaces the texts and the tasks' hints and instructions.
    """
    own = find_continuation(prompts)
    if wording == "own":
        return own
    words = published_wording(prompts)
    hints, instructions = words.value("hints"), words.value("instructions")
    tasks = {
        name: task.model_copy(
            # The published script puts nothing between the final question and the hint.
            update={"hint": hints[name].removeprefix("\n\n"), "instruction": instructions[name]}
        )
        for name, task in own.tasks.items()
        if name in hints
    }
    texts = {name: words.text(name) for name in ("system", "notice", "final")}
    return own.model_copy(update={**texts, "tasks": tasks})


def recovery_dataset(
    source: str,
    per_task: int | None = None,
    seed: int = 0,
    accept: str | None = None,
    order: RowOrder = "interleaved",
    subset: Subsets = None,
    rows: MistakeRows = "recoverable",
    prompts: ContinuationPrompts | None = None,
    whole: bool = False,
) -> MemoryDataset:
    """Return rows as samples: the question is the input, the right answer the target.

    Metadata has `task`, `mistake_index`, `n_steps`, `correct_steps` (those before the mistake),
    `incorrect_step` and `following_steps` (those after it, without the last). `whole`: a variation
    gives all of them, so a mistake in the last step of the user's own row is refused.
    """
    words = prompts or find_continuation()
    if per_task is not None:
        check_count("per_task", per_task, 1)
    chosen = subset_names(subset)
    for name in chosen or ():
        words.task(name)
    if source == GENERATED:
        if chosen or FAMILIES[0] not in words.tasks:
            raise MisstepError(
                "source=generated: these problems have neither subsets nor published prompts. "
                "Leave out subset, prompts and wording, or use another source."
            )
        samples = list(_generated(check_count("seed", seed, 0), per_task or ROWS_PER_FAMILY))
        return MemoryDataset(samples, name=f"recovery-{VERSION}-{seed}")
    found = _mistake_rows(source, accept, chosen, words)
    if whole and rows == "recoverable" and source not in sources():
        _refuse_last_mistakes(found, source)
    kept = [row for row in found if row.recoverable or (rows == "mistake" and row.has_mistake)]
    counts = f"{len(kept)} of {len(found)} rows"
    logger.info("%s: %s have a mistake to recover from.", source, counts)
    if not kept:
        raise DataError(f"{source}: no row has a mistake before its last step and a wrong answer.")
    kept = list(_first_of_each(kept, per_task))
    if order == "interleaved":
        kept = interleaved(kept, lambda row: row.task)
    parts = [*(chosen or ()), *(["all-mistakes"] if rows == "mistake" else ())]
    parts += [f"{per_task}-per-task"] * (per_task is not None)
    name = dataset_name(source, parts)
    return MemoryDataset([_sample(row, words) for row in kept], name=name)


def _refuse_last_mistakes(rows: list[MistakeRow], source: str) -> None:
    """Raise DataError if a row's mistake is in its last step: nothing follows from it."""
    last = [row.id for row in rows if row.has_mistake and row.mistake_index == len(row.steps) - 1]
    if last:
        raise DataError(
            f"{source}: the mistake of the row {last[0]!r} is in its last step, so all steps but "
            "the last hold no mistake. Remove such rows, or give the steps up to the mistake: "
            f"leave out until=last and IRp. Rows like this: {len(last)}."
        )


def _mistake_rows(
    source: str, accept: str | None, chosen: list[str] | None, words: ContinuationPrompts
) -> list[MistakeRow]:
    kept: list[MistakeRow] = []
    files = source_files(source, _NEEDED, chosen, accept=accept, more=[GENERATED])
    for file in files:
        read = partial(_row, file.entry.subset if file.entry else None)
        checked = validate_rows(file.rows, read, partial(_problems, known=list(words.tasks)))
        rows = all_good(*checked, file.address, _NEEDED)
        kept += [row for row in rows if chosen is None or row.task in chosen]
    known = {row.task for row in kept}
    for name in chosen or ():
        if name not in known:
            raise UnknownNameError("subset", name, known)
    return kept


def _row(task: str | None, number: int, content: dict[str, Any]) -> MistakeRow:
    own = {"task": task} | content
    # Without `answer`, the reasoning counts as wrong. Without `id`, rows are numbered from 0.
    defaults = {"id": f"{own['task'] or 'row'}-{number - 1}", "answer": None}
    return MistakeRow.model_validate(defaults | own)


def _problems(row: MistakeRow, known: list[str]) -> Iterator[tuple[str, str]]:
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


def _sample(row: MistakeRow, words: ContinuationPrompts) -> Sample:
    assert row.mistake_index is not None  # noqa: S101 (the row is recoverable)
    return Sample(
        id=row.id,
        input=words.task(row.task).instruction + row.input,
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
        following_steps=steps[mistake + 1 : -1],
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
