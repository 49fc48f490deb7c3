"""Row formats of other benchmarks as first-error rows: DeltaBench, PRMBench, MR-Ben and others.

The columns of a row show its format. Labels become indices from 0, or NO_ERROR. DeltaBench's
sections are steps. Two formats label the number that a step prints ("Step 3"), which need not be
its place: `printed_steps` splits a solution by these numbers, and a row keeps them as
`printed_numbers`.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Annotated, Any, Literal, TypeAlias

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from misstep.loaders._rows import (
    Id,
    Index,
    NonEmpty,
    Steps,
    named,
    printed_list,
    row_format,
    row_kind,
    whole_number,
)
from misstep.loaders._trajectories import attribution_fields, printed, trajectory_fields
from misstep.registry import RowKind
from misstep.verdicts import NO_ERROR

Fields: TypeAlias = dict[str, Any]

LABEL_PROBLEM = "label_problem"
"""The field of a row that has an error but no usable label, with the reason."""

PROBLEMS = "annotation_problems"
"""The metadata key with the annotations that do not fit the row's sections."""

_KEPT = (
    *("task_l1", "task_l2", "origin", "error_type", "level"),
    *("model", "answer", "final_correct", "cluster"),
)
"""Fields that are copied to the metadata. Copies of texts would make logs three times as large."""

_List = Annotated[list[Any], BeforeValidator(printed_list)]
_StepNumber = Annotated[int, BeforeValidator(whole_number)]


class _Row(BaseModel):
    model_config = ConfigDict(extra="ignore", strict=True)


class _DeltaRow(_Row):
    """A row of DeltaBench; both spellings of its fields are read."""

    question: NonEmpty
    sections: _List | None = None
    sections_content: str | None = named("sections_content", "section_content", default=None)
    long_cot: str | None = None
    errors: _List = named("reason_error_section_numbers", "error_section_numbers")
    unuseful: _List = named(
        "reason_unuseful_section_numbers", "idea_error_section_numbers", default_factory=list
    )


def _deltabench_fields(content: Fields) -> Fields:
    """Return the fields of a first-error row.

    The label is the smallest annotated section number minus one. If errors are annotated but no
    number belongs to a section, the label is the number of sections, which no verdict matches: the
    row has an error at an unknown place.
    """
    row = _DeltaRow.model_validate(content)
    steps = _section_texts(row)
    problems: list[str] = []
    errors = list(_numbers(row.errors, "reason_error_section_numbers", problems))
    unuseful = list(_numbers(row.unuseful, "reason_unuseful_section_numbers", problems))
    annotated = sorted({*errors, *unuseful})
    gold = [number for number in annotated if 1 <= number <= len(steps)]
    problems += [
        f"section {number} is not one of its sections 1 to {len(steps)}"
        for number in annotated
        if number not in gold
    ]
    positive = [number for number in errors if number > 0]
    label = min(positive) - 1 if positive else len(steps) if row.errors else NO_ERROR
    return {
        "problem": row.question,
        "steps": steps,
        "label": label,
        "subset": content.get("task_l1"),
        "generator": content.get("model"),
        **{name: content[name] for name in ("id", *_KEPT) if name in content},
        "error_sections": sorted(set(errors)),
        "unuseful_sections": sorted(set(unuseful)),
        "gold_sections": gold,
        **({"gold_sections_published": annotated} if annotated != gold else {}),
        "section_count": len(steps),
        "characters": len(row.question) + sum(map(len, steps)),
        **({PROBLEMS: problems} if problems else {}),
    }


def _numbers(values: list[Any], field: str, problems: list[str]) -> Iterator[int]:
    for value in values:
        try:
            yield whole_number(value)
        except ValueError:
            problems.append(f"{field}: {str(value)[:40]!r} is not a section number")


def _section_texts(row: _DeltaRow) -> list[str]:
    """Return the texts of a row's sections; an empty list if the row has none.

    They are taken from `sections`, else from `sections_content`, else from the paragraphs of
    `long_cot`.
    """
    sections = [part if isinstance(part, dict) else {} for part in row.sections or []]
    own = [part.get("content", part.get("section")) for part in sections]
    texts = [text for text in own if isinstance(text, str)]
    if texts and len(texts) == len(sections):
        return texts
    joined = _split(row.sections_content or "", len(sections) or None)
    if len(joined) == (len(sections) or len(joined)):
        return joined
    return _by_paragraphs(row.long_cot or "", sections) or joined


def _split(joined: str, count: int | None) -> list[str]:
    """Split "section1: … section2: …" at its markers. They are in order, each begins a line."""
    starts: list[tuple[int, int]] = []
    place = 0
    while count is None or len(starts) < count:
        marker = re.compile(rf"^[ \t]*section ?{len(starts) + 1}[ \t]*:[ \t]?", re.I | re.M)
        found = marker.search(joined, place)
        if found is None:
            break
        starts.append(found.span())
        place = found.end()
    ends = [start for start, _ in starts[1:]] + [len(joined)]
    return [joined[a:b].strip("\n") for (_, a), b in zip(starts, ends, strict=False)]


def _by_paragraphs(text: str, sections: list[dict[str, Any]]) -> list[str]:
    """Return the paragraphs from `start` to `end` of each section; none if a section is wrong."""
    paragraphs = text.split("\n\n") if text else []
    texts: list[str] = []
    for section in sections:
        start, end = section.get("start"), section.get("end")
        if isinstance(start, int) and isinstance(end, int) and 1 <= start <= end <= len(paragraphs):
            texts.append("\n\n".join(paragraphs[start - 1 : end]))
        else:
            return []
    return texts


_OPENS_STEP = re.compile(r"^[\s*#]*step\s*(\d+)", re.IGNORECASE)


def _lower(value: object) -> object:
    return value.strip().lower() if isinstance(value, str) else value


def printed_steps(lines: Iterable[str]) -> tuple[list[str], list[int | None]]:
    """Return the steps of a solution, and the number that each step prints, or None.

    Blank lines are dropped. A line that begins with "Step" and a number opens a step; any other
    line joins the step before it. Lines before the first step are a step of their own.
    """
    steps: list[str] = []
    numbers: list[int | None] = []
    for line in lines:
        if not line.strip():
            continue
        opens = _OPENS_STEP.match(line)
        if opens or not steps:
            steps.append(line)
            numbers.append(int(opens[1]) if opens else None)
        else:
            steps[-1] += f"\n{line}"
    return steps, numbers


class _PrmBenchRow(_Row):
    idx: NonEmpty
    classification: NonEmpty
    modified_question: NonEmpty
    modified_process: Steps
    error_steps: Annotated[list[_StepNumber], BeforeValidator(printed_list)]


PRMBENCH_GROUPS = {
    "simplicity": ("redundency", "circular"),
    "soundness": ("counterfactual", "step_contradiction", "domain_inconsistency", "confidence"),
    "sensitivity": ("missing_condition", "deception", "multi_solutions"),
}
"""The classes of PRMBench in its spelling, by group."""


def _prmbench_fields(content: Fields, number: int) -> Fields:
    """Return a row of PRMBench: every wrong step is known, numbered from 1."""
    row = _PrmBenchRow.model_validate(content)
    # On the hub, the id begins with the class.
    problem = row.idx.removeprefix(f"{row.classification}_")
    annotated = sorted({step - 1 for step in row.error_steps})
    wrong = [step for step in annotated if 0 <= step < len(row.modified_process)]
    groups = [name for name, classes in PRMBENCH_GROUPS.items() if row.classification in classes]
    return {
        "id": f"{row.classification}_{problem}",
        "problem": row.modified_question,
        "steps": row.modified_process,
        "label": min(wrong, default=NO_ERROR),
        "subset": row.classification,
        # Eight classes are made from the same problem.
        "cluster": problem,
        "group": next(iter(groups), None),
        "wrong_steps": wrong,
        **({"wrong_steps_published": annotated} if wrong != annotated else {}),
        **{name: content[name] for name in ("reason", "original_process") if name in content},
    }


class _MrBenRow(_Row):
    uuid: NonEmpty = Field(validation_alias="Question_UUID")
    subject: NonEmpty = Field(validation_alias="Subject")
    question: NonEmpty = Field(validation_alias="Question")
    options: Annotated[str | None, BeforeValidator(printed)] = Field(
        default=None, validation_alias="Options"
    )
    sampled_model: str | None = Field(default=None, validation_alias="Sampled_Model")
    steps: str | list[str] = Field(validation_alias="Model_Solution_Steps")
    correctness: Annotated[Literal["correct", "incorrect"], BeforeValidator(_lower)] = Field(
        validation_alias="Model_Solution_Correctness"
    )
    error_step: Annotated[str, BeforeValidator(lambda value: printed(value) or "")] = Field(
        validation_alias="Model_Solution_First_Error_Step"
    )
    # Texts, or lists of texts, as annotators left them.
    reason: str | list[str | None] | None = Field(
        default=None, validation_alias="Model_Solution_Error_Reason"
    )
    rectified: str | list[str | None] | None = Field(
        default=None, validation_alias="Model_Solution_Rectified_First_Error_Step"
    )


def _mr_ben_fields(content: Fields, number: int) -> Fields:
    """Return a row of MR-Ben: the label is the number that a step prints, or a line of code."""
    row = _MrBenRow.model_validate(content)
    numbers: list[int | None] | None = None
    if isinstance(row.steps, str):
        subset = "coding"
        steps = [line for line in row.steps.split("\n") if line.strip()]
        places = [i for i, line in enumerate(steps) if line.rstrip() == row.error_step.rstrip()]
    else:
        subset = str(content.get("subset") or row.subject)
        steps, numbers = printed_steps(row.steps)
        wanted = re.search(r"\d+", row.error_step)
        places = [i for i, n in enumerate(numbers) if wanted and n == int(wanted[0])]
    # Some rows name another question than the one that they are listed under.
    question = str(content.get("key", row.uuid))
    return {
        "id": f"{subset}-{question[:8]}-{content.get('place', number - 1)}",
        "problem": f"{row.question}\n\n{row.options}" if row.options else row.question,
        "steps": steps,
        **_label(row.correctness == "correct", places, len(steps), row.error_step),
        "subset": subset,
        "generator": row.sampled_model,
        "cluster": question,
        "subject": row.subject,
        "question": row.question,
        "options": row.options,
        "solution": row.steps,
        "error_step": row.error_step,
        "error_reason": row.reason,
        "rectified_step": row.rectified,
        **({} if numbers is None else {"printed_numbers": numbers}),
    }


def _label(correct: bool, places: Sequence[int], steps: int, named: str) -> Fields:
    """Return the label of a row, and a flag if it is unusable or ambiguous."""
    if correct:
        return {"label": NO_ERROR}
    if not places:
        # No verdict can be right: the index is beyond the steps.
        problem = f"no step is {named.strip()[:60]!r}" if named.strip() else "no step is named"
        return {"label": steps, LABEL_PROBLEM: problem}
    flag = {"label_found_twice": True} if len(places) > 1 else {}
    return {"label": places[0], **flag}


class _MarkedRow(_Row):
    """A row of MR-MATH or MR-GSM8K."""

    id: Id | None = Field(default=None)
    uuid: str | None = None
    question: NonEmpty
    step_format: list[list[str]] | None = Field(
        default=None, validation_alias="model_output_step_format"
    )
    output_steps: list[str] | None = Field(default=None, validation_alias="model_output_steps")
    generator: str | None = None
    correctness: Annotated[Literal["correct", "wrong"], BeforeValidator(_lower)] = Field(
        validation_alias="model_output_solution_correctness"
    )
    error_step: str | int = Field(validation_alias="model_output_solution_first_error_step")
    answer_correctness: str | None = Field(
        default=None, validation_alias="model_output_answer_correctness"
    )
    reason: str | None = Field(
        default=None, validation_alias="model_output_solution_first_error_reason"
    )
    question_type: str | None = None


def _marked_fields(content: Fields, number: int) -> Fields:
    """Return a row of MR-MATH, whose steps have sub-steps, or of MR-GSM8K: labels count from 1."""
    row = _MarkedRow.model_validate(content)
    sub_steps = row.step_format
    steps = row.output_steps or ["\n".join(parts) for parts in sub_steps or []]
    named = str(row.error_step).strip()
    places = [int(named) - 1] if named.isdecimal() and 1 <= int(named) <= len(steps) else []
    name = f"mr_math-{row.id}" if sub_steps else f"mr_gsm8k-{row.uuid or row.id or number - 1}"
    return {
        "id": name,
        "problem": row.question,
        "steps": steps,
        **_label(row.correctness == "correct", places, len(steps), named),
        "subset": row.question_type,
        "generator": row.generator,
        "final_answer_correct": (row.answer_correctness or "correct") == "correct",
        **({} if sub_steps else {"rule": "mr_gsm8k", "error_step": str(row.error_step)}),
        **({"error_reason": row.reason} if row.reason else {}),
        **({"sub_steps": list(map(len, sub_steps))} if sub_steps else {}),
    }


class _RedundantRow(_Row):
    id: Id
    question: NonEmpty
    step_format: list[list[str]] = Field(validation_alias="model_output_step_format")
    generator: str | None = None
    rating: list[Literal[0, 1]]


def _redundant_fields(content: Fields, number: int) -> Fields:
    """Return a row of MR-MATH's redundant errors: a step with the rating 0 is redundant."""
    row = _RedundantRow.model_validate(content)
    if len(row.rating) != len(row.step_format):
        raise ValueError(f"{len(row.rating)} ratings of {len(row.step_format)} steps")
    wrong = [step for step, useful in enumerate(row.rating) if not useful]
    return {
        "id": f"mr_math_redundant-{row.id}",
        "problem": row.question,
        "steps": ["\n".join(parts) for parts in row.step_format],
        "label": min(wrong, default=NO_ERROR),
        # PRMBench's class with the same rule: wrong steps are those that are called redundant.
        "subset": "redundency",
        "generator": row.generator,
        "wrong_steps": wrong,
    }


class _MathCheckRow(_Row):
    id: Id | None = None
    group_id: Id | None = None
    question: NonEmpty
    solution: NonEmpty
    answer: Annotated[str, Field(pattern=r"^Step \d+$")]
    question_type: NonEmpty


def _mathcheck_fields(content: Fields, number: int) -> Fields:
    """Return a row of MathCheck's process judging: the label is the number that a step prints."""
    if content["task_type"] != "process_judging":
        raise ValueError(
            f"a row of the task {content['task_type']!r}; only those of process_judging have a "
            "first error"
        )
    row = _MathCheckRow.model_validate(content)
    steps, numbers = printed_steps(row.solution.split("\n"))
    wanted = int(row.answer.removeprefix("Step "))
    labelled = _label(False, [i for i, n in enumerate(numbers) if n == wanted], len(steps), "")
    if labelled.pop(LABEL_PROBLEM, None):
        # The published figures count this row.
        labelled[PROBLEMS] = [f"no step prints the labelled number {wanted}"]
    return {
        **({"id": f"mathcheck-{row.id}"} if row.id is not None else {}),
        "problem": row.question,
        "steps": steps,
        **labelled,
        "subset": row.question_type,
        **({"cluster": f"mathcheck-{row.group_id}"} if row.group_id is not None else {}),
        "labelled_number": wanted,
        "printed_numbers": numbers,
        # With its blank lines, as the published prompt shows it.
        "solution": row.solution,
    }


class _MistakeRow(_Row):
    id: Id | None = None
    task: str | None = None
    input: NonEmpty
    steps: Steps
    target: str
    answer: str | None = None
    mistake_index: Index


def _mistake_fields(content: Fields, number: int) -> Fields:
    """Return a row of BIG-Bench Mistake: the label counts from 0, and null is no mistake."""
    row = _MistakeRow.model_validate(content)
    task = row.task or content.get("subset")
    name = row.id or (f"{task}-{number - 1}" if task else None)
    label = NO_ERROR if row.mistake_index is None else row.mistake_index
    return {
        **({"id": name} if name is not None else {}),
        "problem": row.input,
        "steps": row.steps,
        "label": label,
        "subset": task,
        "answer": row.answer,
        "target": row.target,
        "answer_correct": row.answer == row.target,
    }


_CONVERTERS: dict[str, Callable[[Fields, int], Fields]] = {
    "PRMBench": _prmbench_fields,
    "MR-Ben": _mr_ben_fields,
    "MR-MATH": _marked_fields,
    "MR-MATH, redundant": _redundant_fields,
    "MathCheck": _mathcheck_fields,
    "BIG-Bench Mistake": _mistake_fields,
}
_BY_KIND: dict[RowKind | None, Callable[[Fields], Fields]] = {
    "error_sections": _deltabench_fields,
    "trajectory": trajectory_fields,
    "attribution": attribution_fields,
}


def as_first_error(content: Fields, number: int) -> Fields:
    """Return a row of any known format with the fields of a first-error row."""
    if (read := _BY_KIND.get(row_kind(content))) is not None:
        return read(content)
    name = row_format(content)
    return content if name is None else _CONVERTERS[name](content, number)
