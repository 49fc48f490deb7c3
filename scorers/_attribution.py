"""Failure attribution: which agent and step a reply blames, and scores; ours and published."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import nan
from typing import Any

from inspect_ai.scorer import Metric, SampleScore, Score, Scorer, Target, Value, metric, scorer
from inspect_ai.solver import TaskState

from misstep.plain_text import metric_values
from misstep.samples import AttributionMetadata
from misstep.scorers._first_error import quoted_steps, votes_of
from misstep.scorers._intervals import metric_from, share
from misstep.scorers._votes import tally
from misstep.stores import AttributionRecord, critic_verdict
from misstep.verdicts import Unread

_PUBLISHED_AGENT = re.compile(r"Agent Name:\s*([\w_]+)", re.IGNORECASE)
_PUBLISHED_STEP = re.compile(r"Step Number:\s*(\d+)", re.IGNORECASE)
_LINE = re.compile(r"^[\W_]*(agent name|step number)[\W_]*?:(.*)$", re.IGNORECASE | re.MULTILINE)
_INTEGER = re.compile(r"-?\d+")
_TAIL = re.compile(r"\s*\([^()]*\)\s*$")


@dataclass(frozen=True)
class Blame:
    """The agent and the step that a reply names, each None if it was not read."""

    agent: str | None = None
    step: int | None = None


def read_blame(text: str) -> Blame:
    """Return the agent and the step that a reply names, each read on its own.

    The first line that starts with "agent name" gives the agent, up to its end. The first line that
    starts with "step number" gives the first integer after it. Markup and case do not matter.
    """
    found: dict[str, str] = {}
    for line in _LINE.finditer(text):
        found.setdefault(line[1].lower(), line[2])
    name = found.get("agent name", "").strip(" \t*_`\"'.")
    if name.startswith("(") and name.endswith(")"):
        name = name[1:-1].strip()
    number = _INTEGER.search(found.get("step number", ""))
    return Blame(name if plain_name(name) else None, int(number[0]) if number else None)


def plain_name(name: str) -> str:
    """Return a name without a bracketed tail and without everything but letters and digits."""
    return re.sub(r"[\W_]", "", _TAIL.sub("", name)).lower()


def read_blame_published(text: str) -> tuple[str, str] | None:
    """Return the word after `Agent Name:` and the digits after `Step Number:`, or None."""
    agent, step = _PUBLISHED_AGENT.search(text), _PUBLISHED_STEP.search(text)
    return (agent[1], step[1]) if agent and step else None


def published_hits(read: tuple[str, str] | None, agent: str, step: int) -> tuple[bool, bool]:
    """Return whether agent and step are right by the published rule.

    The true name must be a part of the word, and the true number a part of the digits: 1 is right
    for 10, 12 and 21.
    """
    return (False, False) if read is None else (agent in read[0], str(step) in read[1])


def prediction_text(agent: str, step: int) -> str:
    """Return an agent and a step in the form that the published script reads."""
    return f"Agent Name: {agent}\nStep Number: {step}"


TOLERANCES = (1, 3, 5)
"""How many steps a prediction may be off."""


# A mean over epochs loses the predicted step, so the metrics count every epoch.
@metric(name="attribution_metrics", scores="unreduced")
def attribution_metrics() -> Metric:
    """Accuracy of agent, step and both, steps within a tolerance, and a random guess beside."""
    return metric_from(_metrics)


def attribution_table(epochs: Sequence[SampleScore]) -> dict[str, float]:
    """Return the metrics of failure attribution that a run does not have in its results."""
    records = [one.score.metadata or {} for one in epochs]
    return {"out_of_range": _mean([float("out_of_range" in one) for one in records])}


def published_attribution_table(epochs: Sequence[SampleScore]) -> dict[str, float]:
    """Return the accuracies by the published rule: of all samples, and of each set."""
    sets: dict[str, list[SampleScore]] = {"": list(epochs)}
    for one in epochs:
        if subset := (one.sample_metadata or {}).get("subset"):
            sets.setdefault(f"{subset}_", []).append(one)
    return metric_values(
        (f"{of_set}{name}_accuracy", _mean(_values(members, name)))
        for of_set, members in sets.items()
        for name in ("agent", "step")
    )


@metric(name="published_attribution_metrics", scores="unreduced")
def published_attribution_metrics() -> Metric:
    """Accuracy of agent and step by the published rule."""

    def compute(scores: list[SampleScore]) -> Value:
        return {f"{name}_accuracy": _mean(_values(scores, name)) for name in ("agent", "step")}

    return compute


def _values(scores: Sequence[SampleScore], name: str) -> list[float]:
    return [float(one.score.as_dict()[name] or 0) for one in scores]


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values) if values else nan


def _metrics(scores: Sequence[SampleScore]) -> Iterator[tuple[str, float]]:
    metadata = [one.score.metadata or {} for one in scores]
    known = [AttributionMetadata.model_validate(one.sample_metadata or {}) for one in scores]
    clusters = [
        about.cluster or str(one.sample_id) for about, one in zip(known, scores, strict=True)
    ]
    for name in ("agent", "step"):
        estimate = share(_values(scores, name), clusters)
        yield f"{name}_accuracy", estimate.value
        yield from estimate.interval(f"{name}_accuracy")
    yield "both", _mean(_values(scores, "both"))
    for most in TOLERANCES:
        off = [one.get("off_by") for one in metadata]
        yield f"step_within_{most}", _mean([float(x is not None and x <= most) for x in off])
    yield "unread", _mean([float("unread" in one) for one in metadata])
    yield "random_agent", _mean([1 / len(set(about.agents)) for about in known])
    yield "random_step", _mean([1 / len(about.steps) for about in known])


@scorer(metrics=[attribution_metrics()])
def attribution() -> Scorer:
    """Score the agent and the step that a critic blames. Names and numbers must be equal.

    Names are compared without case, punctuation and a bracketed tail. A critic that names only a
    step blames the agent that wrote it.
    """

    async def score(state: TaskState, target: Target) -> Score:
        about = state.metadata_as(AttributionMetadata)
        return score_blame(_blame(state, about), about)

    return score


@scorer(metrics=[published_attribution_metrics()])
def attribution_published() -> Scorer:
    """Score the agent and the step that a critic blames by Who&When's script.

    The true name must be a part of the predicted word, and the true number a part of the predicted
    digits.
    """

    async def score(state: TaskState, target: Target) -> Score:
        about = state.metadata_as(AttributionMetadata)
        text = state.store_as(AttributionRecord).prediction
        if text is None:
            blame = _blame(state, about)
            known = blame.step is not None and blame.agent is not None
            text = prediction_text(blame.agent or "", blame.step or 0) if known else ""
        read = read_blame_published(text)
        agent, step = published_hits(read, about.mistake_agent, about.label)
        return Score(
            value={"agent": float(agent), "step": float(step)},
            answer=None if read is None else f"{read[0]} {read[1]}",
            explanation="The published rule: the true name is a part of the predicted word, the "
            "true number a part of the predicted digits."
            if read
            else "The published script reads no prediction.",
            reason=None if read else "invalid_response_format",
        )

    return score


def _blame(state: TaskState, about: AttributionMetadata) -> Blame:
    """Return whom and what the critic blames: as it said, or by the step alone."""
    left = state.store_as(AttributionRecord)
    if left.prediction is not None:
        return Blame(left.agent, left.step)
    verdict = tally(votes_of(state, critic_verdict(state.store, state.output), "strict")).verdict
    if isinstance(verdict, Unread):
        return Blame()
    inside = 0 <= verdict < len(about.steps)
    return Blame(about.agents[verdict] if inside else None, verdict)


def score_blame(blame: Blame, about: AttributionMetadata) -> Score:
    """Score whom and what a critic blames."""
    agent = blame.agent is not None and plain_name(blame.agent) == plain_name(about.mistake_agent)
    step = blame.step == about.label
    metadata: dict[str, Any] = {}
    if blame.step is not None:
        metadata["off_by"] = abs(blame.step - about.label)
        if not 0 <= blame.step < len(about.steps):
            metadata["out_of_range"] = True
    missing = [name for name in ("agent", "step") if getattr(blame, name) is None]
    if missing:
        metadata["unread"] = " and ".join(missing)
    shown = "nobody" if blame.agent is None else blame.agent
    where = "no step" if blame.step is None else f"step {blame.step}"
    told = (
        f"Blamed: {shown}, {where}. To blame: {about.mistake_agent}, step {about.label} (of 0 to "
        f"{len(about.steps) - 1})."
    )
    quoted = {"To blame": about.label, "Blamed": None if step else blame.step}
    return Score(
        value={"agent": float(agent), "step": float(step), "both": float(agent and step)},
        answer=f"{shown}, {where}",
        explanation="\n".join([told, *quoted_steps(quoted, about.steps)]),
        reason="invalid_response_format" if missing else None,
        metadata=metadata,
    )
