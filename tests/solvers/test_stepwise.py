import pytest
from inspect_ai.model import (
    ChatCompletionChoice,
    ChatMessageAssistant,
    Logprob,
    Logprobs,
    TopLogprob,
)

from misstep.registry import MisstepError, UnknownNameError, find_judge
from misstep.rewards import judge_messages, read_step_verdict
from misstep.solvers import find_critic
from misstep.verdicts import Unread


def reply(text, stop_reason="stop", logprobs=None):
    message = ChatMessageAssistant(content=text)
    return ChatCompletionChoice(message=message, stop_reason=stop_reason, logprobs=logprobs)


def turns(messages):
    return [(message.role, message.text) for message in messages]


def test_single_token_asks_as_rlhflow_does():
    judge = find_judge("single_token")
    assert turns(judge_messages(judge, "P", ["a", "b", "c"], 0)) == [("user", "P\n\na")]
    assert turns(judge_messages(judge, "P", ["a", "b", "c"], 2)) == [
        ("user", "P\n\na"),
        ("assistant", "+"),
        ("user", "b"),
        ("assistant", "+"),
        ("user", "c"),
    ]
    assert (judge.temperature, judge.max_tokens) == (0.0, 1)


def test_a_written_judgement_has_a_system_instruction_and_constant_history():
    asked = turns(judge_messages(find_judge("written"), "P", ["a", "b"], 1))
    assert [role for role, _ in asked] == ["system", "user", "assistant", "user"]
    assert asked[2][1] == r"\boxed{Right}"


def test_plain_asks_about_each_step_on_its_own():
    [(role, text)] = turns(judge_messages(find_judge("plain"), "P", ["a", "b {step}", "c"], 2))
    assert role == "user"
    assert "[Checked steps]\n\na\n\nb {step}\n\n[Next step]\n\nc\n" in text


@pytest.mark.parametrize(
    ("text", "right"),
    [("+", True), (" +\n", True), ("-", False), ("no", False), ("", Unread.EMPTY)],
)
def test_single_token_is_right_when_it_starts_with_a_plus(text, right):
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
def test_an_unreadable_judgement_is_no_verdict(text, right):
    for style in ("written", "plain"):
        assert read_step_verdict(reply(text), find_judge(style)).right == right


def test_a_judgement_that_was_cut_or_refused_is_no_verdict():
    judge = find_judge("written")
    assert read_step_verdict(reply(r"\boxed{right}", "max_tokens"), judge).right == Unread.TRUNCATED
    assert (
        read_step_verdict(reply(r"\boxed{right}", "content_filter"), judge).right == Unread.REFUSED
    )


@pytest.mark.parametrize("style", ["single_token", "written", "plain"])
def test_a_prompt_that_is_too_long_is_no_verdict(style):
    # Providers give the error as the text.
    refused = reply("This model's maximum context length is 8192 tokens.", "model_length")
    assert read_step_verdict(refused, find_judge(style)).right == Unread.TRUNCATED


def token(text, logprob, **options):
    top = [TopLogprob(token=word, logprob=p) for word, p in options.items()]
    return Logprob(token=text, logprob=logprob, top_logprobs=top)


def test_the_probability_is_normalised_over_the_verdict_words():
    from math import log

    tokens = [
        token("fine", -0.1),
        token(r" \boxed", -0.1),
        token("{", -0.1),
        token("Right", log(0.6), Right=log(0.6), Wrong=log(0.2), Left=log(0.2)),
        token("}", 0.0),
    ]
    verdict = read_step_verdict(
        reply(r"fine \boxed{Right}", logprobs=Logprobs(content=tokens)), find_judge("written")
    )
    assert verdict.right is True
    assert verdict.probability == pytest.approx(0.75)


def test_without_logprobs_there_is_no_probability():
    assert read_step_verdict(reply("+"), find_judge("single_token")).probability is None


@pytest.mark.parametrize(
    ("critic", "options", "says"),
    [
        ("critique", {"votes": 0}, "votes=0"),
        ("critique", {"votes": -3}, "votes=-3"),
        ("critique", {"adaptive": True}, "votes=8"),
        ("critique", {"votes": 8, "adaptive": True, "weighted": True}, "does not go with"),
        ("stepwise", {"votes": 8}, "votes go with critic=critique"),
        ("stepwise", {"style": "writen"}, "Did you mean 'written'"),
        ("stepwise", {"order": "paralel"}, "Did you mean 'parallel'"),
        ("critiqe", {}, "Did you mean 'critique'"),
        ("critique", {"domain": "maths"}, "Did you mean 'mathematics'"),
        ("nowhere.py@mine", {}, "no Python file"),
    ],
)
def test_a_wrong_option_gets_one_clear_message(critic, options, says):
    with pytest.raises(MisstepError, match=says):
        find_critic(critic, [], **options)


def test_an_unknown_critic_is_an_unknown_name():
    with pytest.raises(UnknownNameError):
        find_critic("misstep/nothing", [])
