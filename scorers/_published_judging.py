"""The published rules of MathCheck's process judging and of MR-MATH, for recorded critiques."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence

from inspect_ai.scorer import (
    CORRECT,
    INCORRECT,
    Metric,
    SampleScore,
    Score,
    Scorer,
    Target,
    metric,
    scorer,
    value_to_float,
)
from inspect_ai.solver import TaskState

from misstep.samples import (
    GroupMetadata,
    NumberedSolutionMetadata,
    PublishedScoresMetadata,
    RecordedJudgementMetadata,
    WrongStepsMetadata,
)
from misstep.scorers._intervals import metric_from, ratio
from misstep.verdicts import Unread, Verdict

_hit = value_to_float()
_STEP = r"Step \d+"
ALL_CORRECT = "All-Correct"


def read_judged_step(text: str) -> int | None:
    """Return the number in the last "the answer is … step N"; nothing is guessed.

    Only characters that are no words may stand between them, or anything without digits on the same
    line.
    """
    found = re.findall(r"the answer is(?:\W*|[^\d\n]*?)\bstep\s*(\d{1,9})", text, re.IGNORECASE)
    return int(found[-1]) if found else None


def judged_verdict(text: str, printed: Sequence[int | None]) -> Verdict | Unread:
    """Return the index of the first step that prints the named number.

    A number that no step prints is an index beyond the steps.
    """
    number = read_judged_step(text)
    if number is None:
        return Unread.NO_CONCLUSION if text.strip() else Unread.EMPTY
    return list(printed).index(number) if number in printed else len(printed)


def read_judged_step_published(text: str) -> str | None:
    """Return what MathCheck's code reads: "Step N", "All-Correct", or None. It guesses."""

    def search(pattern: str, where: str = text) -> re.Match[str] | None:
        return re.search(pattern, where, flags=re.IGNORECASE)

    if search("all steps are correct"):
        return ALL_CORRECT
    if found := search(rf"The answer is(.*?)({_STEP})"):
        return found[2].replace("step", "Step")
    if (found := search(r"Judgement:\s*(\w+)")) and found[1].lower().startswith("step"):
        return found[1].replace("step", "Step")
    named = {step.lower() for step in re.findall(_STEP, text, flags=re.IGNORECASE)}
    if len(named) == 1:
        return str(named.pop()).capitalize()
    if found := search(rf"(?:begins?|began|starts?) (?:at|with) ({_STEP})"):
        return found[1].capitalize()
    sentences = re.split(r"[.!?]+", text)
    several = len(sentences) > 1
    last = sentences[-2].strip() if several else sentences[0]
    for sentence in (last, sentences[0].strip() if several else sentences[0]):
        if " correct" in sentence.lower():
            return ALL_CORRECT
        if found := search(_STEP, sentence):
            return found[0]
    return None


# A mean over epochs loses what was read, so the metrics count every epoch.
@metric(name="judging_metrics", scores="unreduced")
def judging_metrics() -> Metric:
    """Accuracy as MathCheck prints it, the plain mean over the types of question, and counts."""
    return metric_from(_judging)


def _judging(scores: list[SampleScore]) -> Iterator[tuple[str, float]]:
    about = [GroupMetadata.model_validate(one.sample_metadata or {}) for one in scores]
    counts = Counter(one.subset for one in about)
    # Every type of question has the same weight. Questions of one group are not independent.
    weights = [1 / (len(counts) * counts[one.subset]) for one in about]
    hits = [_hit(one.score.value) * weight for one, weight in zip(scores, weights, strict=True)]
    clusters = [
        group.cluster or str(one.sample_id) for group, one in zip(about, scores, strict=True)
    ]
    mean = ratio(hits, weights, clusters)
    yield "process_judging", mean.value
    answers = [score.score.answer for score in scores]
    yield "none_count", answers.count(None)
    yield "all_correct_count", answers.count(ALL_CORRECT)
    yield "total_count", len(scores)
    yield from mean.interval("process_judging")


@scorer(metrics=[judging_metrics()])
def process_judging_published() -> Scorer:
    """Score a reply by MathCheck's code: the text "Step N" must be that of the label."""

    async def score(state: TaskState, target: Target) -> Score:
        said = read_judged_step_published(state.output.completion)
        wanted = f"Step {state.metadata_as(NumberedSolutionMetadata).labelled_number}"
        return Score(
            value=CORRECT if said == wanted else INCORRECT,
            answer=said,
            explanation=f"Read as {said or 'nothing'}; the label is {wanted}.",
        )

    return score


@metric(name="meta_reasoning_metrics")
def meta_reasoning_metrics() -> Metric:
    """ReasonEval's macro F1 of solutions, and of the steps up to the first error."""
    return metric_from(_meta_reasoning)


def _meta_reasoning(scores: list[SampleScore]) -> Iterator[tuple[str, float]]:
    values = [score.score.as_dict() for score in scores]
    for level in ("solution", "step"):
        names = (f"{level}_right", f"{level}_right_hits", f"{level}_wrong", f"{level}_wrong_hits")
        totals = [sum(float(str(one[name])) for one in values) for name in names]
        yield f"{level}_macro_f1", _macro_f1(*totals)
    yield "total_count", len(scores)


def _macro_f1(right: float, right_hits: float, wrong: float, wrong_hits: float) -> float:
    """Return the mean of the F1 of both classes; 0 for a class that is never hit."""
    false_right, false_wrong = wrong - wrong_hits, right - right_hits
    parts = [
        2 * hits / total if (total := 2 * hits + missed + alarms) else 0.0
        for hits, missed, alarms in (
            (right_hits, false_wrong, false_right),
            (wrong_hits, false_right, false_wrong),
        )
    ]
    return sum(parts) / 2


@scorer(metrics=[meta_reasoning_metrics()])
def meta_reasoning_published() -> Scorer:
    """Score a recorded critique of MR-MATH by ReasonEval's code."""

    async def score(state: TaskState, target: Target) -> Score:
        about = state.metadata_as(RecordedJudgementMetadata)
        said, steps, label = about.correctness_pred, len(about.steps), int(target.text)
        wrong = label >= 0
        hit = said in (("Wrong", "wrong") if wrong else ("Correct", "correct"))
        number = re.search(r"\d{1,9}", about.error_step_pred)
        named = int(number[0]) if number and said not in ("Correct", "correct") else steps + 1
        # Steps up to the named one count as right; without a usable number all do.
        predicted = (
            [1] * steps if named > steps else [1] * (named - 1) + [0] + [2] * (steps - named)
        )
        gold = [1] * (label if wrong else steps) + [0] * wrong
        explanation = f"Said {said}, step {about.error_step_pred}; label {label}."
        return _meta_reasoning_score(wrong, hit, gold, predicted, said, explanation)

    return score


@scorer(metrics=[meta_reasoning_metrics()])
def redundancy_published() -> Scorer:
    """Score a recorded critique of redundant steps by ReasonEval's code.

    Every number in the reply's line of steps names a redundant step.
    """

    async def score(state: TaskState, target: Target) -> Score:
        about = state.metadata_as(RecordedJudgementMetadata)
        said, named = about.correctness_pred, about.error_step_pred
        redundant = state.metadata_as(WrongStepsMetadata).wrong_steps
        hit = said in (("Present", "present") if redundant else ("Absent", "absent"))
        numbers = {int(number) for number in re.findall(r"\d{1,9}", named)}
        steps = range(len(about.steps))
        gold = [int(step not in redundant) for step in steps]
        predicted = [int(step + 1 not in numbers) for step in steps]
        explanation = f"Said {said}, {named}; redundant: {[step + 1 for step in redundant]}."
        return _meta_reasoning_score(bool(redundant), hit, gold, predicted, said, explanation)

    return score


@scorer(metrics=[meta_reasoning_metrics()])
def reward_meta_reasoning_published() -> Scorer:
    """Score the recorded step scores of a reward model by ReasonEval's code.

    A solution is right if its least score is above the threshold, and wrong if it is below. A step
    that is not above the threshold is wrong.
    """

    async def score(state: TaskState, target: Target) -> Score:
        about = state.metadata_as(PublishedScoresMetadata)
        scores, limit, label = about.published_scores, about.published_threshold, int(target.text)
        predicted = [int(one > limit) for one in scores]
        if about.wrong_steps is not None:
            gold = [int(step not in about.wrong_steps) for step in range(len(scores))]
        else:
            gold = [1] * len(scores) if label < 0 else [1] * label + [0]
        wrong, least = 0 in gold, min(scores)
        hit = least < limit if wrong else least > limit
        said = "wrong" if least < limit else "right"
        explanation = f"The least score is {least:.4g}, the threshold {limit:g}; label {label}."
        return _meta_reasoning_score(wrong, hit, gold, predicted, said, explanation)

    return score


def _meta_reasoning_score(
    wrong: bool,
    hit: bool,
    gold: Sequence[int],
    predicted: Sequence[int],
    said: str,
    explanation: str,
) -> Score:
    pairs = list(zip(gold, predicted, strict=False))
    return Score(
        value={
            "solution_right": float(not wrong),
            "solution_right_hits": float(hit and not wrong),
            "solution_wrong": float(wrong),
            "solution_wrong_hits": float(hit and wrong),
            "step_right": float(list(gold).count(1)),
            "step_right_hits": float(pairs.count((1, 1))),
            "step_wrong": float(list(gold).count(0)),
            "step_wrong_hits": float(pairs.count((0, 0))),
        },
        answer=said,
        explanation=explanation,
    )
