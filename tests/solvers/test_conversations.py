import pytest
from inspect_ai.model import ChatMessageAssistant, ChatMessageUser, ModelOutput, get_model

from misstep.providers import Refusal
from misstep.registry import MisstepError
from misstep.solvers._conversations import (
    CallRefusedError,
    TurnPlan,
    continue_reasoning,
    plan_answer_role,
    plan_turn,
)

FLAGS = {"continue_final_message": True, "add_generation_prompt": False}
NO_FLAGS = {"continue_final_message": False, "add_generation_prompt": True}


@pytest.mark.parametrize(
    ("wanted", "provider", "turn", "body"),
    [
        ("auto", "vllm", "continued", {}),
        ("auto", "sglang", "continued", {}),
        ("auto", "embedded", "continued", {}),
        ("auto", "openai", "new_turn", {}),
        ("auto", "openai-api", "new_turn", {}),
        ("auto", "nobody-knows", "new_turn", {}),
        ("continued", "openai-api", "continued", FLAGS),
        ("continued", "vllm", "continued", {}),
        ("continued", "nobody-knows", "continued", {}),
        ("new_turn", "vllm", "new_turn", NO_FLAGS),
        ("new_turn", "openai", "new_turn", {}),
        ("asked", "vllm", "asked", {}),
    ],
)
def test_the_turn_is_what_the_provider_can_do_or_what_is_wanted(wanted, provider, turn, body):
    assert plan_turn(wanted, provider) == TurnPlan(turn, body, forced=wanted != "auto")


def test_a_turn_that_a_provider_cannot_do_is_refused_with_the_cure():
    with pytest.raises(MisstepError, match="-T turn=asked"):
        plan_turn("new_turn", "embedded")


def test_a_refused_message_stays_and_the_user_asks_to_go_on():
    messages = [ChatMessageUser(content="?"), ChatMessageAssistant(content="So")]
    talk = continue_reasoning(messages, TurnPlan("continued"), "Go on.")
    assert next(talk).fallback is Refusal.TRAILING_MESSAGE
    call = talk.throw(CallRefusedError())
    assert [message.text for message in call.messages] == ["?", "So", "Go on."]
    with pytest.raises(StopIteration) as end:
        talk.send(output := ModelOutput.from_content("m", "on"))
    assert end.value.value == ("asked", output)


@pytest.mark.parametrize(("provider", "turn"), [("vllm", None), ("sglang", None)])
def test_inspects_own_providers_send_what_the_facts_say(provider, turn):
    """What `registry/providers.yaml` says of Inspect's providers holds for the one installed."""
    import anyio

    from tests.support.openai_server import OpenAIServer

    messages = [ChatMessageUser(content="?"), ChatMessageAssistant(content="So")]
    with OpenAIServer(lambda request, choice: "on") as server:
        model = get_model(f"{provider}/m", base_url=server.url, api_key="x", memoize=False)
        anyio.run(model.generate, messages)
        [body] = [request.body for request in server.requests if "messages" in request.body]
    assert {name: body[name] for name in FLAGS} == FLAGS


@pytest.mark.parametrize(
    ("wanted", "provider", "role"),
    [
        ("auto", "openai", "system"),
        ("auto", "vllm", "system"),
        ("auto", "anthropic", "user"),
        ("auto", "google", "user"),
        ("auto", "mistral", "user"),
        ("system", "anthropic", "system"),
        ("user", "openai", "user"),
    ],
)
def test_the_user_asks_where_a_late_system_message_has_no_place(wanted, provider, role):
    assert plan_answer_role(wanted, provider) == role


def test_a_server_that_repeats_the_given_text_has_continued_it():
    messages = [ChatMessageUser(content="?"), ChatMessageAssistant(content="So 1 + 1")]
    talk = continue_reasoning(messages, TurnPlan("new_turn"), "Go on.")
    next(talk)
    with pytest.raises(StopIteration) as end:
        talk.send(ModelOutput.from_content("m", "So 1 + 1 = 2."))
    assert end.value.value[0] == "continued"
