"""The samples of a log, as all tables want them.

The summaries of a log hold nearly everything; a sample is opened in full only where something that
is wanted was too long for its summary.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from math import nan
from typing import Any, TypeAlias, cast

from inspect_ai.log import EvalLog, EvalSample, EvalSampleSummary, read_eval_log_sample
from inspect_ai.model import ModelUsage
from inspect_ai.scorer import Score, ScoreReducer, value_to_float
from inspect_ai.util import registry_create

from misstep.registry import MisstepError
from misstep.verdicts import Unread

FACETS = (
    "subset",
    "generator",
    "domain",
    "error_type",
    "family",
    "outcome",
    "position",
    "task",
    "task_l2",
    "origin",
    "level",
    "source",
)
"""What of a sample's metadata results are looked at by."""

Epoch: TypeAlias = EvalSampleSummary | EvalSample

_TOO_LONG = "Key removed from summary (> 1k)"
_UNWANTED = {"events", "messages", "store", "attachments", "timelines"}
_number = value_to_float()


@dataclass(frozen=True, slots=True)
class Scored:
    """One scorer's score of one sample."""

    value: float | dict[str, float]
    answer: str | None = None
    unread: str | None = None
    """Why no verdict was read, if none was."""
    truncated: bool = False
    out_of_range: bool = False
    """Whether the solution has no such step as was predicted."""
    left_out: bool = False
    """Whether the published script has no figures for it."""
    hits_at: dict[int, float] = field(default_factory=dict)
    """The hit at fewer votes, and at all of them."""
    rewards: tuple[float | None, ...] = ()
    """A reward for each step, where there are some."""
    budget: dict[str, float] = field(default_factory=dict)
    """What a search says that it took: calls, tokens, seconds."""

    @property
    def hit(self) -> float:
        """How right the sample is, from 0 to 1: of several values, the one that is the headline.

        That is F1 of erroneous sections, which stands first, and IR of error recovery.
        """
        if not isinstance(self.value, dict):
            return self.value
        return self.value.get("IR", next(iter(self.value.values())))


@dataclass(frozen=True, slots=True)
class Sample:
    """One sample of a run; where there are epochs, what their reducer made of them."""

    id: str
    target: str
    text: str
    """The beginning of its input."""
    label: int | None
    n_steps: int | None
    facets: dict[str, str]
    scores: dict[str, Scored]
    """By scorer; empty where the sample failed."""
    error: str | None
    input_tokens: int
    output_tokens: int
    cost: float | None
    """In dollars, where the log knows it."""
    seconds: float | None

    @property
    def has_error(self) -> bool:
        """Whether its solution has an error."""
        return self.label is not None and self.label >= 0


def read_samples(
    log: EvalLog, summaries: Iterable[EvalSampleSummary], location: str
) -> list[Sample]:
    """The samples of a log, in their order.

    Args:
        log: The log's head.
        summaries: What it holds of each sample and epoch.
        location: Where samples that are needed in full are.

    Raises:
        MisstepError: The epochs are reduced in a way that is not known here.
    """
    by_id: dict[str, list[Epoch]] = {}
    for summary in summaries:
        epoch = _in_full(location, summary) if _lacking(summary) else summary
        by_id.setdefault(str(summary.id), []).append(epoch)
    reducer = _reducer(log, location) if (log.eval.config.epochs or 1) > 1 else None
    return [_sample(epochs, reducer) for epochs in by_id.values()]


def _lacking(summary: EvalSampleSummary) -> bool:
    """Whether the summary leaves out what tables want."""
    steps = "n_steps" not in summary.metadata and summary.metadata.get("steps") == _TOO_LONG
    scores = (summary.scores or {}).values()
    kept = [(score.metadata or {}).get(key) for score in scores for key in ("rewards", "voting")]
    return steps or _TOO_LONG in kept


def _in_full(location: str, summary: EvalSampleSummary) -> EvalSample:
    return read_eval_log_sample(location, summary.id, summary.epoch, exclude_fields=_UNWANTED)


def _reducer(log: EvalLog, location: str) -> ScoreReducer:
    name = (log.eval.config.epochs_reducer or ["mean"])[0]
    try:
        # What is registered makes the reducer, whatever the declared type says.
        return cast(Callable[[], ScoreReducer], registry_create("score_reducer", name))()
    except (LookupError, ValueError):
        raise MisstepError(
            f"{location}: epochs reduced by {name!r}, which is not read here. "
            "Score it again: inspect score --epochs-reducer mean"
        ) from None


def _sample(epochs: Sequence[Epoch], reducer: ScoreReducer | None) -> Sample:
    first = epochs[0]
    metadata = first.metadata or {}
    usages = [usage for epoch in epochs for usage in epoch.model_usage.values()]
    costs = [usage.total_cost for usage in usages]
    known = [cost for cost in costs if cost is not None]
    seconds = [epoch.total_time for epoch in epochs if epoch.total_time is not None]
    scores = _scores([epoch.scores or {} for epoch in epochs if not epoch.error], reducer)
    steps = metadata.get("n_steps")
    if steps is None and isinstance(metadata.get("steps"), list):
        steps = len(metadata["steps"])
    label = metadata.get("label")
    return Sample(
        id=str(first.id),
        target=first.target if isinstance(first.target, str) else ", ".join(first.target),
        text=first.input[:200] if isinstance(first.input, str) else "",
        label=label if isinstance(label, int) else None,
        n_steps=steps if isinstance(steps, int) else None,
        facets={
            name: str(metadata[name])
            for name in FACETS
            if isinstance(metadata.get(name), str | int) and metadata[name] != _TOO_LONG
        },
        scores={name: _scored(score) for name, score in scores.items()},
        error=None if scores else _error(epochs),
        input_tokens=sum(tokens_in(usage) for usage in usages),
        output_tokens=sum(usage.output_tokens for usage in usages),
        cost=sum(known) if known and len(known) == len(costs) else None,
        seconds=sum(seconds) if seconds else None,
    )


def tokens_in(usage: ModelUsage) -> int:
    """All tokens of the prompts, whether they were in a cache or not."""
    cached = (usage.input_tokens_cache_read or 0) + (usage.input_tokens_cache_write or 0)
    return usage.input_tokens + cached


def _error(epochs: Sequence[Epoch]) -> str:
    error = next((epoch.error for epoch in epochs if epoch.error), None)
    return str(getattr(error, "message", error) or "no score")


def _scores(epochs: Sequence[dict[str, Score]], reducer: ScoreReducer | None) -> dict[str, Score]:
    if reducer is None or len(epochs) < 2:
        return dict(epochs[0]) if epochs else {}
    names = {name for scores in epochs for name in scores}
    return {n: reducer([scores[n] for scores in epochs if n in scores]) for n in sorted(names)}


def _scored(score: Score) -> Scored:
    metadata = score.metadata or {}
    unread = metadata.get("unread")
    value = _value(score.value)
    voting = metadata.get("voting") or {}
    hits_at = {int(k): float(hit) for k, hit in (voting.get("hits_at") or {}).items()}
    if voting.get("asked") and isinstance(value, float):
        hits_at[int(voting["asked"])] = value
    return Scored(
        value=value,
        answer=score.answer,
        unread=unread,
        truncated=unread == Unread.TRUNCATED or bool(metadata.get("truncated")),
        out_of_range=bool(metadata.get("out_of_range")),
        left_out="left_out" in metadata,
        hits_at=hits_at,
        rewards=tuple(_rewards(metadata.get("rewards"))),
        budget=_numbers(metadata.get("budget") or {}),
    )


def _value(value: Any) -> float | dict[str, float]:  # noqa: ANN401
    if isinstance(value, dict):
        return {str(name): _plain(part) for name, part in value.items()}
    return _plain(value)


def _plain(value: Any) -> float:  # noqa: ANN401
    """A value as a number; nan where it is a text that stands for none."""
    if isinstance(value, str) and value not in ("C", "I", "P", "N"):
        return nan
    return float(_number(value)) if isinstance(value, str | int | float | bool) else nan


def _rewards(rewards: object) -> list[float | None]:
    given = rewards if isinstance(rewards, list) else []
    return [float(one) if isinstance(one, int | float) else None for one in given]


def _numbers(values: object) -> dict[str, float]:
    given = values if isinstance(values, dict) else {}
    return {str(name): float(v) for name, v in given.items() if isinstance(v, int | float)}
