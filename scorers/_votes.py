r"""Verdicts and votes: reading choices, counting them, and what the log keeps of the count.

One reply is one vote. The count is over verdicts, never over right or wrong.

A verdict is the index in the last `\boxed{}`. There are two readings of the same text. *Strict*
follows the published rule to the letter. *Lenient* takes what the writer evidently meant. Both take
time linear in the length of the text.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from math import ceil, exp
from typing import Any

from inspect_ai.model import ChatCompletionChoice, ContentReasoning
from inspect_ai.scorer import Score, ScoreReducer, score_reducer

from misstep.boxes import box_spans, last_published_box
from misstep.registry import MisstepError
from misstep.verdicts import Reading, Unread, Verdict, unread_stop

_FORMAT = "invalid_response_format"
UNREAD = {
    Unread.NO_BOX: (_FORMAT, r"the reply has no \boxed{}"),
    Unread.NOT_AN_INDEX: (_FORMAT, r"the \boxed{} does not hold one index"),
    Unread.NO_SIGN: (_FORMAT, "the reply begins with neither + nor -"),
    Unread.NO_CONCLUSION: (_FORMAT, "the reply does not say whether there is an error"),
    Unread.NO_SECTION: (_FORMAT, "the reply reports an error but names no section"),
    Unread.NOT_STRUCTURED: (_FORMAT, "the reply is not the requested JSON object"),
    Unread.WRONG_LENGTH: (_FORMAT, "the reply has another number of labels than steps"),
    Unread.TRUNCATED: ("truncated", "the reply reached the length limit"),
    Unread.REFUSED: ("refusal", "the model refused"),
    Unread.EMPTY: ("no_response", "the reply is empty"),
    Unread.NOT_RECORDED: ("not_recorded", "the recorded scores end before a verdict"),
    Unread.NO_REWARD: ("scoring_failed", "a step has no reward"),
    Unread.NOT_LABELLED: (_FORMAT, "a step before the first wrong one has no label"),
    Unread.TOO_LONG: ("truncated", "a step is longer than the model's context"),
}
REASONS = {unread: reason for unread, (reason, _) in UNREAD.items()}
"""Inspect's words for why a score is abnormal."""
UNREAD_TEXT = {unread: text for unread, (_, text) in UNREAD.items()}


def read_verdict(text: str, reading: Reading) -> Verdict | Unread:
    r"""Return the verdict in a text.

    Strict applies Python's `int()` to the last box, even to an empty one. Lenient takes the last
    box that holds one index. It ignores markup (`\text{3}`), tag names (`paragraph_3`) and remarks
    (`-1 (not found)`).
    """
    box = last_published_box(text)
    strict = Unread.NO_BOX if box is None else index_in(box)
    if reading == "strict":
        return strict
    # If the last box holds a bare index, then it is also the last box that holds one, unless some
    # box is written with a space before its brace: only the lenient reading knows those.
    plain = isinstance(strict, int) and "_" not in (box or "")
    if plain and text.count(r"\boxed") == text.count(r"\boxed{"):
        return strict
    spans = box_spans(text, latex=False)
    for start, end in reversed(spans):
        index = _lenient_index(text[start:end]) if end - start <= _LONGEST_BOX else None
        if index is not None:
            return index
    return Unread.NOT_AN_INDEX if spans else Unread.NO_BOX


def index_in(box: str) -> Verdict | Unread:
    """Return the index in a box by the published rule, which is Python's `int()`."""
    try:
        return int(box)
    except ValueError:
        return Unread.NOT_AN_INDEX


_LONGEST_BOX = 1000
"""Characters. A longer box holds prose, not an index."""

_MINUS = str.maketrans({"\u2212": "-", "\u2013": "-", "\u2014": "-", "$": None, "~": " "})
_SPACING = re.compile(r"\\[,;:! ]|\\q?quad\b|\\[()]")
_WRAPPED = re.compile(
    r"\\(?:text(?:bf|it|rm|sf|tt|normal)?|math(?:bf|rm|it|sf|tt)|boldsymbol|bm|emph|underline"
    r"|operatorname|boxed|fbox)\s*\{([^{}]*)\}"
)
_INDEX = re.compile(
    r"<?/?(?:(?:proof[ _]?)?(?:paragraph|step|section|index))?[ _:#=]*"
    r"([-+]? ?\d+)(?:\.0*)?>?[.,;:]?"
    r"(?:[ (][a-z ()'.]*)?",
    re.IGNORECASE,
)


def _lenient_index(box: str) -> Verdict | None:
    # Python reads `1_0` as 10. Nobody writes the index 10 like that.
    if "_" not in box and isinstance(strict := index_in(box), int):
        return strict
    plain = _SPACING.sub(" ", box.translate(_MINUS)).replace(r"\_", "_")
    while (inner := _WRAPPED.sub(r"\1", plain)) != plain:
        plain = inner
    plain = " ".join(plain.replace("{", "").replace("}", "").split())
    match = _INDEX.fullmatch(plain)
    return int(match[1].replace(" ", "")) if match else None


_LONGEST = 40
"""Characters of a ballot that the log keeps. An index is shorter; the output has the full reply."""


@dataclass(frozen=True)
class Vote:
    """The verdict of one choice."""

    verdict: Verdict | Unread
    ballot: str | None
    """What is counted. The strict rule counts the text of the box, readable or not. The lenient
    rule counts indices. A vote without a ballot is dropped from the count."""
    weight: float = 1.0


@dataclass(frozen=True)
class Tally:
    """The result of a vote."""

    verdict: Verdict | Unread
    counts: dict[str, float]
    """The votes for each ballot, in the order in which they were first cast."""

    @property
    def margin(self) -> float:
        """The number of votes by which the winner leads."""
        first, second = [*sorted(self.counts.values(), reverse=True), 0, 0][:2]
        return first - second


def read_vote(choice: ChatCompletionChoice, reading: Reading, weighted: bool = False) -> Vote:
    """Read one choice: its answer first, then its reasoning if the answer has no box."""
    vote = _read_choice(choice, reading)
    if not weighted or vote.ballot is None:  # a vote that is not counted needs no weight
        return vote
    return replace(vote, weight=_confidence(choice))


def _confidence(choice: ChatCompletionChoice) -> float:
    """Return the geometric mean of the probabilities of a reply's tokens."""
    tokens = choice.logprobs.content if choice.logprobs else []
    if not tokens:
        raise MisstepError(
            "Votes cannot be weighted: the model returned no logprobs. "
            "Leave out weighted=true, or use a provider that returns logprobs."
        )
    return exp(sum(token.logprob for token in tokens) / len(tokens))


def _read_choice(choice: ChatCompletionChoice, reading: Reading) -> Vote:
    if (unread := unread_stop(choice.stop_reason)) is not None:
        return Vote(unread, None)
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
    """Return the reasoning of a choice, without its answer."""
    content = choice.message.content
    if isinstance(content, str):
        return ""
    return "\n".join(part.reasoning for part in content if isinstance(part, ContentReasoning))


def tally(votes: Sequence[Vote]) -> Tally:
    """Count votes by plurality. On a tie, the ballot that was cast first wins."""
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
    return Tally(verdict, counts)


def votes_needed(votes: Sequence[Vote], remaining: int) -> int:
    """Return the least number of further votes after which the result can be certain."""
    counts = tally(votes).counts if votes else {}
    if not counts or remaining == 0:
        return ceil(remaining / 2)
    order = list(counts)
    leader = max(counts, key=counts.__getitem__)
    # A new ballot starts from zero and loses a tie, because the leader was cast before it.
    shortfall = remaining - counts[leader]
    for other in order:
        if other != leader:
            wins_ties = order.index(other) < order.index(leader)
            shortfall = max(shortfall, counts[other] + remaining - counts[leader] + wins_ties)
    return min(remaining, max(0, ceil(shortfall / 2)))


def voting_record(
    votes: Sequence[Vote], result: Tally, label: Verdict, asked: int
) -> dict[str, Any]:
    """Return what the log keeps: all votes in order, the counts, and the hits at fewer votes."""
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
        "agreement": 0.0 if winner is None else sum(v.ballot == winner for v in votes) / len(votes),
        "hits_at": {str(k): float(tally(votes[:k]).verdict == label) for k in fewer_votes(asked)},
    }


def fewer_votes(asked: int) -> Iterator[int]:
    """Yield 1, 2, 4 and so on, below the number of votes asked for."""
    k = 1
    while k < asked:
        yield k
        k *= 2


def shortened(text: str | None, longest: int = _LONGEST) -> str:
    """Return a ballot or an answer, cut to a length for the log."""
    text = text or ""
    return text if len(text) <= longest else text[: longest - 1] + "…"


@score_reducer(name="misstep/vote")
@score_reducer(name="vote")
def vote() -> ScoreReducer:
    """Reduce epochs by a vote on the answer: for `--epochs 8 --epochs-reducer misstep/vote`.

    Inspect's command looks reducers up before it loads packages, except the package that the name
    begins with. In Python `vote` is enough.

    On a tie, the answer that was given first wins. The built-in `mode` votes on right or wrong
    instead: there, different wrong answers together outvote the right one.
    """

    def reduce(scores: list[Score]) -> Score:
        ballots = [(score.metadata or {}).get("ballot", score.answer) for score in scores]
        counts: dict[str, int] = {}
        for ballot in ballots:
            if ballot is not None:
                counts[ballot] = counts.get(ballot, 0) + 1
        if not counts:
            return scores[0]
        winner = max(counts, key=counts.__getitem__)
        elected = scores[ballots.index(winner)]
        record = {"votes": ballots, "counts": counts}
        return elected.model_copy(
            update={"metadata": {**(elected.metadata or {}), "voting": record}}
        )

    return reduce
