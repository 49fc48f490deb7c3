"""Marks: what a reply says of a solution, the scores, and MR-Score.

The reply has headed fields: correct or not, the first wrong step, and why. MR-Ben and MR-GSM8K
publish a reading each; ours takes what is evident.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import isnan, nan, sqrt
from typing import Any, cast

from inspect_ai.scorer import Metric, SampleScore, Score, Scorer, Target, Value, metric, scorer
from inspect_ai.solver import TaskState

from misstep.plain_text import metric_values
from misstep.samples import LabelMetadata, MarkedMetadata
from misstep.scorers._first_error import NOT_UNPARSED, sample_count
from misstep.scorers._intervals import Draws, from_draws, harmonic_mean, multinomial_draws, share
from misstep.scorers._votes import REASONS, UNREAD_TEXT
from misstep.stores import ReasonGrade
from misstep.verdicts import NO_ERROR, Unread, Verdict

_MARK_WEIGHT, _STEP_WEIGHT, _REASON_WEIGHT = 0.2, 0.3, 0.5
"""The published weights."""


@dataclass(frozen=True)
class MarkingSample:
    """What the metrics need of one scored sample."""

    mark: float
    step: float
    """nan for a correct solution, which has no wrong step."""
    reason: float
    """nan for a correct solution, and without a grader."""
    first_error: float
    has_error: bool
    usable: bool
    """Whether the label can be compared with a verdict."""
    subset: str
    cluster: str
    unread: str | None
    graded: bool


_PARTS = ("mr_score_without_reason", "mcc", "task2_accuracy", "task3_accuracy", "mr_score")
_REGISTERED = (
    *(*_PARTS, "unparsed", "truncated", "stderr"),
    *("mr_score_without_reason_lower", "mr_score_without_reason_upper"),
)


# A mean over epochs loses which replies were read, so the metrics pool all epochs.
@metric(name="marking_metrics", scores="unreduced")
def marking_metrics(published: bool = False) -> Metric:
    """MR-Score without and with its graded part, and its parts.

    The parts are means over subjects, as published. An undefined MCC is 0 in the published code.
    """

    def compute(scores: list[SampleScore]) -> Value:
        found = marking_table(scores, published)
        names = _PARTS if published else _REGISTERED
        return {name: found[name] for name in names if name in found}

    return compute


def marking_table(epochs: Sequence[SampleScore], published: bool = False) -> dict[str, float]:
    """Return every metric of marks and of first errors, from the scores of all epochs."""
    found = metric_values(_metrics([_sample(one) for one in epochs], published))
    return found | {"total_count": sample_count(epochs)}


def _sample(scored: SampleScore) -> MarkingSample:
    values, metadata = scored.score.as_dict(), scored.score.metadata or {}
    about = LabelMetadata.model_validate(scored.sample_metadata or {})
    numbers = {name: float(cast(float, value)) for name, value in values.items()}
    return MarkingSample(
        mark=numbers["mark"],
        step=numbers.get("step", nan),
        reason=numbers.get("reason", nan),
        first_error=numbers["first_error"],
        has_error=about.has_error,
        usable="label_problem" not in metadata,
        subset=about.subset or "",
        cluster=about.cluster or str(scored.sample_id),
        unread=metadata.get("unread"),
        graded=bool(metadata.get("graded")),
    )


def _metrics(samples: list[MarkingSample], published: bool) -> Iterator[tuple[str, float]]:
    subjects = list(_by_subset(samples).values())
    parts = [subject_parts(members) for members in subjects]
    if published:
        parts = [(0.0 if isnan(mcc) else mcc, step, reason) for mcc, step, reason in parts]
    mcc, step, reason = (_mean([part[i] for part in parts]) for i in range(3))
    cut = _mean([max(0.0, part[0]) if part[0] == part[0] else nan for part in parts])
    questions = len({(sample.subset, sample.cluster) for sample in samples})
    score = from_draws(_weighted(cut, step), _draws(subjects), questions)
    yield "mr_score_without_reason", score.value
    yield "mcc", mcc
    yield "task2_accuracy", step
    if samples and all(sample.graded for sample in samples):
        # Only a graded run has an MR-Score.
        yield "task3_accuracy", reason
        yield "mr_score", _MARK_WEIGHT * cut + _STEP_WEIGHT * step + _REASON_WEIGHT * reason
    usable = [sample for sample in samples if sample.usable]
    wrong = [sample.first_error for sample in usable if sample.has_error]
    right = [sample.first_error for sample in usable if not sample.has_error]
    yield "f1_score", harmonic_mean(share(wrong).value, share(right).value)
    yield "error_accuracy", share(wrong).value
    yield "correct_accuracy", share(right).value
    unparsed = [float(sample.unread not in NOT_UNPARSED) for sample in samples]
    yield "unparsed", share(unparsed).value
    yield "truncated", share([float(one.unread == Unread.TRUNCATED) for one in samples]).value
    yield "total_count", len(samples)
    yield from score.interval("mr_score_without_reason")
    # Inspect's dataframes and viewer take a metric of this name as the error bar of the headline.
    yield "stderr", score.stderr


def _weighted(cut: float, step: float) -> float:
    """Return the published weights without the reason, scaled to 1."""
    return (_MARK_WEIGHT * cut + _STEP_WEIGHT * step) / (_MARK_WEIGHT + _STEP_WEIGHT)


def _mean(values: Sequence[float]) -> float:
    known = [value for value in values if not isnan(value)]
    return sum(known) / len(known) if known else nan


def _by_subset(samples: Sequence[MarkingSample]) -> dict[str, list[MarkingSample]]:
    subsets: dict[str, list[MarkingSample]] = {}
    for sample in samples:
        subsets.setdefault(sample.subset, []).append(sample)
    return subsets


def subject_parts(samples: Sequence[MarkingSample]) -> tuple[float, float, float]:
    """Return MCC, and the shares of wrong solutions whose step and reason are right.

    An unreadable mark is an error of its class, so MCC is defined by the right marks alone.
    """
    wrong = [sample for sample in samples if sample.has_error]
    right = [sample for sample in samples if not sample.has_error]
    tp, tn = sum(one.mark for one in right), sum(one.mark for one in wrong)
    mcc = _mcc(tp, tn, len(wrong) - tn, len(right) - tp)
    if not wrong:
        return mcc, nan, nan
    shares = (sum(one.step for one in wrong), sum(one.reason for one in wrong))
    return mcc, shares[0] / len(wrong), shares[1] / len(wrong)


def _draws(subjects: Sequence[Sequence[MarkingSample]]) -> Draws:
    """Return MR-Score without reason of resamples of the questions, drawn in each subject."""
    import numpy as np

    scores = []
    for samples in subjects:
        sums: dict[str, list[float]] = {}
        for one in samples:
            own = sums.setdefault(one.cluster, [0.0] * 5)
            place = 2 if one.has_error else 0
            own[place] += 1
            own[place + 1] += one.mark
            own[4] += one.step if one.has_error else 0
        cells, counts = np.unique(np.array(list(sums.values())), axis=0, return_counts=True)
        right, tp, wrong, tn, steps = (multinomial_draws(counts) @ cells).T
        fp, fn = wrong - tn, right - tp
        with np.errstate(invalid="ignore", divide="ignore"):
            root = np.sqrt((tp + fp) * (tp + fn) * (tn + fp) * (tn + fn))
            mcc = np.nan_to_num(np.maximum(0.0, (tp * tn - fp * fn) / root))
            scores.append(
                (_MARK_WEIGHT * mcc + _STEP_WEIGHT * steps / wrong) / (_MARK_WEIGHT + _STEP_WEIGHT)
            )
    if not scores:
        return np.full(1, nan)
    known = ~np.isnan(scores)
    with np.errstate(invalid="ignore"):
        # A resample without any wrong solution has no score.
        draws: Draws = np.sum(scores, axis=0, where=known, initial=0.0) / known.sum(axis=0)
    return draws


def _mcc(tp: float, tn: float, fp: float, fn: float) -> float:
    root = sqrt((tp + fp) * (tp + fn) * (tn + fp) * (tn + fn))
    return (tp * tn - fp * fn) / root if root else nan


_LONGEST_STEP = 30
"""The published readings know the steps up to 29."""

_CORRECTNESS = r"(?:solution correctness|final judge?ment)"
_STEP = r"first error step"
_REASON = r"error (?:reason|analysis)"
_HEADING = r"(?:^|[\s*_#>-]){}[\s*_]*:[\s*_]*"
_WORD = re.compile(r"\b(incorrect|wrong|correct)\b", re.IGNORECASE)


@dataclass(frozen=True)
class Marking:
    """A mark: whether the solution is called correct, and its first wrong step."""

    correct: bool | None
    """None if the reply does not say it."""
    step: str
    """The first wrong step in the words of the reply."""
    reason: str
    both: bool = False
    """The reply has the words of both marks, and either counts (MR-GSM8K's published reading)."""

    def agrees(self, correct: bool) -> bool:
        """Return whether the mark is that of the label."""
        return self.both or self.correct is correct


def read_marking(text: str) -> Marking:
    """Return the mark in a reply: headings in any case and markup, and the line after each."""
    said = _WORD.search(_field(text, _CORRECTNESS))
    return Marking(
        correct=None if said is None else said[1].lower() == "correct",
        step=_field(text, _STEP),
        reason=_rest(text, _REASON),
    )


def marked_step(
    marking: Marking, steps: Sequence[str], numbers: Sequence[int | None] | None, code: bool
) -> Verdict | Unread:
    """Return the index of the first wrong step that a mark names, or why there is none.

    A number is that which a step prints, if the steps print numbers. In code, the line is named
    itself. A step that does not exist gets the index after the last.
    """
    if marking.correct is None:
        return Unread.NO_CONCLUSION
    if marking.correct:
        return NO_ERROR
    if code:
        named = marking.step.strip().strip("`").strip()
        places = [i for i, line in enumerate(steps) if named and line.strip() == named]
        return places[0] if places else len(steps) if named else Unread.NO_SECTION
    digits = re.search(r"\d{1,9}", marking.step)
    if digits is None:
        return Unread.NO_SECTION
    number = int(digits[0])
    printed: list[int | None] = list(numbers or range(1, len(steps) + 1))
    return printed.index(number) if number in printed else len(steps)


def _field(text: str, heading: str) -> str:
    """Return the text after the first heading: the rest of its line, or the next line."""
    return _rest(text, heading).partition("\n")[0]


def _rest(text: str, heading: str) -> str:
    found = re.search(_HEADING.format(heading), text, re.IGNORECASE)
    return text[found.end() :].strip() if found else ""


def read_marking_published(text: str) -> Marking:
    """Return the mark by MR-Ben's code: the first two parts of a split at each heading.

    If a heading is missing, the fields before it stay, and the others are empty.
    """
    fields = ["", "", ""]
    rest = text
    for place, heading in enumerate(("Solution Correctness", "First Error Step", "Error Reason")):
        parts = re.split(rf"\*?\*?{heading}:?\*?\*?:?", rest)[:2]
        if len(parts) < 2:
            break
        if place:
            fields[place - 1] = parts[0]
        rest = parts[1]
        if place == 2:
            fields[2] = rest
    said = "".join(c for c in fields[0] if c.isalpha()).lower()
    correct = {"correct": True, "incorrect": False}.get(said)
    return Marking(correct, fields[1], fields[2])


def published_step(step: str) -> str:
    """Return the number that MR-Ben's code compares with the label; a bare number never counts."""
    words = "".join(c for c in step if c.isalnum() or c.isspace()).lower().strip()
    named = re.fullmatch(r"step (\d+)", words)
    return named[1] if named and int(named[1]) < _LONGEST_STEP else ""


_GSM8K_FIELDS = (
    r"Final Judgement:\s*(.*?)\s*First Error Step:",
    r"First Error Step:\s*(.*?)\s*Error Analysis:",
    r"Error Analysis:\s*(.*)",
)


def read_marking_gsm8k(text: str) -> Marking:
    """Return the mark by MR-GSM8K's code: all three headings, or nothing.

    "incorrect" alone means wrong; otherwise the word of the label must be part of the judgement,
    so "incorrect." counts as correct.
    """
    found = [re.search(pattern, text, re.DOTALL) for pattern in _GSM8K_FIELDS]
    if not all(found):
        return Marking(None, "", "")
    judgement, step, reason = (match[1] for match in found if match is not None)
    said = judgement.strip().lower()
    calls = ("correct" in said and said != "incorrect", "wrong" in said or said == "incorrect")
    correct = {(True, False): True, (False, True): False}.get(calls)
    return Marking(correct, step.strip(), reason, both=all(calls))


def gsm8k_step(step: str) -> str:
    """Return the number that MR-GSM8K's code compares with the label."""
    named = re.fullmatch(r"(?:step )?(\d+)", step.strip().lower())
    return named[1] if named else ""


def reason_is_right(decision: str, published: bool) -> bool | None:
    """Return what a grader decides about a reason; None if it decides nothing.

    The published code looks for "correct" anywhere, so "Incorrect" counts as right.
    """
    final = re.search(r"Final Decision:\s*(.*)", decision, re.DOTALL | re.IGNORECASE)
    said = final[1] if final else ""
    if published:
        return "correct" in said.lower()
    word = _WORD.search(said)
    return None if word is None else word[1].lower() == "correct"


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
    value = {"mark": float(right_mark), "first_error": float(verdict == about.label)}
    # A correct solution has no wrong step and no reason to find.
    if about.label != NO_ERROR:
        value["step"] = float(step_right)
        if grade.grader is not None:
            value["reason"] = float(bool(reason))
    return Score(
        value=value,
        answer=answer,
        explanation=f"{words}; the solution is {gold}.",
        reason=REASONS[unread] if unread else None,
        metadata=metadata,
    )
