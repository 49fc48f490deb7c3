"""What solvers write to a sample's store, for scorers and reports.

Write to the store with a StoreModel, such as `CriticVerdict`. Inspect leaves out fields that are
None when it writes a model to a log, so such fields have defaults. Logs of earlier versions keep
the same values under other keys: read logs with the functions of this module, which know both.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Literal, TypeAlias, get_args

from inspect_ai.model import ModelOutput, StopReason
from inspect_ai.solver import TaskState
from inspect_ai.util import Store, StoreModel
from pydantic import BaseModel, ConfigDict, Field

from misstep.verdicts import Unread, Verdict, unread_stop


class StepRewards(BaseModel):
    """Metadata of the output of a model that scores steps."""

    rewards: list[float | None] | None = None
    missing: str | None = None
    """Why rewards are missing."""


class StepRecord(BaseModel):
    """A judge's verdict on one step."""

    verdict: str
    """`right`, `wrong`, or the reason why the reply was not read."""
    probability: float | None = None


class ReasonGrade(StoreModel):
    """What a grader says about the reason that a critic gives for an error."""

    decision: str | None = None
    """The grader's reply; None if no reason was graded."""
    grader: str | None = None
    """The grader's name; None if the run has no grader."""


class VerdictRecord(BaseModel):
    """The verdict of a critic that knows the index."""

    verdict: int | None = None
    """The index of the first wrong step, or NO_ERROR; None if `unread` has a reason."""
    unread: Unread | None = None
    rewards: list[float | None] | None = None
    threshold: float | None = None
    """A step with a smaller reward is wrong."""
    missing: str | None = None
    """Why rewards are missing."""
    steps: list[StepRecord] | None = None
    """The verdict on each step that was judged by itself."""
    labels: list[int | None] | None = None
    """The label of each step: -1 wrong, 0 neutral, 1 right; None for a label that was not read."""
    labels_published: list[int | None] | None = None
    """The labels as the published script reads them, if they differ."""
    reason: str | None = None
    """Why the critic calls the step wrong, in its own words."""


class CriticVerdict(VerdictRecord, StoreModel):
    """The verdict in a sample's store: scorers take it and parse no text."""


def store_verdict(store: Store, record: VerdictRecord) -> None:
    """Write a verdict to a sample's store.

    It sets all fields of `store_as(CriticVerdict)`, and validates them once.
    """
    for name, value in record:
        store.set(f"{CriticVerdict.__name__}:{name}", value)


def leave_verdict(
    state: TaskState,
    verdict: Verdict | Unread,
    text: str,
    model: str | None = None,
    rewards: Sequence[float | None] = (),
    missing: str | None = None,
    steps: Sequence[StepRecord] | None = None,
    threshold: float | None = None,
) -> None:
    """Leave a verdict in a sample's store, and its text in the output."""
    record = VerdictRecord(
        verdict=None if isinstance(verdict, Unread) else verdict,
        unread=verdict if isinstance(verdict, Unread) else None,
        rewards=list(rewards) if any(reward is not None for reward in rewards) else None,
        threshold=threshold,
        missing=missing,
        steps=None if steps is None else list(steps),
    )
    store_verdict(state.store, record)
    state.output = ModelOutput.from_content(model or str(state.model), text)


class AttributionRecord(StoreModel):
    """Which agent and which step a critic blames."""

    agent: str | None = None
    step: int | None = None
    prediction: str | None = None
    """The text that the published script reads; empty if the critic blames nobody; None if the
    critic was asked for a step alone."""
    replies: list[str] = Field(default_factory=list)
    """What the critic replied at each call, shortened."""


class StepValidity(StoreModel):
    """What a critic says of every step: whether it is valid, and whether it is redundant."""

    valid: list[bool] | None = None
    """One label for each step that the critic labelled; None if `unread` has a reason."""
    redundant: list[bool] | None = None
    """None if the critic does not judge this."""
    unread: Unread | None = None


def critic_verdict(store: Store | Mapping[str, Any], output: ModelOutput) -> VerdictRecord | None:
    """Return the verdict that a critic left as a value, or None if it left only text."""
    prefix = f"{CriticVerdict.__name__}:"
    if f"{prefix}verdict" in store:
        # Each access to a field of a StoreModel validates it again: a plain record is faster.
        kept = {name: store.get(prefix + name) for name in VerdictRecord.model_fields}
        return VerdictRecord.model_validate(kept)
    known = output.metadata or {}
    earlier = {name: known[name] for name in ("unread", "rewards", "missing") if name in known}
    return VerdictRecord(**earlier) if earlier else None


Variation: TypeAlias = Literal["NR", "CR", "IR", "XC", "XI", "CRm", "IRm", "IRp"]
ALL_VARIATIONS: tuple[Variation, ...] = get_args(Variation)
"""No reasoning is given (NR), correct (CR) or incorrect reasoning (IR); the same by the user (XC,
XI); the same with a marker after it (CRm, IRm); incorrect reasoning without its last step (IRp)."""
VARIATIONS: tuple[Variation, ...] = ("NR", "CR", "IR")
"""The variations of the published eval."""
WRONG: tuple[Variation, ...] = ("IR", "XI", "IRm", "IRp")
"""The variations that give a wrong step."""

Turn: TypeAlias = Literal["plain", "continued", "new_turn", "asked"]
"""How the model's reasoning follows what it was given: `plain` after a user's message, `continued`
as one text with the given reasoning, `new_turn` as a message after it, `asked` as a message after
a request to continue."""


class ReplyRecord(BaseModel):
    """One reply of the model, without its text."""

    stop_reason: StopReason
    empty: bool
    tokens: int

    @classmethod
    def from_output(cls, output: ModelOutput) -> "ReplyRecord":
        """Return what is kept of an output."""
        return cls(
            stop_reason=output.stop_reason,
            empty=not output.completion.strip(),
            tokens=output.usage.total_tokens if output.usage else 0,
        )

    @property
    def unread(self) -> Unread | None:
        """Why the reply gives nothing to read, or None."""
        return unread_stop(self.stop_reason) or (Unread.EMPTY if self.empty else None)


class RecoveryGrade(BaseModel):
    """A grader's four truth values on a continuation, as in Self-Correction Bench."""

    right_answer: bool
    right_reasoning: bool
    went_back: bool
    """Whether the model does the wrong step again."""
    admitted: bool
    """Whether the model says that there is a mistake."""


class VariationRecord(BaseModel):
    """The replies to one variation."""

    answer: str
    """The text of the last reply, unchanged."""
    last: ReplyRecord
    reasoning: list[ReplyRecord]
    """The replies before the last."""
    turn: Turn
    answer_role: str | None = None
    """The role that asked for the answer; None if nobody asked, and in logs of early versions."""
    marker: str | None = None
    """The end of the given text that is a marker such as "Wait", not a step."""
    acknowledged: bool | None = None
    """Whether the model's first words name a mistake, by a list of words."""
    grade: RecoveryGrade | None = None
    """What the grader says; None if there is no grader or its reply was not read."""


class RecoveryRecord(StoreModel):
    """The replies to all variations of a sample."""

    variations: dict[Variation, VariationRecord] = Field(default_factory=dict)
    grader: str | None = None
    """The model that graded the variations with a wrong step; None if the run has no grader."""


def variation_records(store: Store | Mapping[str, Any]) -> dict[Variation, VariationRecord]:
    """Return the replies to each variation that a sample's store keeps."""
    kept = _stored(store, RecoveryRecord, "variations") or {}
    known = (name for name in ALL_VARIATIONS if name in kept)
    return {name: VariationRecord.model_validate(kept[name]) for name in known}


class SearchResult(BaseModel):
    """The solution that a method chose, and what it cost."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    answer: str | None = None
    steps: list[str]
    unfinished: str | None = None
    """Why the solution is not finished, or None."""
    alternatives: dict[str, str | None] = Field(default_factory=dict)
    """The answers that other ways to choose among the same solutions give."""
    answers: list[str | None] = Field(default_factory=list)
    """The answers of all solutions, if there are several."""
    budget: dict[str, Any] = Field(default_factory=dict)


class CandidateRecord(BaseModel):
    """A candidate for the next step of a search."""

    path: int
    step: str
    reward: float | None = None
    missing: str | None = None
    """Why there is no reward."""
    final: bool
    count: int
    chosen: bool


class IterationRecord(BaseModel):
    """One iteration of a search."""

    iteration: int
    paths: int
    over: list[int]
    """Paths that the policy had nothing to add to."""
    kept: list[int]
    """Candidates that were chosen, in the order in which the next iteration numbers them."""
    candidates: list[CandidateRecord]


class SampledSolutionRecord(BaseModel):
    """One of several whole solutions."""

    text: str
    answer: str | None = None
    rewards: list[float | None]
    missing: str | None = None


class SearchRecord(StoreModel):
    """What a search leaves: the iterations, or the solutions that were sampled whole."""

    result: SearchResult | None = None
    iterations: list[IterationRecord] = Field(default_factory=list)
    solutions: list[SampledSolutionRecord] = Field(default_factory=list)
    rewards: list[float] = Field(default_factory=list)


def search_result(store: Store | Mapping[str, Any], output: ModelOutput) -> SearchResult:
    """Return the solution that a method chose for a sample."""
    kept = _stored(store, SearchRecord, "result") or (output.metadata or {})["found"]
    return SearchResult.model_validate(kept)


def search_iterations(store: Store | Mapping[str, Any]) -> list[IterationRecord]:
    """Return the iterations of a search that a sample's store keeps."""
    kept = _stored(store, SearchRecord, "iterations")
    if kept is None:
        kept = [one for one in store.get("search") or [] if "candidates" in one]
    return [IterationRecord.model_validate(one) for one in kept]


def _stored(store: Store | Mapping[str, Any], model: type[StoreModel], field: str) -> Any:  # noqa: ANN401
    """Return a field of a store model, or the bare key that earlier versions wrote."""
    return store.get(f"{model.__name__}:{field}", store.get(field))
