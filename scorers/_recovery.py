"""The recovery scorers: strict and lenient, of the same answers, and the grades of a grader."""

import re
from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from inspect_ai.scorer import Score, Scorer, Target, scorer
from inspect_ai.solver import TaskState

from misstep.registry import AnswerKind, MisstepError, find_continuation
from misstep.samples import RecoveryMetadata
from misstep.scorers._first_error import code
from misstep.scorers._recovery_metrics import recovery_metrics
from misstep.scorers._votes import REASONS, UNREAD_TEXT, shortened
from misstep.stores import RecoveryGrade, Variation, VariationRecord, variation_records
from misstep.verdicts import Reading, Unread

_LONGEST = 200
"""Characters of an answer that a score keeps. The sample's store has the full answer."""


@scorer(metrics=[recovery_metrics()])
def recovery(prompts: str = "error_recovery") -> Scorer:
    """Score each variation strictly: the final answer equals the target.

    Args:
        prompts: The prompts of the sample's task: a name in `registry/continuations.yaml`.
    """
    return _recovery("strict", prompts)


@scorer(metrics=[])
def recovery_lenient(prompts: str = "error_recovery") -> Scorer:
    """Score each variation leniently: the final answer means the target.

    It registers no metrics. `misstep.scorers.recovery_table` computes them from the scores.

    Args:
        prompts: The prompts of the sample's task: a name in `registry/continuations.yaml`.
    """
    return _recovery("lenient", prompts)


@scorer(metrics=[])
def recovery_grades() -> Scorer:
    """Show a grader's four truth values on each reply to a wrong step.

    It registers no metrics: those of `recovery` contain the grades. Without a model role `grader`
    it scores nothing.
    """

    async def score(state: TaskState, target: Target) -> Score | None:
        grades = {
            name: record.grade
            for name, record in variation_records(state.store).items()
            if record.grade is not None
        }
        if not grades:
            return None
        return Score(
            value={
                f"{name}_{truth}": int(value)
                for name, grade in grades.items()
                for truth, value in grade
            },
            explanation=_grades_table(grades),
        )

    return score


def _grades_table(grades: Mapping[Variation, RecoveryGrade]) -> str:
    truths = [name.replace("_", " ") for name in RecoveryGrade.model_fields]
    lines = [f"| | {' | '.join(truths)} |", "| --- |" + " --- |" * len(truths)]
    for name, grade in grades.items():
        lines.append(f"| {name} | {' | '.join('yes' if value else 'no' for _, value in grade)} |")
    return "\n".join(lines)


def _recovery(reading: Reading, prompts: str) -> Scorer:
    known = find_continuation(prompts)

    async def score(state: TaskState, target: Target) -> Score:
        kind = known.task(state.metadata_as(RecoveryMetadata).task).answer
        records = variation_records(state.store)
        if "IR" not in records:
            raise MisstepError(
                "The sample has no answer to the variation IR: `recovery` scores what the solver "
                "`continuation` leaves."
            )
        if known.final is None:
            records = {name: _with_answer(record, kind) for name, record in records.items()}
        return score_variations(records, target.text, kind, reading)

    return score


def _with_answer(record: VariationRecord, kind: AnswerKind) -> VariationRecord:
    """Return a record whose answer is read from the model's reasoning, as far as it goes."""
    last = record.last
    reasoning = [*record.reasoning, last] if last.unread is Unread.TRUNCATED else record.reasoning
    if last.unread is Unread.TRUNCATED:
        last = last.model_copy(update={"stop_reason": "stop", "tokens": 0})
    update = {"answer": answer_in(record.answer, kind), "last": last, "reasoning": reasoning}
    return record.model_copy(update=update)


def answer_in(text: str, kind: AnswerKind) -> str:
    """Return the last letter in parentheses or the last number of a text, or nothing."""
    found = (_LETTER if kind == "letter" else _NUMBER).finditer(text.translate(_MINUS))
    return next((one.group() for one in reversed(list(found))), "")


def score_variations(
    records: Mapping[Variation, VariationRecord], target: str, kind: AnswerKind, reading: Reading
) -> Score:
    """Score the variations of a sample. An empty, refused or truncated reply is wrong."""
    value: dict[str, str | int | float | bool | None] = {}
    metadata: dict[str, Any] = {}
    for name, record in records.items():
        unread = record.last.unread
        value[name] = int(unread is None and is_right(record.answer, target, kind, reading))
        metadata[name] = {
            "answer": shortened(record.answer, _LONGEST),
            "turn": record.turn,
            "unread": unread and unread.value,
            "reasoning_unread": [r.unread.value for r in record.reasoning if r.unread],
            "tokens": sum(reply.tokens for reply in [*record.reasoning, record.last]),
            "acknowledged": record.acknowledged,
        }
        if record.marker:
            metadata[name]["marker"] = record.marker
        if record.grade is not None:
            metadata[name]["grade"] = record.grade.model_dump()
    unread = next((entry["unread"] for entry in metadata.values() if entry["unread"]), None)
    return Score(
        value=value,
        answer=" · ".join(f"{name} {shortened(r.answer.strip())}" for name, r in records.items()),
        explanation=_explanation(value, metadata, target),
        reason=REASONS[unread] if unread else None,
        metadata=metadata,
    )


_TURNS = {
    "plain": "after the user's message",
    "continued": "continued the given text",
    "new_turn": "a new turn after the given text",
    "asked": "after a request to continue",
}


def _explanation(value: dict[str, Any], metadata: dict[str, Any], target: str) -> str:
    """Return a table of the answers, for the viewer."""
    lines = [
        f"Target: {code(target)}",
        "",
        "| | answer | | reasoning |",
        "| --- | --- | --- | --- |",
    ]
    for name, entry in metadata.items():
        result = "right" if value[name] else "wrong"
        if entry["unread"]:
            result = f"wrong: {UNREAD_TEXT[entry['unread']]}"
        answer = code(shortened(entry["answer"])).replace("|", "\\|")
        turn = _TURNS[entry["turn"]]
        if "marker" in entry:
            turn += f", which ends with the marker {code(entry['marker'].strip())}"
        lines.append(f"| {name} | {answer} | {result} | {turn} |")
    return "\n".join(lines)


_QUOTES = "\"'`´“”‘’„‚«»"
_PREFIX = re.compile(r"answer ?:", re.IGNORECASE)
_LETTER = re.compile(r"\(([A-Za-z])\)")
_NUMBER = re.compile(r"[-+]?(?:\d{1,3}(?:,\d{3}){1,30}|\d{1,100})(?:\.\d{1,100})?|[-+]?\.\d{1,100}")
_MINUS = str.maketrans({"\u2212": "-", "\u2013": "-"})


def is_right(reply: str, target: str, kind: AnswerKind, reading: Reading) -> bool:
    """Return whether a reply gives the target.

    Strict compares the texts as they are. Lenient ignores spaces, quotes, a leading "Answer:" and a
    final period. It compares words in lower case, numbers as numbers, brackets without spaces, and
    options by their one letter in parentheses.
    """
    if reading == "strict":
        return reply == target
    return _meant(reply, kind) == _meant(target, kind)


def _meant(text: str, kind: AnswerKind) -> object:
    plain = _plain(text)
    match kind:
        case "number":
            number = plain.translate(_MINUS)
            found = _NUMBER.fullmatch(number)
            return Decimal(number.replace(",", "")) if found else plain.lower()
        case "letter":
            letters = {letter.upper() for letter in _LETTER.findall(plain)}
            return letters.pop() if len(letters) == 1 else plain.lower()
        case "brackets":
            return plain.replace(" ", "")
        case "words":
            return plain.lower()


def _plain(text: str) -> str:
    """Return an answer without quotes, prefix and period, with single spaces."""
    plain = _unquoted(" ".join(text.split()))
    if prefix := _PREFIX.match(plain):
        plain = _unquoted(plain[prefix.end() :])
    return _unquoted(plain.removesuffix("."))


def _unquoted(text: str) -> str:
    return text.strip(_QUOTES + " ")
