"""Types of a sample's metadata. Read it with `state.metadata_as(SolutionMetadata)`."""

import hashlib
import unicodedata
from typing import Any

from inspect_ai.model import StopReason
from pydantic import BaseModel, ConfigDict, Field

from misstep.verdicts import Unread


def third_of(step: int, steps: int) -> str:
    """Return in which third of a solution a step stands: early, middle or late."""
    place = 3 * step
    return "early" if place < steps - 1 else "middle" if place <= 2 * (steps - 1) else "late"


def problem_cluster(problem: str) -> str:
    """Return the cluster of all rows of one problem: a digest of its text.

    White space and compatible forms of a character do not change the digest.
    """
    text = " ".join(unicodedata.normalize("NFKC", problem).split())
    return hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()[:16]


class _Metadata(BaseModel):
    model_config = ConfigDict(frozen=True, coerce_numbers_to_str=True)


class SolutionMetadata(_Metadata):
    """Metadata of a worked solution."""

    steps: list[str]


class GroupMetadata(_Metadata):
    """Metadata that metrics group samples by."""

    subset: str | None = None
    cluster: str | None = None
    """Rows of one cluster are not independent: they share a problem, a query, or the original of an
    injected error. Intervals and tests take clusters as their units. None in logs of earlier
    versions: then each row is a cluster."""


class LabelMetadata(GroupMetadata):
    """Metadata that metrics of first errors group samples by."""

    has_error: bool


class InjectionMetadata(LabelMetadata):
    """Metadata that metrics of injected errors group samples by."""

    error_type: str | None = None
    position_third: str | None = None


class SectionsMetadata(SolutionMetadata):
    """Metadata of a solution whose erroneous sections are all known, numbered from 1."""

    gold_sections: list[int]
    gold_sections_published: list[int] | None = None
    """The numbers as annotated, if they differ: the published script takes any number."""


class StepLabelsMetadata(GroupMetadata):
    """Metadata of a trajectory whose steps are labelled: -1 wrong, 0 neutral, 1 right."""

    step_labels: list[int]
    step_kinds: list[str] = Field(default_factory=list)
    """Whether each step calls a tool: `call` or `text`. Empty if only the labels are known."""
    message_index: list[int] = Field(default_factory=list)
    """The place of each step among the messages."""


class TrajectoryMetadata(StepLabelsMetadata):
    """Metadata of a trajectory with its original messages and tools."""

    trajectory: dict[str, Any]


class WrongStepsMetadata(SolutionMetadata):
    """Metadata of a solution whose wrong steps are all known, by their indices."""

    wrong_steps: list[int]
    wrong_steps_published: list[int] | None = None
    """The indices as annotated, if some are outside of the solution."""


class NumberedSolutionMetadata(SolutionMetadata):
    """Metadata of a solution of MathCheck, whose steps print their numbers."""

    solution: str
    """The solution with its blank lines, as the published prompt shows it."""
    printed_numbers: list[int | None]
    labelled_number: int
    """The number that the first wrong step prints."""


class RecordedJudgementMetadata(SolutionMetadata):
    """Metadata of a solution of MR-MATH, with the judgement that was read from a critique."""

    correctness_pred: str
    error_step_pred: str


class PublishedScoresMetadata(_Metadata):
    """Metadata of a solution of MR-MATH, with the step scores of a reward model."""

    published_scores: list[float]
    published_threshold: float
    wrong_steps: list[int] | None = None
    """The redundant steps; None if the label is the first wrong step."""


class MarkedMetadata(GroupMetadata, SolutionMetadata):
    """Metadata of a solution that a teacher has marked, as MR-Ben and MR-GSM8K have it."""

    label: int
    label_problem: str | None = None
    """Why the label cannot be compared with a verdict, or None."""
    printed_numbers: list[int | None] | None = None
    """The number that each step prints; None if labels count the steps themselves."""
    subject: str | None = None
    question: str | None = None
    options: str | None = None
    solution: str | list[str] | None = None
    """The solution as the source has it."""
    error_step: str | None = None
    """The first wrong step in the words of the source."""
    error_reason: str | list[str | None] | None = None
    rectified_step: str | list[str | None] | None = None
    rule: str = "mr_ben"
    """Whose published reading applies: mr_ben or mr_gsm8k."""

    @property
    def code(self) -> bool:
        """Whether the solution is code, whose wrong line is named itself."""
        return isinstance(self.solution, str)


class AttributionMetadata(SolutionMetadata, GroupMetadata):
    """Metadata of the log of a team of agents that failed."""

    label: int
    """The step of the decisive mistake."""
    agents: list[str]
    """Who wrote each step."""
    mistake_agent: str
    ground_truth: str | None = None

    @property
    def contents(self) -> list[str]:
        """The texts of the steps, without number and speaker."""
        numbered = enumerate(zip(self.steps, self.agents, strict=True))
        return [step.removeprefix(f"[step {i}] {agent}\n") for i, (step, agent) in numbered]


class RecoveryMetadata(_Metadata):
    """Metadata of a problem whose solution has a mistake."""

    task: str
    correct_steps: list[str]
    """The steps before the mistake."""
    incorrect_step: str
    following_steps: list[str] | None = None
    """The steps from the mistake to the last but one, without the mistake; None if not known."""


class MistakeMetadata(GroupMetadata):
    """Metadata that metrics of error recovery group samples by."""

    task: str
    n_steps: int
    mistake_index: int


class RecordedCritique(_Metadata):
    """The result that a run made elsewhere has for a sample."""

    critiques: list[str] = Field(default_factory=list)
    stop_reasons: list[StopReason] = Field(default_factory=list)
    scores: list[float | None] | None = None
    valid: list[bool] | None = None
    """Whether each step is valid, as recorded."""
    text: str | None = None
    """The reply that the prediction was read from."""
    unread: Unread | None = None
    """Why the reply gives no prediction."""
    prediction: int | None = None
    labels: list[int | None] | None = None
    """The label of each step, as the run recorded it."""


class RecordedCritiqueMetadata(SolutionMetadata):
    """Metadata of a solution that a run made elsewhere has judged."""

    recorded: RecordedCritique


class RecordedSolution(_Metadata):
    """A solution sampled elsewhere, with the scores of its steps."""

    steps: list[str]
    answer: str | None
    scores: list[float | None]


class RecordedSolutionsMetadata(_Metadata):
    """Metadata of a problem that has solutions sampled elsewhere."""

    recorded: list[RecordedSolution]
