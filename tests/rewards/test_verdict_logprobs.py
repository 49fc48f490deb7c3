"""The probability of a verdict, at the token where it stands."""

from math import exp, log, nan

import pytest
from inspect_ai.model import Logprob, TopLogprob

from misstep.rewards import MissingProbability, right_probability

RIGHT, WRONG = ["right", "+"], ["wrong", "-"]


def token(text, **chances):
    top = [TopLogprob(token=word, logprob=log(p)) for word, p in chances.items()]
    return Logprob(token=text, logprob=log(chances.get(text, 0.9)), top_logprobs=top)


def test_the_last_verdict_counts_and_no_stray_alternative():
    # A later token that mentions both words among its alternatives must not be taken for it.
    tokens = [
        token("Right", Right=0.8, Wrong=0.1),
        token(" so "),
        token("Wrong", Right=0.2, Wrong=0.6),
        token("}", Right=0.01, Wrong=0.01),
    ]
    assert right_probability(tokens, "Wrong", RIGHT, WRONG) == pytest.approx(0.25)


def test_a_word_that_is_missing_is_bounded_by_the_least_alternative():
    tokens = [token("Right", Right=0.9, Left=0.04, Up=0.01)]
    assert right_probability(tokens, "Right", RIGHT, WRONG) == pytest.approx(0.9 / 0.91)
    tokens = [token("Wrong", Wrong=0.9, Left=0.04, Up=0.01)]
    assert right_probability(tokens, "Wrong", RIGHT, WRONG) == pytest.approx(0.01 / 0.91)


def test_words_of_several_tokens_count_by_how_they_begin():
    tokens = [token("{"), token("Wr", Wr=0.6, R=0.3), token("ong"), token("}")]
    assert right_probability(tokens, "Wrong", RIGHT, WRONG) == pytest.approx(1 / 3)


def test_all_spellings_of_a_word_add_up():
    chances = {"Right": 0.3, " right": 0.2, "Wrong": 0.1, "wrong": 0.1}
    top = [TopLogprob(token=word, logprob=log(p)) for word, p in chances.items()]
    tokens = [Logprob(token="Right", logprob=log(0.3), top_logprobs=top)]
    assert right_probability(tokens, "Right", RIGHT, WRONG) == pytest.approx(5 / 7)


@pytest.mark.parametrize(
    ("tokens", "why"),
    [
        ([], MissingProbability.NO_LOGPROBS),
        ([token("Left", Left=0.9, Up=0.1)], MissingProbability.NO_TOKEN),
        ([Logprob(token="Right", logprob=-0.1)], MissingProbability.NO_ALTERNATIVES),
        ([token("Right", Right=nan, Wrong=0.1)], MissingProbability.NOT_A_NUMBER),
        # Begun in the middle of a token that no word begins with.
        ([token("isRight", isRight=0.9, Up=0.1)], MissingProbability.NO_WORD),
    ],
)
def test_what_cannot_be_told_is_missing_and_says_why(tokens, why):
    assert right_probability(tokens, "Right", RIGHT, WRONG) is why


def test_certainty_is_not_bounded_where_both_words_are_there():
    top = [TopLogprob(token="+", logprob=0.0), TopLogprob(token="-", logprob=float("-inf"))]
    tokens = [Logprob(token="+", logprob=0.0, top_logprobs=top)]
    assert right_probability(tokens, "+", RIGHT, WRONG) == exp(0.0)
