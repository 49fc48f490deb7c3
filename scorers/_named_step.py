"""The scorer of transcripts without labels: which step the critic names, and why."""

from collections.abc import Sequence

from inspect_ai.scorer import Metric, SampleScore, Score, Scorer, Target, Value, metric, scorer
from inspect_ai.solver import TaskState

from misstep.samples import SolutionMetadata
from misstep.scorers._first_error import REASONS, UNREAD_TEXT, votes_of
from misstep.scorers._votes import tally
from misstep.stores import critic_verdict
from misstep.verdicts import NO_ERROR, Unread

ERROR, NONE, UNREAD = "error", "none", "unread"


@metric(name="named_step_metrics", scores="unreduced")
def named_step_metrics() -> Metric:
    """The share of transcripts with a wrong step, and the share without a readable verdict."""

    def compute(scores: list[SampleScore]) -> Value:
        return {"with_error": _share(scores, ERROR), "unread": _share(scores, UNREAD)}

    return compute


def _share(scores: Sequence[SampleScore], value: str) -> float:
    return sum(one.score.value == value for one in scores) / max(1, len(scores))


@scorer(metrics=[named_step_metrics()])
def named_step() -> Scorer:
    """Say which step a critic calls the first wrong one: error, none, or unread."""

    async def score(state: TaskState, target: Target) -> Score:
        steps = state.metadata_as(SolutionMetadata).steps
        left = critic_verdict(state.store, state.output)
        verdict = tally(votes_of(state, left, "lenient")).verdict
        reason = (left.reason if left is not None else None) or state.output.completion.strip()
        if not isinstance(verdict, Unread) and not NO_ERROR <= verdict < len(steps):
            verdict = Unread.NOT_AN_INDEX
        if isinstance(verdict, Unread):
            return Score(
                value=UNREAD,
                explanation=f"No verdict: {UNREAD_TEXT[verdict]}.\n\n{reason}",
                reason=REASONS[verdict],
                metadata={"unread": verdict.value},
            )
        found = verdict != NO_ERROR
        return Score(
            value=ERROR if found else NONE, answer=str(verdict), explanation=reason or None
        )

    return score
