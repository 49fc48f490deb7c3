"""How probable a judge held its verdict, from the logprobs of the verdict's token."""

from collections.abc import Sequence
from enum import StrEnum
from math import exp, isnan

from inspect_ai.model import Logprob

Words = Sequence[str]


class MissingProbability(StrEnum):
    """Why there is none."""

    NO_LOGPROBS = "the model gave no logprobs; take a provider that gives them"
    NO_ALTERNATIVES = "the model named no alternatives to the verdict's token (top_logprobs)"
    NO_TOKEN = "the verdict is not to be found among the tokens"  # noqa: S105
    NO_WORD = "no token where the verdict stands begins one of its words alone"
    NOT_A_NUMBER = "the logprobs where the verdict stands are not numbers"


def right_probability(
    tokens: Sequence[Logprob], verdict: str, right: Words, wrong: Words
) -> float | MissingProbability:
    """P(right) / (P(right) + P(wrong)) at the token where the verdict begins.

    A word may be several tokens: what counts is which word a token begins. Where only one of the
    two stands among the alternatives, the other is bounded by the least probable of them.

    Args:
        tokens: The reply's tokens, with their alternatives where the provider gave them.
        verdict: The verdict as it stands in the reply; its last occurrence counts.
        right: The words for a right step.
        wrong: The words for a wrong step.
    """
    if not tokens:
        return MissingProbability.NO_LOGPROBS
    token = _token_of(tokens, verdict)
    if token is None:
        return MissingProbability.NO_TOKEN
    options = {token.token: token.logprob}
    options |= {option.token: option.logprob for option in token.top_logprobs or []}
    if any(isnan(logprob) for logprob in options.values()):
        return MissingProbability.NOT_A_NUMBER
    if len(options) < 2:
        return MissingProbability.NO_ALTERNATIVES
    sides = {word: _side(word, right, wrong) for word in options}
    seen, least = set(sides.values()), exp(min(options.values()))
    chances = {word: exp(logprob) for word, logprob in options.items()}
    p_right, p_wrong = (
        sum(chances[word] for word in options if sides[word] is side) if side in seen else least
        for side in (True, False)
    )
    if not {True, False} & seen or p_right + p_wrong == 0:
        return MissingProbability.NO_WORD
    return p_right / (p_right + p_wrong)


def _token_of(tokens: Sequence[Logprob], verdict: str) -> Logprob | None:
    """The token in which the last occurrence of the verdict begins."""
    start = "".join(token.token for token in tokens).rfind(verdict)
    if start < 0:
        return None
    end = 0
    for token in tokens:
        end += len(token.token)
        if end > start:
            return token
    return None


def _side(token: str, right: Words, wrong: Words) -> bool | None:
    """Which verdict a token begins, if one alone; a word may be several tokens."""
    start = token.strip().strip("{[").lower()
    if not start:
        return None
    sides = [any(word.startswith(start) for word in words) for words in (right, wrong)]
    return None if sides[0] == sides[1] else sides[0]
