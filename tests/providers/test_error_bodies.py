"""Whatever a server answers with an error, the error is short, and still says what was wrong."""

import json
import time
from dataclasses import replace

import anyio
import pytest
from hypothesis import given, strategies as st
from inspect_ai.model import get_model

from misstep.providers import HttpClient, Refusal, refusal_in, short_errors
from misstep.providers._calls import _short_error
from tests.support.openai_server import Fault, Faults, OpenAIServer, forge
from tests.support.openai_server._wire import BadRequestError
from tests.support.runs import run_task
from tests.support.vendors import PROTOCOLS, VendorServer

TOO_LONG = "This model's maximum context length is 10 tokens."
LONG = st.sampled_from(["x", "a.", "<p>", "\\boxed{", '"', "\x00", "é"]).map(
    lambda part: part * 50_000
)
bodies = st.one_of(
    st.binary(max_size=5_000),
    LONG.map(str.encode),
    LONG.map(lambda text: json.dumps({"error": {"message": text}}).encode()),
    LONG.map(lambda text: json.dumps({text: [text] * 3}).encode()),
    st.just(b"[" * 100_000),
    st.just(json.dumps([[[["x" * 500] * 20] * 20] * 20]).encode()),
    st.just(json.dumps({"error": {str(i): i for i in range(50_000)}}).encode()),
)


@given(bodies)
def test_the_body_of_an_error_is_bounded(body):
    short = _short_error(body)
    assert len(short) <= 20_000
    assert len(body) > 2_000 or short == body


def test_a_shortened_error_still_says_what_was_refused():
    body = json.dumps({"error": {"message": TOO_LONG + "x" * 100_000, "code": "bad"}}).encode()
    error = json.loads(_short_error(body))["error"]
    assert error["code"] == "bad"
    assert refusal_in(error["message"]) is Refusal.TOO_LONG


def test_the_client_of_misstep_keeps_little_of_a_long_error():
    async def refusal(url):
        client = HttpClient(url)
        try:
            return await client.post(f"{url}/chat/completions", {"messages": []}, {})
        finally:
            await client.aclose()

    with OpenAIServer(forge, faults=Faults({Fault.LONG_REFUSAL: 1.0})) as server:
        response = anyio.run(refusal, server.url)
    assert response.status_code == 400
    assert len(response.content) <= 20_000


def test_messages_of_errors_and_their_causes_are_shortened():
    error = RuntimeError(f"start {'x' * 100_000} end")
    with pytest.raises(RuntimeError), short_errors():
        raise error from ValueError("v" * 100_000)
    assert str(error).startswith("start x")
    assert str(error).endswith("x end")
    assert "characters left out" in str(error)
    assert max(len(str(error)), len(str(error.__cause__))) < 3_100


def test_other_errors_stay_as_they_are():
    with pytest.raises(KeyError) as caught, short_errors():
        raise KeyError("short", 3)
    assert caught.value.args == ("short", 3)


@pytest.mark.parametrize("name", ["Anthropic", "Google", "OpenAI chat"])
def test_a_long_refusal_takes_little_time_whatever_the_vendor(name, tmp_path):
    def refuse(body):
        raise BadRequestError("Not today. " + "x" * 30_000)

    protocol = replace(PROTOCOLS[name], read=refuse)
    with VendorServer(protocol, lambda *_: None) as server:
        model = get_model(protocol.model, base_url=server.base_url, api_key="x", memoize=False)
        with short_errors(model):  # Libraries of the vendor are imported before the clock starts.
            pass
        start = time.process_time()
        log = run_task("misstep/processbench.sample", tmp_path, model, limit=2, fail_on_error=False)
        seconds = time.process_time() - start
    [error, _] = [sample.error for sample in log.samples]
    assert "Not today. x" in error.message
    assert len(error.message) < 20_000
    # Inspect formats the text of OpenAI's errors in quadratic time: 2.6 seconds for 20 kB.
    assert seconds < 5
