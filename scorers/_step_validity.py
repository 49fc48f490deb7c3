"""The scorers for labels of all steps: strict and published, from the same output.

PRMBench's rule: a valid step is the positive class. TP is a right step called valid, FP a wrong
step called valid, TN a wrong step called invalid, FN a right step called invalid.
"""

import json
import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

from inspect_ai.model import ModelOutput
from inspect_ai.scorer import Score, Scorer, Target, scorer
from inspect_ai.solver import TaskState
from inspect_ai.util import Store
from pydantic import BaseModel, ConfigDict, ValidationError

from misstep.samples import GroupMetadata, WrongStepsMetadata
from misstep.scorers._first_error import REASONS, UNREAD_TEXT
from misstep.scorers._prm_score import COUNTS, LEFT_OUT, prm_score_metrics
from misstep.stores import StepValidity, critic_verdict
from misstep.verdicts import NO_ERROR, Unread, Verdict

_BY_REDUNDANCY = ("redundency", "circular")
"""The classes whose wrong steps are the redundant ones, if the critic judges redundancy."""

_COMMENT = re.compile(r"//.*?$|#.*?$", re.MULTILINE)


class StepScores(BaseModel):
    """The scores that a reply gives to the steps, from -1 to 1."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    validity: list[float]
    redundancy: list[float]

    @property
    def valid(self) -> list[bool]:
        """Whether each step is valid."""
        return [score > 0 for score in self.validity]

    @property
    def redundant(self) -> list[bool]:
        """Whether each step is redundant."""
        return [score > 0 for score in self.redundancy]


def read_step_scores(text: str) -> StepScores | Unread:
    """Return the scores in the first balanced pair of braces that is JSON after cutting comments.

    This is PRMBench's published reading. It does not check the numbers of scores.
    """
    depth, start = 0, 0
    for place, character in enumerate(text):
        if character == "{":
            if depth == 0:
                start = place
            depth += 1
        elif character == "}":
            if depth == 0:
                break
            depth -= 1
            if depth == 0:
                try:
                    content = json.loads(_COMMENT.sub("", text[start : place + 1]))
                except (ValueError, RecursionError):
                    continue
                return _scores(content)
    return Unread.NOT_STRUCTURED if text.strip() else Unread.EMPTY


def _scores(content: object) -> StepScores | Unread:
    try:
        return StepScores.model_validate(content)
    except ValidationError:
        return Unread.NOT_STRUCTURED


def validity_of(
    store: Store, output: ModelOutput, steps: int, subset: str | None
) -> list[bool] | Unread:
    """Return whether the critic calls each step valid, or why that is unknown.

    There may be more or fewer labels than steps. In the classes of redundant steps, a critic that
    judges redundancy calls a redundant step invalid.
    """
    if f"{StepValidity.__name__}:valid" in store:
        left = StepValidity(store=store)
        if left.valid is None:
            return Unread(left.unread or Unread.EMPTY)
        if left.redundant is not None and subset in _BY_REDUNDANCY:
            return [not redundant for redundant in left.redundant]
        return list(left.valid)
    verdict = critic_verdict(store, output)
    if verdict is None:
        return Unread.NOT_STRUCTURED
    if verdict.steps is not None:
        words = [one.verdict for one in verdict.steps]
        unread = [word for word in words if word not in ("right", "wrong")]
        return Unread(unread[0]) if unread else [word == "right" for word in words]
    if verdict.rewards is not None and verdict.threshold is not None:
        if any(reward is None for reward in verdict.rewards):
            return Unread.NO_REWARD
        limit = verdict.threshold
        return [reward is not None and reward >= limit for reward in verdict.rewards]
    return Unread(verdict.unread) if verdict.unread else Unread.NOT_STRUCTURED


def first_invalid(labels: Sequence[bool]) -> Verdict:
    """Return the first step that is called invalid, or NO_ERROR."""
    return next((step for step, valid in enumerate(labels) if not valid), NO_ERROR)


@dataclass(frozen=True)
class StepCount:
    """The number of steps of each outcome."""

    tp: int = 0
    fp: int = 0
    tn: int = 0
    fn: int = 0

    @property
    def value(self) -> dict[str, float]:
        """The value of the score. Inspect averages it over epochs."""
        total = self.tp + self.fp + self.tn + self.fn
        accuracy = (self.tp + self.tn) / total if total else 0.0
        return {"accuracy": round(accuracy, 4)} | {
            name: float(getattr(self, name)) for name in COUNTS
        }


def count_steps(labels: Sequence[bool], wrong: Collection[int]) -> StepCount:
    """Count labels against the wrong steps, by PRMBench's rule: as many steps as labels."""
    pairs = [(step in wrong, valid) for step, valid in enumerate(labels)]
    return StepCount(
        tp=pairs.count((False, True)),
        fp=pairs.count((True, True)),
        tn=pairs.count((True, False)),
        fn=pairs.count((False, False)),
    )


def all_wrongly_called(steps: int, wrong: Collection[int]) -> StepCount:
    """Return the count of a solution without readable labels: every step is called wrongly."""
    return StepCount(fp=len(wrong), fn=steps - len(wrong))


@scorer(metrics=[prm_score_metrics()])
def step_validity() -> Scorer:
    """Score the labels of all steps. A row without one label for each step counts as wrong."""

    async def score(state: TaskState, target: Target) -> Score:
        about, labels = _labels(state)
        return score_validity(labels, about.wrong_steps, len(about.steps))

    return score


def score_validity(labels: Sequence[bool] | Unread, wrong: Sequence[int], steps: int) -> Score:
    """Score labels against the wrong steps. Anything but one label for each step is unread."""
    if not isinstance(labels, Unread) and len(labels) != steps:
        labels = Unread.WRONG_LENGTH
    if isinstance(labels, Unread):
        return _score(all_wrongly_called(steps, wrong), labels, wrong)
    return _score(count_steps(labels, wrong), labels, wrong)


@scorer(metrics=[prm_score_metrics(published=True)])
def step_validity_published() -> Scorer:
    """Score the labels by PRMBench's code: missing labels vanish, and unreadable rows leave."""

    async def score(state: TaskState, target: Target) -> Score:
        about, labels = _labels(state)
        wrong = about.wrong_steps_published or about.wrong_steps
        if isinstance(labels, Unread):
            return _score(StepCount(), labels, wrong, {LEFT_OUT: "no labels"})
        return _score(count_steps(labels, wrong), labels, wrong)

    return score


def _labels(state: TaskState) -> tuple[WrongStepsMetadata, list[bool] | Unread]:
    about = state.metadata_as(WrongStepsMetadata)
    subset = state.metadata_as(GroupMetadata).subset
    return about, validity_of(state.store, state.output, len(about.steps), subset)


def _score(
    count: StepCount,
    labels: Sequence[bool] | Unread,
    wrong: Sequence[int],
    flags: dict[str, Any] | None = None,
) -> Score:
    metadata: dict[str, Any] = dict(flags or {})
    if isinstance(labels, Unread):
        metadata["unread"] = labels.value
        called = f"No labels: {UNREAD_TEXT[labels]}"
    else:
        metadata["labels"] = list(labels)
        called = f"Called invalid: {_listed([i for i, valid in enumerate(labels) if not valid])}"
    counts = f"TP {count.tp}, FP {count.fp}, TN {count.tn}, FN {count.fn}"
    return Score(
        value=dict(count.value),
        answer=None if isinstance(labels, Unread) else str(first_invalid(labels)),
        explanation=f"{called}; wrong: {_listed(wrong)} ({counts}).",
        reason=REASONS[labels] if isinstance(labels, Unread) else None,
        metadata=metadata,
    )


def _listed(steps: Sequence[int]) -> str:
    return ", ".join(map(str, steps)) or "none"
