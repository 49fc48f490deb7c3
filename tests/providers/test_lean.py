"""The lean provider beside Inspect's own: the same requests, the same answers, the same errors."""

import gc
import logging

import anyio
import httpx
import openai
import pytest
from inspect_ai.model import ChatMessageSystem, ChatMessageUser, GenerateConfig, get_model
from inspect_ai.util import json_schema
from pydantic import BaseModel
from tenacity import RetryCallState

from misstep._inspect_private import OpenAIResponseError, RetryDecision
from misstep.providers import retry_wait
from misstep.registry import find_provider
from tests.support.openai_server import Fault, Faults, OpenAIServer, Reply

QUESTION = [ChatMessageSystem(content="Be brief: π, 数."), ChatMessageUser(content="How much?")]


class Verdict(BaseModel):
    right: bool


CONFIGS = {
    "plain": GenerateConfig(),
    "sampled": GenerateConfig(
        temperature=0.7, top_p=0.9, seed=3, max_tokens=50, stop_seqs=["\n\n"], num_choices=3
    ),
    "logprobs": GenerateConfig(logprobs=True, top_logprobs=2),
    "schema": GenerateConfig(
        response_schema={"name": "verdict", "json_schema": json_schema(Verdict)}
    ),
    "extra": GenerateConfig(
        extra_body={"continue_final_message": True}, extra_headers={"x-own": "1"}
    ),
}


def model_of(provider, server, **arguments):
    return get_model(
        f"{provider}/local/critic",
        base_url=server.url,
        api_key="sk-own",
        memoize=False,
        **arguments,
    )


async def exchange(provider, config, reply):
    """Return the choices and the usage of an answer, and the request."""
    with OpenAIServer(reply) as server:
        async with model_of(provider, server) as model:
            output = await model.generate(QUESTION, config=config)
        [request] = server.requests
    choices = [
        (one.message.text, one.stop_reason, one.logprobs and one.logprobs.model_dump())
        for one in output.choices
    ]
    return choices, output.usage.model_dump(), request


@pytest.mark.anyio
@pytest.mark.parametrize("config", CONFIGS.values(), ids=CONFIGS)
async def test_requests_and_outputs_are_those_of_inspects_own_provider(config):
    def reply(request, choice):
        return Reply(f"choice {choice}: ½", "stop" if choice else "length", {"Yes": 0.75})

    lean, theirs = [await exchange(name, config, reply) for name in ("lean", "openai-api")]
    assert lean[:2] == theirs[:2]
    assert lean[2].body == theirs[2].body
    for name in ("authorization", "content-type", "x-own"):
        assert lean[2].headers.get(name) == theirs[2].headers.get(name)
    assert lean[2].headers["authorization"] == "Bearer sk-own"


@pytest.mark.anyio
async def test_an_unknown_stop_reason_is_read_as_by_inspects_own_provider():
    def reply(request, choice):
        return Reply("half", "abort")

    lean, theirs = [
        await exchange(name, GenerateConfig(), reply) for name in ("lean", "openai-api")
    ]
    assert lean[:2] == theirs[:2]
    assert lean[0][0][0] == "half"


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("fault", "error", "wait"),
    [
        (Fault.RATE_LIMIT, openai.RateLimitError, None),
        (Fault.RETRY_AFTER, openai.RateLimitError, 7),
        (Fault.SERVER_ERROR, openai.InternalServerError, None),
        (Fault.UNAVAILABLE, openai.InternalServerError, None),
        (Fault.CUT, openai.APIConnectionError, None),
        (Fault.MALFORMED_JSON, OpenAIResponseError, None),
    ],
)
async def test_a_failed_call_is_retried_and_never_an_answer(fault, error, wait):
    with OpenAIServer(faults=Faults(script=[fault], retry_after=7)) as server:
        async with model_of("lean", server) as model:
            with pytest.raises(error) as raised:
                await model.api.generate(QUESTION, [], "none", GenerateConfig())
            decision = model.api.should_retry(raised.value)
            assert decision.retry
            assert decision.retry_after == wait
            assert "sk-own" not in f"{raised.value!r} {raised.value}"
            assert (await model.generate(QUESTION)).completion


@pytest.mark.anyio
async def test_a_retry_waits_as_long_as_the_server_asks_for():
    faults = Faults(script=[Fault.RETRY_AFTER, Fault.RETRY_AFTER], retry_after=0.01)
    with OpenAIServer(faults=faults) as server:
        async with model_of("lean", server) as model:
            assert (await model.generate(QUESTION)).completion
        assert len(server.requests) == 3


@pytest.mark.parametrize(
    ("retry_after", "attempt", "least", "most"),
    [
        (None, 1, 0.375, 0.5),
        (None, 3, 1.5, 2),
        (None, 1000, 1350, 1800),
        (7.0, 3, 7, 7),
        (900.0, 1, 0.375, 0.5),
    ],
)
def test_waits_double_unless_the_server_asks_for_one(retry_after, attempt, least, most):
    def limited(problem):
        return RetryDecision.rate_limit(retry_after=retry_after)

    state = RetryCallState(None, None, (), {})
    state.attempt_number = attempt
    state.set_exception((ValueError, ValueError("busy"), None))
    assert least <= retry_wait(limited)(state) <= most


@pytest.mark.anyio
async def test_a_prompt_that_is_too_long_gives_the_output_of_inspects_own_provider():
    outputs = []
    for name in ("lean", "openai-api"):
        with OpenAIServer(faults=Faults(script=[Fault.CONTEXT_LENGTH])) as server:
            async with model_of(name, server) as model:
                outputs.append(await model.generate(QUESTION))
    lean, theirs = outputs
    assert lean.stop_reason == theirs.stop_reason == "model_length"
    assert lean.completion == theirs.completion


@pytest.mark.anyio
async def test_a_call_that_times_out_is_retried():
    with OpenAIServer(latency=2000) as server:
        async with model_of("lean", server, client_timeout=0.1) as model:
            with pytest.raises(openai.APITimeoutError) as raised:
                await model.api.generate(QUESTION, [], "none", GenerateConfig())
            assert model.api.should_retry(raised.value).retry


@pytest.mark.anyio
@pytest.mark.parametrize("body", ["[]", '"yes"', "null", '{"error": "busy"}', "<html>"])
async def test_a_response_that_is_not_a_completion_is_a_server_error(body, monkeypatch):
    async def post(*_):
        return httpx.Response(200, content=body)

    monkeypatch.setattr("misstep.providers.HttpClient.post", post)
    with OpenAIServer() as server:
        async with model_of("lean", server) as model:
            with pytest.raises(OpenAIResponseError, match="not a completion"):
                await model.api.generate(QUESTION, [], "none", GenerateConfig())


def test_connections_close_with_their_event_loop(caplog):
    async def ask(model):
        return (await model.generate(QUESTION)).completion

    with OpenAIServer() as server, caplog.at_level(logging.WARNING, logger="asyncio"):
        model = model_of("lean", server)
        # Two event loops, as in two runs of one process. Nothing closes the model.
        assert anyio.run(ask, model)
        assert anyio.run(ask, model)
        del model
        gc.collect()
    assert [record.message for record in caplog.records] == []


@pytest.mark.anyio
@pytest.mark.parametrize("bypassed", [False, True])
async def test_the_proxy_of_the_environment_is_used_unless_bypassed(bypassed, monkeypatch):
    with OpenAIServer() as proxy, OpenAIServer() as server:
        monkeypatch.setenv("http_proxy", proxy.url.removesuffix("/v1"))
        monkeypatch.setenv("no_proxy", "127.0.0.1" if bypassed else "")
        async with model_of("lean", server) as model:
            # This proxy answers itself: it does not know the path.
            with anyio.move_on_after(5):
                try:
                    await model.api.generate(QUESTION, [], "none", GenerateConfig())
                except openai.NotFoundError:
                    assert not bypassed
        assert (len(proxy.requests), len(server.requests)) == ((0, 1) if bypassed else (1, 0))


def test_the_address_of_openai_is_known(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-own")
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    api = get_model("lean/openai/gpt-4o-mini", memoize=False).api
    assert str(api.client.base_url) == "https://api.openai.com/v1/"
    assert api.service_model_name() == "gpt-4o-mini"


def test_a_missing_key_is_named(monkeypatch):
    monkeypatch.delenv("LOCAL_API_KEY", raising=False)
    with pytest.raises(Exception, match="LOCAL_API_KEY"):
        get_model("lean/local/critic", base_url="http://127.0.0.1:9/v1", memoize=False)


def test_prefill_works_as_with_inspects_own_provider():
    assert find_provider("lean") == find_provider("openai-api")
