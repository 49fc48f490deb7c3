"""Counting votes: the verdict that most choices gave.

One reply is a vote of one. The count is over verdicts, never over hit or miss.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import exp

from inspect_ai.model import ChatCompletionChoice, ContentReasoning

from misstep.boxes import last_published_box
from misstep.registry import MisstepError
from misstep.scorers._verdicts import index_in, read_verdict
from misstep.verdicts import Reading, Unread, Verdict


@dataclass(frozen=True)
class Vote:
    """What one choice says."""

    verdict: Verdict | Unread
    ballot: str | None
    """What is counted. The strict rule counts the text of the box, readable or not; the lenient
    one counts indices. A choice without a ballot is dropped from the count."""
    weight: float = 1.0


@dataclass(frozen=True)
class Tally:
    """The outcome of a vote."""

    verdict: Verdict | Unread
    counts: dict[str, float]
    """The votes for each ballot, in the order in which they were first cast."""
    votes: int
    """All votes cast, with those that were dropped."""

    @property
    def margin(self) -> float:
        """By how many votes the winner leads."""
        first, second = [*sorted(self.counts.values(), reverse=True), 0, 0][:2]
        return first - second


def read_vote(choice: ChatCompletionChoice, reading: Reading, weighted: bool = False) -> Vote:
    """Read one choice: its answer, and only where that has no box its reasoning.

    Args:
        choice: The choice.
        reading: Strict or lenient.
        weighted: Let the vote weigh as much as the model was sure of its words.

    Raises:
        MisstepError: Weights are wanted, and the provider gave no logprobs.
    """
    vote = _read_choice(choice, reading)
    return replace(vote, weight=_confidence(choice)) if weighted else vote


def _confidence(choice: ChatCompletionChoice) -> float:
    """The geometric mean of the probabilities of a reply's tokens."""
    tokens = choice.logprobs.content if choice.logprobs else []
    if not tokens:
        raise MisstepError(
            "Votes cannot be weighted: the model returned no logprobs. "
            "Leave out weighted=true, or take a provider that gives logprobs."
        )
    return exp(sum(token.logprob for token in tokens) / len(tokens))


def _read_choice(choice: ChatCompletionChoice, reading: Reading) -> Vote:
    if choice.stop_reason in ("max_tokens", "model_length"):
        return Vote(Unread.TRUNCATED, None)
    if choice.stop_reason == "content_filter":
        return Vote(Unread.REFUSED, None)
    vote = Vote(Unread.EMPTY, None)
    for text in (choice.message.text, reasoning_of(choice)):
        if text.strip():
            vote = _read_text(text, reading)
            if vote.verdict is not Unread.NO_BOX:
                return vote
    return vote


def _read_text(text: str, reading: Reading) -> Vote:
    if reading == "strict":
        box = last_published_box(text)
        return Vote(Unread.NO_BOX if box is None else index_in(box), box)
    verdict = read_verdict(text, reading)
    return Vote(verdict, None if isinstance(verdict, Unread) else str(verdict))


def reasoning_of(choice: ChatCompletionChoice) -> str:
    """What a choice holds beside its answer."""
    content = choice.message.content
    if isinstance(content, str):
        return ""
    return "\n".join(part.reasoning for part in content if isinstance(part, ContentReasoning))


def tally(votes: Sequence[Vote]) -> Tally:
    """The plurality of some votes; of several leaders, the one that was first cast.

    Raises:
        ValueError: There is no vote to count.
    """
    if not votes:
        raise ValueError("there are no votes to count")
    counts: dict[str, float] = {}
    for vote in votes:
        if vote.ballot is not None:
            counts[vote.ballot] = counts.get(vote.ballot, 0) + vote.weight
    if counts:
        winner = max(counts, key=counts.__getitem__)
        verdict = next(vote.verdict for vote in votes if vote.ballot == winner)
    else:
        verdict = votes[0].verdict
    return Tally(verdict, counts, len(votes))
