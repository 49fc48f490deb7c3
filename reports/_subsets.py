"""What n of N solutions give, averaged over all ways to take them: exact, by counting.

A draw of n solutions out of N is as likely as any other, so a method's expected accuracy is a
number of draws divided by all of them. At n = N there is one draw, and it is the method itself.
"""

from collections.abc import Sequence
from itertools import groupby
from math import comb
from operator import itemgetter


def expected_best(worths: Sequence[float | None], right: Sequence[bool], n: int) -> float:
    """The chance that the best of n solutions is right.

    Of equals any is taken, each as likely as the other. A solution without a worth is never taken;
    where all n are without one there is no answer, which is not right.

    Args:
        worths: One number for each solution.
        right: Whether each is right.
        n: How many are drawn.
    """
    draws = comb(len(worths), n)
    ranked = sorted(
        (worth, ok) for worth, ok in zip(worths, right, strict=True) if worth is not None
    )
    below = len(worths) - len(ranked)
    chance = 0.0
    for _, equals in groupby(ranked, key=itemgetter(0)):
        group = [ok for _, ok in equals]
        # Draws whose best is of this group: none above it, and not all below it.
        of_group = comb(below + len(group), n) - comb(below, n)
        chance += of_group / draws * sum(group) / len(group)
        below += len(group)
    return chance


def expected_oracle(right: Sequence[bool], n: int) -> float:
    """The chance that any of n solutions is right."""
    return 1 - comb(right.count(False), n) / comb(len(right), n)


def expected_majority(sizes: Sequence[int], right: Sequence[bool], none: int, n: int) -> float:
    """The chance that the answer of most of n solutions is right.

    Of several leaders the one that comes first is taken; in a draw in any order that is each of
    them with the same chance. Solutions without an answer have no vote.

    Args:
        sizes: How many solutions give each answer.
        right: Whether each answer is right.
        none: How many solutions give none.
        n: How many are drawn.
    """
    total = 0.0
    for j in (j for j, ok in enumerate(right) if ok):
        others = [size for i, size in enumerate(sizes) if i != j]
        for lead in range(1, min(sizes[j], n) + 1):
            rest = _draws_below(others, none, lead, n - lead)
            wins = sum(count / (ties + 1) for ties, count in enumerate(rest))
            total += comb(sizes[j], lead) * wins
    return total / comb(sum(sizes) + none, n)


def _draws_below(sizes: Sequence[int], none: int, lead: int, draw: int) -> list[int]:
    """How many ways there are to draw so many votes with none above the lead, by ties with it."""
    # ways[ties][k]: draws of k votes so far.
    ways = [[comb(none, k) for k in range(draw + 1)]]
    for size in sizes:
        most_ties = len(ways) + (size >= lead)
        grown = [[0] * (draw + 1) for _ in range(most_ties)]
        for ties, row in enumerate(ways):
            for k, count in enumerate(row):
                if count:
                    for votes in range(min(size, lead, draw - k) + 1):
                        tied = ties + (votes == lead)
                        grown[tied][k + votes] += count * comb(size, votes)
        ways = grown
    return [row[draw] for row in ways]
