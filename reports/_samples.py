"""The samples of a log as records: metadata, scores, usage.

The summaries in a log hold nearly everything. A sample is read in full only if its summary left out
a value that the reports need.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from math import nan
from operator import attrgetter
from typing import Any, Literal, TypeAlias, cast
from zipfile import ZipFile

from inspect_ai.log import EvalLog, EvalSample, read_eval_log_sample, read_eval_log_sample_summaries
from inspect_ai.model import ModelUsage
from inspect_ai.scorer import SampleScore, Score, ScoreReducer, value_to_float
from inspect_ai.util import registry_create
from pydantic import BaseModel, ConfigDict, Field, TypeAdapter

from misstep.log_files import SUMMARIES, TOO_LONG
from misstep.registry import MisstepError
from misstep.scorers import (
    answer_table,
    attribution_table,
    detection_table,
    first_error_table,
    marking_table,
    prm_score_table,
    published_attribution_table,
    recovery_table,
    section_table,
    step_label_table,
)
from misstep.verdicts import NO_ERROR, Unread

FACETS = (
    *("subset", "generator", "domain", "error_type", "error_kind", "family", "outcome"),
    *("position", "task", "task_l2", "origin", "level", "source", "difficulty", "distance"),
)
"""Keys of sample metadata by which results are grouped."""

Finding = Literal[
    "exact",
    "early",
    "late",
    "missed",
    "right",
    "false_alarm",
    "out_of_range",
    "unread",
    "not_recorded",
]
"""How a verdict compares with the label. Not recorded: recorded scores end before a verdict."""

ON_ERRORS: Sequence[Finding] = (
    *("exact", "early", "late", "missed", "out_of_range"),
    *("unread", "not_recorded"),
)
"""Possible findings for a solution with an error."""

ON_CORRECT: Sequence[Finding] = ("right", "false_alarm", "out_of_range", "unread", "not_recorded")
"""Possible findings for a solution without an error."""


class SampleSummary(BaseModel):
    """The summary of a sample in a log, as far as reports need it.

    Inspect's own reading shortens the texts of every summary once more, which takes most of its
    time.
    """

    model_config = ConfigDict(extra="ignore", frozen=True)

    id: int | str
    epoch: int
    input: Any = ""
    target: str | list[str] = ""
    metadata: dict[str, Any] = Field(default_factory=dict)
    scores: dict[str, Score] | None = None
    model_usage: dict[str, ModelUsage] = Field(default_factory=dict)
    working_time: float | None = None
    error: str | None = None


Epoch: TypeAlias = SampleSummary | EvalSample

_SUMMARIES = TypeAdapter(list[SampleSummary])


def read_summaries(location: str) -> list[SampleSummary]:
    """Read the summaries of a log's samples, in their order."""
    place = location.removeprefix("file://")
    if place.endswith(".eval") and "://" not in place:
        with ZipFile(place) as archive:
            if SUMMARIES in archive.namelist():
                found = _SUMMARIES.validate_json(archive.read(SUMMARIES))
                return sorted(found, key=lambda one: one.epoch)
    # Logs elsewhere, in JSON, and logs that are still written.
    read = read_eval_log_sample_summaries(location)
    return [SampleSummary.model_validate(one.model_dump()) for one in read]


MetricTable: TypeAlias = Callable[[Sequence[SampleScore], Sequence[SampleScore]], dict[str, float]]

METRIC_TABLES: dict[str, MetricTable] = {
    "first_error": first_error_table,
    "first_error_lenient": first_error_table,
    "detections": detection_table,
    "error_sections": section_table,
    "error_sections_published": section_table,
    "recovery": recovery_table,
    "recovery_lenient": recovery_table,
    "final_answer": answer_table,
    "step_validity": lambda _, epochs: prm_score_table(epochs),
    "step_validity_published": lambda _, epochs: prm_score_table(epochs, published=True),
    "marking": lambda _, epochs: marking_table(epochs),
    "marking_published": lambda _, epochs: marking_table(epochs, published=True),
    "attribution": lambda _, epochs: attribution_table(epochs),
    "attribution_published": lambda _, epochs: published_attribution_table(epochs),
    "step_labels": lambda _, epochs: step_label_table(epochs),
    "step_labels_published": lambda _, epochs: step_label_table(epochs),
}
"""The functions that compute every metric of a scorer from its scores: reduced, and of epochs."""

_NEEDED = ("rewards", "voting", "labels")
"""Keys of the metadata of scores that the reports need."""
_UNUSED_FIELDS = {"events", "messages", "store", "attachments", "timelines"}
_number = value_to_float()


@dataclass(frozen=True, slots=True)
class ScoreRecord:
    """The score that one scorer gave to one sample."""

    value: float | dict[str, float]
    answer: str | None = None
    unread: str | None = None
    """Why no verdict could be read."""
    truncated: bool = False
    out_of_range: bool = False
    """Whether the predicted step does not exist."""
    left_out: bool = False
    """Whether the published script computes no metrics for this sample."""
    hits_at: dict[int, float] = field(default_factory=dict)
    """The hit by number of votes."""
    rewards: tuple[float | None, ...] = ()
    budget: dict[str, float] = field(default_factory=dict)
    """What a search used: calls, tokens, seconds."""
    votes: dict[str, float] = field(default_factory=dict)
    """The votes for each verdict."""
    labels: tuple[int | None, ...] = ()
    """The label of each step: -1 wrong, 0 neutral, 1 right, None if it was not judged."""

    def __reduce__(self) -> tuple[type["ScoreRecord"], tuple[Any, ...]]:
        # Processes send many records. The dataclass's own way takes eight times as long.
        return ScoreRecord, _score_fields(self)

    @property
    def hit(self) -> float:
        """The headline value, from 0 to 1: IR for error recovery, F1 for erroneous sections."""
        if not isinstance(self.value, dict):
            return self.value
        headline = "step" if "agent" in self.value else "IR"  # Who&When's agent comes first.
        return self.value.get(headline, next(iter(self.value.values())))

    @property
    def predicted(self) -> int | None:
        """The predicted step index, or None if there is no verdict."""
        try:
            return None if self.answer is None else int(self.answer)
        except ValueError:
            return None


@dataclass(frozen=True, slots=True)
class SampleRecord:
    """One sample of a run. Epochs are already reduced to one score per scorer."""

    id: str
    target: str
    text: str
    label: int | None
    n_steps: int | None
    dependants: int | None
    """Steps that depend on the error, for generated solutions."""
    cluster: str
    """What dependent samples have in common, such as the problem; else the sample's own id."""
    facets: dict[str, str]
    scores: dict[str, ScoreRecord]
    """By scorer; empty if the sample failed."""
    error: str | None
    input_tokens: int
    output_tokens: int
    cost: float | None
    """In dollars, if the log has it."""
    seconds: float | None

    def __reduce__(self) -> tuple[type["SampleRecord"], tuple[Any, ...]]:
        return SampleRecord, _sample_fields(self)

    @property
    def has_error(self) -> bool:
        """Whether the solution has an error."""
        return self.label is not None and self.label >= 0

    @property
    def relative_position(self) -> float | None:
        """The position of the error among the steps: 0 is the first step, 1 is the last."""
        if self.label is None or self.label < 0 or not self.n_steps or self.n_steps < 2:
            return None
        return min(1.0, self.label / (self.n_steps - 1))

    def finding(self, score: ScoreRecord) -> Finding:
        """How the verdict of a score compares with the label."""
        label = NO_ERROR if self.label is None else self.label
        if score.unread == Unread.NOT_RECORDED:
            return "not_recorded"
        return finding_of(score.predicted, label, score.out_of_range)


_score_fields, _sample_fields = (
    attrgetter(*(one.name for one in fields(record))) for record in (ScoreRecord, SampleRecord)
)


def finding_of(verdict: int | None, label: int, out_of_range: bool) -> Finding:
    """How a verdict compares with a label. A verdict that could not be read is None."""
    if verdict is None:
        return "unread"
    if out_of_range:
        return "out_of_range"
    if verdict == label:
        return "right" if label == NO_ERROR else "exact"
    if label == NO_ERROR:
        return "false_alarm"
    if verdict == NO_ERROR:
        return "missed"
    return "early" if verdict < label else "late"


def read_samples(
    log: EvalLog, summaries: Iterable[Epoch], location: str
) -> tuple[list[SampleRecord], dict[str, dict[str, float]]]:
    """Return the samples of a log in their order, and every metric of its scorers.

    They come from the header and the summaries of the log, or from its samples. Its results hold
    only a few metrics.
    """
    by_id: dict[str, list[Epoch]] = {}
    for summary in summaries:
        epoch = summary
        if _is_incomplete(summary):
            key = (summary.id, summary.epoch)
            epoch = read_eval_log_sample(location, *key, exclude_fields=_UNUSED_FIELDS)
        by_id.setdefault(str(summary.id), []).append(epoch)
    reducer = _reducer(log, location) if (log.eval.config.epochs or 1) > 1 else None
    reduced = {
        name: _scores([epoch.scores or {} for epoch in epochs if not epoch.error], reducer)
        for name, epochs in by_id.items()
    }
    records = [_sample(epochs, reduced[name]) for name, epochs in by_id.items()]
    return records, sample_metrics(by_id, reduced)


def sample_metrics(
    by_id: Mapping[str, Sequence[Epoch]], reduced: Mapping[str, Mapping[str, Score]]
) -> dict[str, dict[str, float]]:
    """Return every metric by scorer, from the epochs of samples and from their reduced scores."""
    scores: dict[str, list[SampleScore]] = {}
    epochs: dict[str, list[SampleScore]] = {}
    once = all(len(of_sample) == 1 for of_sample in by_id.values())
    for name, of_sample in by_id.items():
        for scorer, score in reduced[name].items():
            scores.setdefault(scorer, []).append(_sample_score(of_sample[0], score))
        for epoch in () if once else of_sample:
            for scorer, score in ({} if epoch.error else epoch.scores or {}).items():
                epochs.setdefault(scorer, []).append(_sample_score(epoch, score))
    epochs = scores if once else epochs
    return {
        scorer: table(scores[scorer], epochs[scorer])
        for scorer, table in METRIC_TABLES.items()
        if scorer in scores
    }


def _sample_score(epoch: Epoch, score: Score) -> SampleScore:
    return SampleScore(score=score, sample_id=epoch.id, sample_metadata=epoch.metadata)


def _is_incomplete(summary: Epoch) -> bool:
    """Whether the summary left out a value that the reports need."""
    steps = "n_steps" not in summary.metadata and summary.metadata.get("steps") == TOO_LONG
    scores = (summary.scores or {}).values()
    values = [(score.metadata or {}).get(key) for score in scores for key in _NEEDED]
    values += [summary.metadata.get(key) for key in ("step_labels", "step_kinds")]
    return steps or TOO_LONG in values


def _reducer(log: EvalLog, location: str) -> ScoreReducer:
    name = (log.eval.config.epochs_reducer or ["mean"])[0]
    try:
        # The registry holds a factory of reducers, although the declared type is the reducer.
        return cast(Callable[[], ScoreReducer], registry_create("score_reducer", name))()
    except (LookupError, ValueError):
        raise MisstepError(
            f"{location}: epochs are reduced by {name!r}, which reports cannot read. "
            "Score the log again: inspect score --epochs-reducer mean"
        ) from None


def _sample(epochs: Sequence[Epoch], scores: Mapping[str, Score]) -> SampleRecord:
    first = epochs[0]
    metadata = first.metadata or {}
    usages = [usage for epoch in epochs for usage in epoch.model_usage.values()]
    costs = [usage.total_cost for usage in usages]
    known_costs = [cost for cost in costs if cost is not None]
    # The working time leaves out the time in which a sample waits for its turn.
    seconds = [epoch.working_time for epoch in epochs if epoch.working_time is not None]
    steps = metadata.get("n_steps")
    if steps is None and isinstance(metadata.get("steps"), list):
        steps = len(metadata["steps"])
    label, dependants = metadata.get("label"), metadata.get("dependants")
    error = next((epoch.error for epoch in epochs if epoch.error), None)
    return SampleRecord(
        id=str(first.id),
        target=first.target if isinstance(first.target, str) else ", ".join(first.target),
        text=first.input[:200] if isinstance(first.input, str) else "",
        label=label if isinstance(label, int) else None,
        n_steps=steps if isinstance(steps, int) else None,
        dependants=dependants if isinstance(dependants, int) else None,
        cluster=str(metadata.get("cluster") or f"sample {first.id}"),
        facets={
            name: str(metadata[name])
            for name in FACETS
            if isinstance(metadata.get(name), str | int) and metadata[name] != TOO_LONG
        },
        scores={name: _score_record(score) for name, score in scores.items()},
        error=None if scores else str(getattr(error, "message", error) or "no score"),
        input_tokens=sum(prompt_tokens(usage) for usage in usages),
        output_tokens=sum(usage.output_tokens for usage in usages),
        cost=sum(known_costs) if known_costs and len(known_costs) == len(costs) else None,
        seconds=sum(seconds) if seconds else None,
    )


def prompt_tokens(usage: ModelUsage) -> int:
    """All tokens of the prompts, cached or not."""
    cached = (usage.input_tokens_cache_read or 0) + (usage.input_tokens_cache_write or 0)
    return usage.input_tokens + cached


def _scores(epochs: Sequence[dict[str, Score]], reducer: ScoreReducer | None) -> dict[str, Score]:
    if reducer is None or len(epochs) < 2:
        return dict(epochs[0]) if epochs else {}
    by_scorer: dict[str, list[Score]] = {}
    for scores in epochs:
        for name, score in scores.items():
            by_scorer.setdefault(name, []).append(score)
    return {
        name: scores[0] if _is_text(scores[0].value) else reducer(scores)
        for name, scores in sorted(by_scorer.items())
    }


def _is_text(value: object) -> bool:
    """Whether the value of a score is a word, such as the subset, which no reducer can reduce."""
    return isinstance(value, str) and value not in ("C", "I", "P", "N")


def _score_record(score: Score) -> ScoreRecord:
    metadata = score.metadata or {}
    unread = metadata.get("unread")
    value = (
        {str(name): _float(part) for name, part in score.value.items()}
        if isinstance(score.value, dict)
        else _float(score.value)
    )
    voting = metadata.get("voting") or {}
    hits_at = {int(k): float(hit) for k, hit in (voting.get("hits_at") or {}).items()}
    if voting.get("asked") and isinstance(value, float):
        hits_at[int(voting["asked"])] = value
    return ScoreRecord(
        value=value,
        answer=score.answer,
        unread=unread,
        truncated=unread == Unread.TRUNCATED or bool(metadata.get("truncated")),
        out_of_range=bool(metadata.get("out_of_range")),
        left_out="left_out" in metadata,
        hits_at=hits_at,
        rewards=tuple(
            float(one) if isinstance(one, int | float) else None
            for one in metadata.get("rewards") or []
        ),
        budget={
            str(name): float(used)
            for name, used in (metadata.get("budget") or {}).items()
            if isinstance(used, int | float)
        },
        votes={str(name): float(count) for name, count in (voting.get("counts") or {}).items()},
        labels=tuple(map(_step_label, metadata.get("labels") or [])),
    )


def _step_label(label: object) -> int | None:
    """A label of a step; labels that are true or false say whether a step is valid."""
    if isinstance(label, bool):
        return 1 if label else -1
    return label if isinstance(label, int) else None


def _float(value: Any) -> float:  # noqa: ANN401
    """A score value as a number; nan if it is not one."""
    if _is_text(value):
        return nan
    return float(_number(value)) if isinstance(value, str | int | float | bool) else nan
