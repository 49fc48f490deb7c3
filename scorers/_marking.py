"""The scorers of marks: ours, and those that MR-Ben and MR-GSM8K publish, from the same reply."""

from typing import Any

from inspect_ai.scorer import Score, Scorer, Target, scorer
from inspect_ai.solver import TaskState

from misstep.samples import MarkedMetadata, ReasonGrade
from misstep.scorers._first_error import REASONS, UNREAD_TEXT
from misstep.scorers._marking_metrics import marking_metrics
from misstep.scorers._marking_replies import (
    Marking,
    gsm8k_step,
    marked_step,
    published_step,
    read_marking,
    read_marking_gsm8k,
    read_marking_published,
    reason_is_right,
)
from misstep.verdicts import NO_ERROR, Unread, Verdict


def _our_verdict(text: str, about: MarkedMetadata) -> tuple[Marking, Verdict | Unread]:
    marking = read_marking(text)
    return marking, marked_step(marking, about.steps, about.printed_numbers, about.code)


def _published_marking(text: str, about: MarkedMetadata) -> tuple[Marking, bool]:
    """Return the mark by the published code, and whether its step is that of the label."""
    if about.rule == "mr_gsm8k":
        marking = read_marking_gsm8k(text)
        return marking, gsm8k_step(marking.step) == about.error_step
    marking = read_marking_published(text)
    if about.code:
        return marking, marking.step.strip() == (about.error_step or "").strip() != ""
    return marking, published_step(marking.step) == about.error_step


def needs_grade(text: str, about: MarkedMetadata) -> Marking | None:
    """Return the mark whose reason a grader judges, or None.

    These are wrong solutions whose first wrong step was found, by our reading or by the published
    one; in code every solution that was called wrong, as published.
    """
    if about.label == NO_ERROR:
        return None
    ours, verdict = _our_verdict(text, about)
    published, step_right = _published_marking(text, about)
    if verdict == about.label or (about.code and ours.correct is False):
        return ours
    found = published.agrees(False) and (step_right or about.code)
    return published if found else None


@scorer(metrics=[marking_metrics()])
def marking() -> Scorer:
    """Score a mark: correctness, the first wrong step, and the reason if a grader judged it."""

    async def score(state: TaskState, target: Target) -> Score:
        about = state.metadata_as(MarkedMetadata)
        text, stop = state.output.completion, state.output.stop_reason
        mark, verdict = _our_verdict(text, about)
        if stop in ("max_tokens", "model_length"):
            mark, verdict = Marking(None, "", ""), Unread.TRUNCATED
        elif not text.strip():
            verdict = Unread.EMPTY
        right_mark = mark.agrees(about.label == NO_ERROR)
        grade = state.store_as(ReasonGrade)
        step_right = verdict == about.label != NO_ERROR
        reason = step_right and reason_is_right(grade.decision or "", published=False)
        return _score(about, right_mark, step_right, reason, grade, verdict, mark)

    return score


@scorer(metrics=[marking_metrics(published=True)])
def marking_published() -> Scorer:
    """Score a mark by the published code of MR-Ben, or of MR-GSM8K for its rows."""

    async def score(state: TaskState, target: Target) -> Score:
        about = state.metadata_as(MarkedMetadata)
        mark, step_right = _published_marking(state.output.completion, about)
        wrong = about.label != NO_ERROR
        right_mark = mark.agrees(not wrong)
        grade = state.store_as(ReasonGrade)
        reason = bool(grade.decision) and reason_is_right(grade.decision or "", published=True)
        if about.code:
            # A right reason gives the step and the reason together.
            step_right = wrong and right_mark and (bool(reason) or step_right)
        else:
            step_right = wrong and right_mark and step_right
        verdict: Verdict | Unread = NO_ERROR if mark.correct else Unread.NO_CONCLUSION
        if mark.correct is False:
            verdict = about.label if step_right else len(about.steps)
        return _score(about, right_mark, step_right, step_right and reason, grade, verdict, mark)

    return score


def _score(
    about: MarkedMetadata,
    right_mark: bool,
    step_right: bool,
    reason: bool | None,
    grade: ReasonGrade,
    verdict: Verdict | Unread,
    mark: Marking,
) -> Score:
    unread = verdict if isinstance(verdict, Unread) else None
    metadata: dict[str, Any] = {"graded": grade.grader is not None}
    if unread is not None:
        metadata["unread"] = unread.value
    if about.label_problem:
        metadata["label_problem"] = about.label_problem
    found = "correct" if mark.correct else "incorrect" if mark.correct is False else "neither"
    gold = "correct" if about.label == NO_ERROR else f"incorrect, first at step {about.label}"
    answer = None if unread else str(verdict)
    words = f"Marked as {found}" + (f", step {verdict}" if answer not in (None, "-1") else "")
    if unread:
        words = f"No mark: {UNREAD_TEXT[unread]}"
    if grade.decision:
        words += f"; reason {'right' if reason else 'not right'} by {grade.grader}"
    return Score(
        value={
            "mark": float(right_mark),
            "step": float(step_right),
            "reason": float(bool(reason)),
            "first_error": float(verdict == about.label),
        },
        answer=answer,
        explanation=f"{words}; the solution is {gold}.",
        reason=REASONS[unread] if unread else None,
        metadata=metadata,
    )
