import json
import math

import pytest
from inspect_ai.model import (
    ChatMessageAssistant,
    ChatMessageTool,
    ChatMessageUser,
    ContentImage,
    ContentText,
    GenerateConfig,
    ResponseSchema,
    get_model,
)
from inspect_ai.tool import ToolInfo
from inspect_ai.util import json_schema
from pydantic import BaseModel, Field

from misstep.registry import ModelError

CAPITAL = "What is the capital of France?"
END = 2  # SmolLM2's token for the end of a turn


class Verdict(BaseModel):
    step: int = Field(ge=0, le=9)
    right: bool


def test_logprobs_are_a_distribution(ask):
    output = ask(CAPITAL, temperature=0, logprobs=True, top_logprobs=5)
    entries = output.choices[0].logprobs.content
    assert "".join(entry.token for entry in entries) == output.completion
    for entry in entries:
        assert entry.logprob <= 0
        assert len(entry.top_logprobs) == 5
        assert sum(math.exp(top.logprob) for top in entry.top_logprobs) <= 1 + 1e-6
        assert entry.top_logprobs[0].token == entry.token
        assert entry.top_logprobs[0].logprob == entry.logprob


def test_logprobs_without_top_logprobs_have_no_alternatives(ask):
    entries = ask(CAPITAL, temperature=0, logprobs=True).choices[0].logprobs.content
    assert len(entries) == 4
    assert all(entry.top_logprobs is None for entry in entries)


def test_no_logprobs_without_the_setting(ask):
    assert ask(CAPITAL).choices[0].logprobs is None


def test_a_trailing_assistant_message_is_continued(ask):
    prefix = "The capital of France is the city of Par"
    prompt = [ChatMessageUser(content=CAPITAL), ChatMessageAssistant(content=prefix)]
    output = ask(prompt, temperature=0, num_choices=2)
    assert output.completion.startswith("ís")  # SmolLM2 continues the word
    assert all("capital" not in choice.message.text for choice in output.choices)


def test_the_system_message_is_read(ask):
    prompt = ChatMessageUser(content=CAPITAL)
    with_system = ask(CAPITAL, max_tokens=1)
    assert with_system.usage.input_tokens < ask([prompt], max_tokens=1).usage.input_tokens


def test_answers_follow_a_schema(ask):
    schema = ResponseSchema(name="verdict", json_schema=json_schema(Verdict))
    settings = {"temperature": 1, "max_tokens": 64, "response_schema": schema}
    output = ask("Is step 3 right?", seed=0, num_choices=4, **settings)
    for choice in output.choices:
        assert choice.stop_reason == "stop"
        Verdict.model_validate(json.loads(choice.message.text))


def test_answers_follow_a_grammar(ask):
    grammar = {"grammar": 'root ::= "Right" | "Wrong"'}
    settings = {"temperature": 1, "max_tokens": 10, "extra_body": grammar}
    output = ask(CAPITAL, seed=2, num_choices=3, **settings)
    assert {choice.message.text for choice in output.choices} <= {"Right", "Wrong"}
    assert output.stop_reason == "stop"


def test_a_stop_sequence_ends_the_answer_and_is_left_out(ask):
    prompt = [ChatMessageUser(content="Count from one to ten.")]
    output = ask(prompt, temperature=0, stop_seqs=["2."], max_tokens=20)
    assert output.completion == "1. 1\n"
    assert output.stop_reason == "stop"


def test_max_tokens_end_the_answer(ask):
    output = ask(CAPITAL, max_tokens=3)
    assert output.usage.output_tokens == 3
    assert output.stop_reason == "max_tokens"


def test_usage_covers_all_choices_and_the_prompt_once(ask):
    one = ask(CAPITAL, temperature=0, max_tokens=4).usage
    three = ask(CAPITAL, temperature=0, max_tokens=4, num_choices=3).usage
    assert three.output_tokens == 3 * one.output_tokens == 12
    assert three.input_tokens == one.input_tokens
    assert three.total_tokens == three.input_tokens + three.output_tokens


def test_a_prompt_longer_than_the_context_gets_empty_choices(ask, embedded_model_installed):
    small = get_model("embedded/smollm2", ctx=256)
    output = ask("word " * 256, model=small, num_choices=2)
    assert [choice.stop_reason for choice in output.choices] == ["model_length"] * 2
    assert [choice.message.text for choice in output.choices] == ["", ""]
    assert "exceeds" in output.error


def test_an_answer_ends_at_the_end_of_the_context(ask, embedded_model_installed):
    small = get_model("embedded/smollm2", ctx=256)
    output = ask("word " * 232, model=small, max_tokens=64, logit_bias={END: -100})
    assert output.stop_reason == "model_length"
    assert output.usage.total_tokens == 256


def test_a_prompt_of_several_batches_gives_the_same_logprobs_again(ask):
    prompt = "The number of eggs is seven plus nine. " * 13  # more than one batch
    first, second = (ask(prompt, seed=1, max_tokens=2, logprobs=True) for _ in range(2))
    assert first.usage.input_tokens > 128
    assert first.choices[0].logprobs == second.choices[0].logprobs


async def answer(model, messages, tools=(), **settings):
    config = GenerateConfig.model_validate({"max_tokens": 3, **settings})
    return await model.api.generate(messages, list(tools), "none", config)


@pytest.mark.anyio
async def test_the_call_is_recorded_with_its_seed(smollm2):
    _, call = await answer(smollm2, [ChatMessageUser(content=CAPITAL)])
    assert call.request["messages"] == [{"role": "user", "content": CAPITAL}]
    assert isinstance(call.request["seed"], int)
    assert call.response["choices"][0]["finish_reason"] == "length"
    assert call.time > 0


@pytest.mark.anyio
async def test_a_request_that_llama_cpp_refuses_is_an_error_with_its_call(smollm2):
    grammar = {"grammar": "root ::= ["}
    error, call = await answer(smollm2, [ChatMessageUser(content="x")], extra_body=grammar)
    assert isinstance(error, ModelError)
    assert "failed to parse grammar" in str(error)
    assert call.error


@pytest.mark.anyio
async def test_tools_are_refused(smollm2):
    tool = ToolInfo(name="python", description="Run it.")
    with pytest.raises(ModelError, match=r"do not call tools.*python"):
        await answer(smollm2, [ChatMessageUser(content="x")], tools=[tool])
    with pytest.raises(ModelError, match="holds a tool's answer"):
        await answer(smollm2, [ChatMessageTool(content="x")])


@pytest.mark.anyio
async def test_images_are_refused(smollm2):
    content = [ContentText(text="x"), ContentImage(image="data:image/png;base64,AA==")]
    with pytest.raises(ModelError, match=r"read text only.*'image'"):
        await answer(smollm2, [ChatMessageUser(content=content)])


@pytest.mark.anyio
async def test_unknown_extras_are_refused_with_the_close_match(smollm2):
    with pytest.raises(ModelError, match=r"'gramar'.*Did you mean 'grammar'"):
        await answer(smollm2, [ChatMessageUser(content="x")], extra_body={"gramar": "x"})


@pytest.mark.anyio
async def test_a_schema_and_a_grammar_exclude_each_other(smollm2):
    schema = ResponseSchema(name="verdict", json_schema=json_schema(Verdict))
    with pytest.raises(ModelError, match="exclude each other"):
        await answer(
            smollm2,
            [ChatMessageUser(content="x")],
            response_schema=schema,
            extra_body={"grammar": 'root ::= "a"'},
        )
