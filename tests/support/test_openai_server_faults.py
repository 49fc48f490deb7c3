import json
import time

import httpx
import openai
import pytest

from tests.support.openai_server import Fault, Faults, OpenAIServer


def failing(*script, **settings):
    return OpenAIServer(faults=Faults(script=script, **settings))


def client_of(server, retries=0):
    return openai.OpenAI(base_url=server.url, api_key="x", max_retries=retries, timeout=5)


def ask(server, retries=0, choices=1):
    message = {"role": "user", "content": "q"}
    with client_of(server, retries) as client:
        return client.chat.completions.create(model="critic", messages=[message], n=choices)


def text_of(completion):
    return completion.choices[0].message.content


@pytest.mark.parametrize(
    ("fault", "error", "header"),
    [
        (Fault.RATE_LIMIT, openai.RateLimitError, None),
        (Fault.RETRY_AFTER, openai.RateLimitError, "0.5"),
        (Fault.SERVER_ERROR, openai.InternalServerError, None),
        (Fault.UNAVAILABLE, openai.InternalServerError, None),
    ],
)
def test_faults_in_place_of_an_answer(fault, error, header):
    with failing(fault, retry_after=0.5) as server:
        with pytest.raises(error) as raised:
            ask(server)
        assert raised.value.response.headers.get("retry-after") == header
        assert ask(server).choices


def test_statuses_of_faults():
    script = [Fault.RATE_LIMIT, Fault.RETRY_AFTER, Fault.SERVER_ERROR, Fault.UNAVAILABLE]
    with failing(*script) as server:
        body = {"messages": [{"role": "user", "content": "q"}]}
        address = f"{server.url}/chat/completions"
        got = [httpx.post(address, json=body).status_code for _ in range(5)]
    assert got == [429, 429, 500, 503, 200]


def test_clients_retry_a_cut_connection():
    with failing(Fault.CUT, Fault.CUT) as server:
        with pytest.raises(openai.APIConnectionError):
            ask(server)
        assert ask(server, retries=1).choices
        assert len(server.requests) == 3


def test_slow_body_arrives_whole_in_the_end():
    with failing(Fault.SLOW_BODY, pause=0.3) as server:
        start = time.monotonic()
        assert ask(server).choices
        assert time.monotonic() - start >= 0.3


def test_malformed_json():
    with failing(Fault.MALFORMED_JSON) as server, pytest.raises(json.JSONDecodeError):
        ask(server)


@pytest.mark.parametrize(
    ("fault", "asked", "got"),
    [(Fault.NO_CHOICES, 4, 0), (Fault.WRONG_CHOICES, 4, 3), (Fault.WRONG_CHOICES, 1, 2)],
)
def test_wrong_numbers_of_choices(fault, asked, got):
    with failing(fault) as server:
        assert len(ask(server, choices=asked).choices) == got


def test_null_content():
    with failing(Fault.NULL_CONTENT) as server:
        assert text_of(ask(server)) is None


def test_truncated_and_refused_answers():
    with failing(None, Fault.TRUNCATED, Fault.REFUSAL) as server:
        whole, cut, refused = ask(server), ask(server), ask(server)
    assert text_of(whole).startswith(text_of(cut))
    assert len(text_of(cut)) < len(text_of(whole))
    assert cut.choices[0].finish_reason == "length"
    assert refused.choices[0].finish_reason == "content_filter"


def test_faults_come_at_their_rates_and_in_an_order_that_repeats():
    def drawn(seed):
        faults = Faults({Fault.CUT: 0.2, Fault.REFUSAL: 0.1}, seed=seed).in_order()
        return [next(faults) for _ in range(5000)]

    assert drawn(1) == drawn(1) != drawn(2)
    assert drawn(1).count(Fault.CUT) == pytest.approx(1000, abs=100)
    assert drawn(1).count(Fault.REFUSAL) == pytest.approx(500, abs=80)


@pytest.mark.parametrize("rates", [{Fault.CUT: 0.7, Fault.REFUSAL: 0.7}, {Fault.CUT: -0.1}])
def test_rates_must_be_probabilities(rates):
    with pytest.raises(ValueError, match="at most 1"):
        Faults(rates)


def test_a_server_that_is_down_refuses_connections_until_it_is_up():
    with OpenAIServer() as server, client_of(server) as client:
        assert client.models.list()
        url = server.url
        server.down()
        with pytest.raises(openai.APIConnectionError):
            client.models.list()
        with pytest.raises(httpx.ConnectError):
            httpx.get(f"{url}/models")
        server.up()
        assert server.url == url
        assert client.models.list()
