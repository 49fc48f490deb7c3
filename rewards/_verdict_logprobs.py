"""How probable a judge held its verdict, from the logprobs of the verdict's token."""

from collections.abc import Sequence
from math import exp

from inspect_ai.model import Logprob

Words = Sequence[str]


def right_probability(
    tokens: Sequence[Logprob], verdict: str, right: Words, wrong: Words
) -> float | None:
    """P(right) / (P(right) + P(wrong)) at the token where the verdict begins.

    Args:
        tokens: The reply's tokens, with their alternatives where the provider gave them.
        verdict: The verdict as it stands in the reply; its last occurrence counts.
        right: The words for a right step.
        wrong: The words for a wrong step.

    Returns:
        None where the verdict's token is not to be found, or the provider did not say what else
        might have stood in its place.
    """
    token = _token_of(tokens, verdict)
    if token is None or not token.top_logprobs:
        return None
    options = {token.token: token.logprob}
    options |= {option.token: option.logprob for option in token.top_logprobs}
    p_right = sum(exp(p) for word, p in options.items() if _side(word, right, wrong) is True)
    p_wrong = sum(exp(p) for word, p in options.items() if _side(word, right, wrong) is False)
    return p_right / (p_right + p_wrong) if p_right + p_wrong > 0 else None


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
