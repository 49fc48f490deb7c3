"""When a lead can no longer be lost."""

from collections.abc import Sequence
from math import ceil

from misstep.scorers._votes import Vote, tally


def votes_needed(votes: Sequence[Vote], remaining: int) -> int:
    """The least number of further votes after which the outcome can be certain; 0 if it is.

    Args:
        votes: The votes so far, in order.
        remaining: How many more there would be.
    """
    if not votes or remaining == 0:
        return ceil(remaining / 2)
    counts = tally(votes).counts
    if not counts:
        return ceil(remaining / 2)
    order = list(counts)
    leader = max(counts, key=counts.__getitem__)
    # A newcomer starts from nothing and loses a tie, having been seen later than the leader.
    shortfall = remaining - counts[leader]
    for other in order:
        if other != leader:
            wins_ties = order.index(other) < order.index(leader)
            shortfall = max(shortfall, counts[other] + remaining - counts[leader] + wins_ties)
    return min(remaining, max(0, ceil(shortfall / 2)))
