"""Judges: what they are asked, how a reply is read, and the probability of a verdict."""

from math import exp, log, nan

import pytest
from inspect_ai.model import (
    ChatCompletionChoice,
    ChatMessageAssistant,
    Logprob,
    Logprobs,
    TopLogprob,
)

from misstep.registry import find_judge
from misstep.rewards import judge_messages, read_step_verdict
from misstep.rewards._judge import MissingProbability, right_probability
from misstep.verdicts import Unread

RIGHT, WRONG = ["right", "+"], ["wrong", "-"]


def token(text, **probabilities):
    top = [TopLogprob(token=word, logprob=log(p)) for word, p in probabilities.items()]
    return Logprob(token=text, logprob=log(probabilities.get(text, 0.9)), top_logprobs=top)


def reply(text, stop_reason="stop", logprobs=None):
    message = ChatMessageAssistant(content=text)
    return ChatCompletionChoice(message=message, stop_reason=stop_reason, logprobs=logprobs)


def roles_and_texts(messages):
    return [(message.role, message.text) for message in messages]


def test_single_token_messages_are_those_of_rlhflow():
    judge = find_judge("single_token")
    assert roles_and_texts(judge_messages(judge, "P", ["a", "b", "c"], 0)) == [("user", "P\n\na")]
    assert roles_and_texts(judge_messages(judge, "P", ["a", "b", "c"], 2)) == [
        ("user", "P\n\na"),
        ("assistant", "+"),
        ("user", "b"),
        ("assistant", "+"),
        ("user", "c"),
    ]
    # Some APIs refuse limits under 16 tokens.
    assert (judge.temperature, judge.max_tokens) == (0.0, 16)
    published = find_judge("rlhflow")
    assert published.max_tokens == 1
    assert judge_messages(published, "P", ["a"], 0)[0].text == "P\n\na"


def test_the_probability_of_one_token_is_that_of_the_first_one():
    tokens = [token("+", **{"+": 0.8, "-": 0.2}), token(" as"), token("+", **{"+": 0.1, "-": 0.9})]
    read = read_step_verdict(
        reply("+ as+", logprobs=Logprobs(content=tokens)), find_judge("single_token")
    )
    assert (read.right, read.probability) == (True, pytest.approx(0.8))


def test_a_token_that_is_no_sign_still_has_a_probability():
    tokens = [token("The", **{"The": 0.5, "+": 0.1, "-": 0.3})]
    read = read_step_verdict(
        reply("The", logprobs=Logprobs(content=tokens)), find_judge("single_token")
    )
    assert (read.right, read.probability) == (Unread.NO_SIGN, pytest.approx(0.25))


def test_a_written_judgement_has_a_system_instruction_and_constant_history():
    messages = roles_and_texts(judge_messages(find_judge("written"), "P", ["a", "b"], 1))
    assert [role for role, _ in messages] == ["system", "user", "assistant", "user"]
    assert messages[2][1] == r"\boxed{Right}"


def test_plain_style_asks_about_each_step_in_one_message():
    [(role, text)] = roles_and_texts(
        judge_messages(find_judge("plain"), "P", ["a", "b {step}", "c"], 2)
    )
    assert role == "user"
    assert "[Checked steps]\n\na\n\nb {step}\n\n[Next step]\n\nc\n" in text


@pytest.mark.parametrize(
    ("text", "right"),
    [
        ("+", True),
        (" +\n", True),
        ("-", False),
        ("+ as 2-1 is 1", True),
        ("no", Unread.NO_SIGN),
        ("The", Unread.NO_SIGN),
        ("", Unread.EMPTY),
    ],
)
def test_single_token_is_read_at_its_first_sign(text, right):
    assert read_step_verdict(reply(text, "max_tokens"), find_judge("single_token")).right == right


@pytest.mark.parametrize(
    ("text", "right"),
    [
        ("so [Right]", True),
        ("so [Wrong]", False),
        (r"so \boxed{+}", True),
        (r"so \boxed{-}", False),
        (r"so \boxed{Right}", True),
        (r"so \boxed{\text{incorrect}}", False),
        (r"so \boxed{Correct}.", True),
        (r"\boxed{yes}", True),
        (r"\boxed{No.}", False),
        (r"first \boxed{wrong}, no: \boxed{right}", True),
        (r"the sum is \boxed{5}, so [Wrong]", False),
        (r"the sum is \boxed{5}", Unread.NO_BOX),
        ("it is right", Unread.NO_BOX),
        (r"\boxed{maybe}", Unread.NO_BOX),
    ],
)
def test_the_last_boxed_or_bracketed_verdict_word_is_the_verdict(text, right):
    for style in ("written", "plain"):
        assert read_step_verdict(reply(text), find_judge(style)).right == right


def test_a_truncated_or_refused_reply_is_unread():
    judge = find_judge("written")
    assert read_step_verdict(reply(r"\boxed{right}", "max_tokens"), judge).right == Unread.TRUNCATED
    assert (
        read_step_verdict(reply(r"\boxed{right}", "content_filter"), judge).right == Unread.REFUSED
    )


@pytest.mark.parametrize("style", ["single_token", "written", "plain"])
def test_a_prompt_that_is_too_long_is_unread(style):
    # Some providers return the error message as the text.
    refused = reply("This model's maximum context length is 8192 tokens.", "model_length")
    assert read_step_verdict(refused, find_judge(style)).right == Unread.TRUNCATED


def test_the_probability_is_normalised_over_the_verdict_words():
    tokens = [
        token("fine"),
        token(r" \boxed"),
        token("{"),
        token("Right", Right=0.6, Wrong=0.2, Left=0.2),
        token("}"),
    ]
    verdict = read_step_verdict(
        reply(r"fine \boxed{Right}", logprobs=Logprobs(content=tokens)), find_judge("written")
    )
    assert verdict.right is True
    assert verdict.probability == pytest.approx(0.75)


def test_without_logprobs_there_is_no_probability():
    assert read_step_verdict(reply("+"), find_judge("single_token")).probability is None


def test_only_the_token_of_the_last_verdict_counts():
    # A later token with both words among its alternatives is not the verdict.
    tokens = [
        token("Right", Right=0.8, Wrong=0.1),
        token(" so "),
        token("Wrong", Right=0.2, Wrong=0.6),
        token("}", Right=0.01, Wrong=0.01),
    ]
    assert right_probability(tokens, "Wrong", RIGHT, WRONG) == pytest.approx(0.25)


def test_the_least_alternative_bounds_a_missing_word():
    tokens = [token("Right", Right=0.9, Left=0.04, Up=0.01)]
    assert right_probability(tokens, "Right", RIGHT, WRONG) == pytest.approx(0.9 / 0.91)
    tokens = [token("Wrong", Wrong=0.9, Left=0.04, Up=0.01)]
    assert right_probability(tokens, "Wrong", RIGHT, WRONG) == pytest.approx(0.01 / 0.91)


def test_a_token_counts_for_the_word_that_it_begins():
    tokens = [token("{"), token("Wr", Wr=0.6, R=0.3), token("ong"), token("}")]
    assert right_probability(tokens, "Wrong", RIGHT, WRONG) == pytest.approx(1 / 3)


def test_all_spellings_of_a_word_add_up():
    probabilities = {"Right": 0.3, " right": 0.2, "Wrong": 0.1, "wrong": 0.1}
    top = [TopLogprob(token=word, logprob=log(p)) for word, p in probabilities.items()]
    tokens = [Logprob(token="Right", logprob=log(0.3), top_logprobs=top)]
    assert right_probability(tokens, "Right", RIGHT, WRONG) == pytest.approx(5 / 7)


@pytest.mark.parametrize(
    ("tokens", "why"),
    [
        ([], MissingProbability.NO_LOGPROBS),
        ([token("Left", Left=0.9, Up=0.1)], MissingProbability.NO_TOKEN),
        ([Logprob(token="Right", logprob=-0.1)], MissingProbability.NO_ALTERNATIVES),
        ([token("Right", Right=nan, Wrong=0.1)], MissingProbability.NOT_A_NUMBER),
        # The verdict begins in the middle of a token, and no word begins with this token.
        ([token("isRight", isRight=0.9, Up=0.1)], MissingProbability.NO_WORD),
    ],
)
def test_a_missing_probability_says_why(tokens, why):
    assert right_probability(tokens, "Right", RIGHT, WRONG) is why


def test_a_certain_verdict_has_probability_one_if_both_words_are_given():
    top = [TopLogprob(token="+", logprob=0.0), TopLogprob(token="-", logprob=float("-inf"))]
    tokens = [Logprob(token="+", logprob=0.0, top_logprobs=top)]
    assert right_probability(tokens, "+", RIGHT, WRONG) == exp(0.0)


@pytest.mark.parametrize(
    ("text", "right"),
    [
        ("It follows. <Right>", True),
        ("<wrong>", False),
        ("The sum is off.\n\nWrong", False),
        ("The sum holds.\n**Right.**", True),
        ("Right", True),
        ("Final verdict: Wrong.", False),
        (r"The sum is \boxed{5}." + "\nRight", True),
        ("[Wrong] is what I thought at first.\nRight", False),
    ],
)
def test_a_verdict_in_angle_brackets_or_alone_at_the_end_is_read(text, right):
    assert read_step_verdict(reply(text), find_judge("plain")).right is right


@pytest.mark.parametrize(
    "text", ["This step is not right", "Is it right?\nI cannot say.", "right or wrong", "Yes"]
)
def test_a_word_inside_a_sentence_is_no_verdict(text):
    assert read_step_verdict(reply(text), find_judge("plain")).right is Unread.NO_BOX


def test_an_alternative_of_one_letter_begins_no_verdict():
    tokens = [token("Right", Right=0.6, W=0.3, Wrong=0.1)]
    assert right_probability(tokens, "Right", RIGHT, WRONG) == pytest.approx(0.6 / 0.7)


def test_a_letter_that_was_drawn_begins_its_verdict():
    tokens = [token("R", R=0.6, Wrong=0.2, w=0.2), token("ight")]
    assert right_probability(tokens, "Right", RIGHT, WRONG) == pytest.approx(0.75)
