"""The labels of all steps, valid or not: the scorers, strict and published, and PRMScore.

PRMBench's rule: a valid step is the positive class. TP is a right step called valid, FP a wrong
step called valid, TN a wrong step called invalid, FN a right step called invalid. PRMScore is the
mean of two F1 scores over pooled steps, by class and group.
"""

import json
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import isnan, nan
from typing import Any, cast

from inspect_ai.model import ModelOutput
from inspect_ai.scorer import Metric, SampleScore, Score, Scorer, Target, Value, metric, scorer
from inspect_ai.solver import TaskState
from inspect_ai.util import Store
from pydantic import BaseModel, ConfigDict, ValidationError

from misstep.loaders import PRMBENCH_GROUPS as GROUPS
from misstep.plain_text import metric_values
from misstep.samples import GroupMetadata, WrongStepsMetadata
from misstep.scorers._first_error import sample_count, unread_shares
from misstep.scorers._intervals import Draws, Estimate, from_draws, multinomial_draws
from misstep.scorers._votes import REASONS, UNREAD_TEXT
from misstep.stores import StepValidity, critic_verdict
from misstep.verdicts import NO_ERROR, Unread, Verdict

COUNTS = ("tp", "fp", "tn", "fn")
LEFT_OUT = "left_out"
"""The key of a score's metadata that says why the published rule leaves the sample out."""

F1_ALONE = "multi_solutions"
"""The class without wrong steps: its PRMScore is the F1 of valid steps alone."""


@dataclass(frozen=True)
class PrmScoreSample:
    """What the metrics need of one scored sample."""

    counts: tuple[float, ...]
    """TP, FP, TN and FN."""
    subset: str | None
    cluster: str
    left_out: bool


@dataclass(frozen=True)
class PrmScore:
    """PRMScore and its two parts; nan if undefined."""

    prmscore: float
    f1: float
    negative_f1: float


_REGISTERED = (
    *("prmscore", "f1", "negative_f1", *GROUPS, "unparsed", "truncated", "total_count"),
    *("prmscore_lower", "prmscore_upper", "stderr"),
)
_REGISTERED_PUBLISHED = ("prmscore", "f1", "negative_f1")


# A mean over epochs loses which replies were read, so the metrics pool the steps of all epochs.
@metric(name="prm_score_metrics", scores="unreduced")
def prm_score_metrics(published: bool = False) -> Metric:
    """PRMScore with its interval, its parts, the three groups, and shares of unread rows."""

    def compute(scores: list[SampleScore]) -> Value:
        found = prm_score_table(scores, published)
        names = _REGISTERED_PUBLISHED if published else _REGISTERED
        return {name: found[name] for name in names if name in found}

    return compute


def prm_score_table(epochs: Sequence[SampleScore], published: bool = False) -> dict[str, float]:
    """Return every metric of PRMBench from the scores of all epochs."""
    return metric_values(_metrics(epochs, published))


def prm_score_samples(scores: Sequence[SampleScore]) -> list[PrmScoreSample]:
    """Return what the metrics need of scored samples."""
    return [_sample(score) for score in scores]


def _sample(scored: SampleScore) -> PrmScoreSample:
    values, metadata = scored.score.as_dict(), scored.score.metadata or {}
    about = GroupMetadata.model_validate(scored.sample_metadata or {})
    return PrmScoreSample(
        counts=tuple(float(cast(float, values[name])) for name in COUNTS),
        subset=about.subset,
        cluster=about.cluster or str(scored.sample_id),
        left_out=LEFT_OUT in metadata,
    )


def _metrics(scored: Sequence[SampleScore], published: bool) -> Iterator[tuple[str, float]]:
    samples = prm_score_samples(scored)
    kept = [sample for sample in samples if not sample.left_out]
    scores = prm_scores(kept, published)
    overall = _interval(kept, scores["overall"].prmscore, published)
    yield "prmscore", overall.value
    yield "f1", scores["overall"].f1
    yield "negative_f1", scores["overall"].negative_f1
    for group in GROUPS:
        yield group, scores[group].prmscore if group in scores else nan
    yield from unread_shares(scored).items()
    yield "step_count", sum(sum(sample.counts) for sample in kept)
    yield "total_count", sample_count(scored)
    yield from overall.interval("prmscore")
    # Inspect's dataframes and viewer take a metric of this name as the error bar of the headline.
    yield "stderr", overall.stderr


def prm_scores(samples: Sequence[PrmScoreSample], published: bool = False) -> dict[str, PrmScore]:
    """Return the PRMScore of all samples (`overall`), of each class, and of each complete group.

    A group's PRMScore is the plain mean of its classes; `overall` is computed from the pooled
    counts. `published` keeps the arithmetic of PRMBench's code where a ratio is undefined.
    """
    by_class = {
        name: [one for one in samples if one.subset == name]
        for name in sorted({one.subset for one in samples if one.subset is not None})
    }
    found = {"overall": _prm_score(_pooled(samples), published)}
    for name, members in by_class.items():
        found[name] = _prm_score(_pooled(members), published, alone=name == F1_ALONE)
    return found | _group_scores(found)


def _group_scores(found: Mapping[str, PrmScore]) -> dict[str, PrmScore]:
    groups: dict[str, PrmScore] = {}
    for group, classes in GROUPS.items():
        own = [found[name].prmscore for name in classes if name in found]
        if len(own) == len(classes):
            groups[group] = PrmScore(sum(own) / len(own), nan, nan)
    return groups


def _pooled(samples: Sequence[PrmScoreSample]) -> tuple[float, ...]:
    return tuple(sum(one.counts[i] for one in samples) for i in range(len(COUNTS)))


def _prm_score(counts: Sequence[float], published: bool, alone: bool = False) -> PrmScore:
    tp, fp, tn, fn = counts
    f1 = (_published_f1 if published else _f1)(tp, fp, fn)
    negative = (_published_f1 if published else _f1)(tn, fn, fp)
    value = f1 if alone else (f1 + negative) / 2
    return PrmScore(max(0.0, value) if published else value, f1, negative)


def _f1(hits: float, false_alarms: float, missed: float) -> float:
    total = 2 * hits + false_alarms + missed
    return 2 * hits / total if total else nan


def _published_f1(hits: float, false_alarms: float, missed: float) -> float:
    """Return F1 as PRMBench's code computes it: an undefined ratio is -1 and stays in the sums."""
    precision = hits / (hits + false_alarms) if hits + false_alarms else -1.0
    recall = hits / (hits + missed) if hits + missed else -1.0
    return 2 * precision * recall / (precision + recall) if precision + recall else -1.0


def _interval(samples: Sequence[PrmScoreSample], value: float, published: bool) -> Estimate:
    """Return the overall PRMScore with its interval, by a bootstrap over problems."""
    import numpy as np

    if not samples or isnan(value):
        return Estimate(value, nan, nan)
    clusters: dict[str, list[float]] = {}
    for sample in samples:
        sums = clusters.setdefault(sample.cluster, [0.0] * len(COUNTS))
        for i, count in enumerate(sample.counts):
            sums[i] += count
    cells, counts = np.unique(np.array(list(clusters.values())), axis=0, return_counts=True)
    tp, fp, tn, fn = (multinomial_draws(counts) @ cells).T
    draws = (_f1_draws(tp, fp, fn) + _f1_draws(tn, fn, fp)) / 2
    return from_draws(value, draws, len(clusters))


def _f1_draws(hits: Draws, false_alarms: Draws, missed: Draws) -> Draws:
    import numpy as np

    total = 2 * hits + false_alarms + missed
    f1: Draws = np.full(hits.shape, nan)
    np.divide(2 * hits, total, out=f1, where=total > 0)
    return f1


BY_REDUNDANCY = ("redundency", "circular")
"""The classes whose wrong steps are the redundant ones, if the critic judges redundancy."""

_COMMENT = re.compile(r"//.*?$|#.*?$", re.MULTILINE)


class ValidityScores(BaseModel):
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


def read_step_scores(text: str) -> ValidityScores | Unread:
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


def _scores(content: object) -> ValidityScores | Unread:
    try:
        return ValidityScores.model_validate(content)
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
        if left.redundant is not None and subset in BY_REDUNDANCY:
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
