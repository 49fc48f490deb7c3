"""What the log keeps of a vote."""

from collections.abc import Iterator, Sequence
from typing import Any

from misstep.scorers._votes import Tally, Vote, tally
from misstep.verdicts import Unread, Verdict

_LONGEST = 40
"""Characters of a ballot that the log keeps; an index is shorter, and the reply itself is there."""


def voting_record(
    votes: Sequence[Vote], result: Tally, label: Verdict, asked: int
) -> dict[str, Any]:
    """Every vote in choice order, the distribution, the margin, and the hit at fewer votes."""
    ballots = [
        f"({vote.verdict})"
        if isinstance(vote.verdict, Unread) and vote.ballot is None
        else shortened(vote.ballot)
        for vote in votes
    ]
    counts: dict[str, float] = {}
    for ballot, count in result.counts.items():
        counts[shortened(ballot)] = counts.get(shortened(ballot), 0) + count
    winner = max(result.counts, key=result.counts.__getitem__, default=None)
    return {
        "asked": asked,
        "votes": ballots,
        "counts": counts,
        "margin": result.margin,
        "agreement": sum(vote.ballot == winner for vote in votes) / len(votes) if winner else 0.0,
        "hits_at": {str(k): float(tally(votes[:k]).verdict == label) for k in fewer_votes(asked)},
    }


def fewer_votes(asked: int) -> Iterator[int]:
    """1, 2, 4 and so on, below the number of votes asked for."""
    k = 1
    while k < asked:
        yield k
        k *= 2


def shortened(text: str | None, longest: int = _LONGEST) -> str:
    """A ballot or an answer for the log."""
    text = text or ""
    return text if len(text) <= longest else text[: longest - 1] + "…"
