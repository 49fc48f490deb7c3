"""Whatever a server answers with an error, the error is short, and still says what was wrong."""

import asyncio
import gzip
import json
import zlib
from types import SimpleNamespace

import httpx
import pytest
from hypothesis import given, strategies as st

from misstep.providers import Refusal, refusal_in, short_errors
from misstep.providers._http import _short_error, bound_error_bodies

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
    st.just(json.dumps({"error": {str(i): i for i in range(50_000)}}).encode()),
)


@given(bodies)
def test_the_body_of_an_error_is_bounded(body):
    short = _short_error(body)
    assert len(short) <= max(2_000, 20 * 20 * 7_000)
    assert len(body) > 2_000 or short == body


def test_a_shortened_error_still_says_what_was_refused():
    body = json.dumps({"error": {"message": TOO_LONG + "x" * 100_000, "code": "bad"}}).encode()
    error = json.loads(_short_error(body))["error"]
    assert error["code"] == "bad"
    assert refusal_in(error["message"]) is Refusal.TOO_LONG


@pytest.mark.parametrize("status", [200, 400])
@pytest.mark.parametrize("encoding", ["identity", "gzip", "deflate"])
def test_the_clients_of_inspects_providers_read_short_errors(status, encoding):
    pack = {"gzip": gzip.compress, "deflate": zlib.compress}.get(encoding, bytes)
    body = json.dumps({"error": {"message": TOO_LONG + "x" * 100_000}}).encode()

    def answer(request):
        # A stream, as of a real server: it is not read before the client asks for it.
        return httpx.Response(
            status, headers={"content-encoding": encoding}, stream=httpx.ByteStream(pack(body))
        )

    async def read():
        client = httpx.AsyncClient(transport=httpx.MockTransport(answer))
        for _ in range(2):  # The second time changes nothing.
            bound_error_bodies(SimpleNamespace(http_client=client))
        async with client:
            return (await client.get("http://local/")).content

    content = asyncio.run(read())
    if status == 200:
        assert content == body
    else:
        assert len(content) < 2_000
        assert refusal_in(json.loads(content)["error"]["message"]) is Refusal.TOO_LONG


def test_providers_without_such_a_client_are_left_alone():
    bound_error_bodies(SimpleNamespace())
    bound_error_bodies(SimpleNamespace(http_client=object()))


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
