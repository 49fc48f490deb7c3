import json
import math
import socket
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import openai
import pytest

from tests.support.openai_server import REPLIES, OpenAIServer, Reply

SOLUTION = "<paragraph_0>\na\n</paragraph_0>\n\n<paragraph_1>\nb\n</paragraph_1>"


def client_of(server, retries=0):
    return openai.OpenAI(base_url=server.url, api_key="x", max_retries=retries, timeout=5)


def ask(server, text=SOLUTION, retries=0, **settings):
    message = {"role": "user", "content": text}
    with client_of(server, retries) as client:
        return client.chat.completions.create(model="critic", messages=[message], **settings)


def text_of(completion, choice=0):
    return completion.choices[choice].message.content


def test_reply_function_sees_the_request_and_the_choice():
    with OpenAIServer(lambda request, choice: f"{request.text} {choice}") as server:
        completion = ask(server, "hello", n=2)
    assert [text_of(completion, i) for i in range(2)] == ["hello 0", "hello 1"]
    assert [choice.index for choice in completion.choices] == [0, 1]


def test_content_in_parts_is_read_as_text():
    with OpenAIServer(lambda request, choice: request.text) as server:
        assert text_of(ask(server, [{"type": "text", "text": "in parts"}])) == "in parts"


def test_text_completions_and_models():
    with (
        OpenAIServer(lambda request, choice: request.text.upper()) as server,
        client_of(server) as client,
    ):
        assert client.completions.create(model="m", prompt="abc").choices[0].text == "ABC"
        assert [model.id for model in client.models.list()] == ["critic"]


def test_a_failing_reply_function_is_named_and_not_retried():
    with OpenAIServer(lambda request, choice: request.body["absent"]) as server:
        with pytest.raises(openai.BadRequestError, match="KeyError\\('absent'\\)"):
            ask(server, retries=3)
        assert len(server.requests) == 1


@pytest.mark.parametrize("name", sorted(set(REPLIES) - {"injector"}))
def test_builtin_replies_depend_on_messages_choice_and_seed(name):
    # Verdicts are few, so one choice may well repeat another: sixteen do not.
    def texts(server, **settings):
        completion = ask(server, n=16, **settings)
        return [text_of(completion, i) for i in range(16)]

    with OpenAIServer(REPLIES[name]) as server:
        first = texts(server, seed=1)
        assert first == texts(server, seed=1)
        assert first != texts(server, seed=2)
        assert first != texts(server, text=SOLUTION + "!", seed=1)
        assert len(set(first)) > 1


def test_critic_writes_about_300_tokens_and_boxes_an_index_of_the_solution():
    with OpenAIServer() as server:
        completion = ask(server, n=32)
    boxes = {text_of(completion, i).split("\\boxed{")[1] for i in range(32)}
    assert boxes == {"-1}.", "0}.", "1}."}
    assert 250 < completion.usage.completion_tokens / 32 < 350


def test_verdicts_are_plus_or_minus_and_right_or_wrong():
    with OpenAIServer(REPLIES["plus_minus"]) as server:
        completion = ask(server, n=32)
        assert {text_of(completion, i) for i in range(32)} == {"+", "-"}
    with OpenAIServer(REPLIES["judge"]) as server:
        completion = ask(server, n=32)
        ends = {text_of(completion, i).rpartition(" ")[2] for i in range(32)}
        assert ends == {"\\boxed{Right}", "\\boxed{Wrong}"}


@pytest.mark.parametrize(("limit", "got"), [(None, 8), (3, 3), (1, 1)])
def test_choices_are_as_many_as_asked_for_up_to_the_limit(limit, got):
    with OpenAIServer(max_choices=limit) as server:
        assert len(ask(server, n=8).choices) == got


def test_usage_counts_the_prompt_once_and_every_choice():
    with OpenAIServer(lambda request, choice: "x" * 40) as server:
        usage = ask(server, "y" * 400, n=8).usage
    assert (usage.prompt_tokens, usage.completion_tokens, usage.total_tokens) == (100, 80, 180)


def test_logprobs_spell_the_text_and_hold_the_chances():
    reply = Reply("The step is +", chances={" +": {" +": 0.2, " -": 0.7}})
    with OpenAIServer(lambda request, choice: reply) as server:
        content = ask(server, logprobs=True, top_logprobs=20).choices[0].logprobs.content
        assert ask(server).choices[0].logprobs is None
    assert "".join(token.token for token in content) == reply.text
    assert {len(token.top_logprobs) for token in content} == {20}
    assert content[-1].logprob == pytest.approx(math.log(0.2))
    likeliest = content[-1].top_logprobs[0]
    assert (likeliest.token, likeliest.logprob) == (" -", pytest.approx(math.log(0.7)))


def test_logprobs_of_text_completions():
    with OpenAIServer(lambda request, choice: "two words") as server, client_of(server) as client:
        completion = client.completions.create(model="m", prompt="p", logprobs=5)
    logprobs = completion.choices[0].logprobs
    assert logprobs.tokens == ["two", " words"]
    assert logprobs.text_offset == [0, 3]
    assert [len(top) for top in logprobs.top_logprobs] == [5, 5]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"stream": True}, "stream is not supported"),
        ({"n": 0.5}, "n is 0.5"),
        ({"logprobs": True, "top_logprobs": 21}, "from 0 to 20"),
        ({"extra_body": {"messages": []}}, "messages is missing or empty"),
    ],
)
def test_what_cannot_be_answered_is_refused(settings, message):
    with OpenAIServer() as server, pytest.raises(openai.BadRequestError, match=message):
        ask(server, **settings)


@pytest.mark.parametrize(
    ("method", "path", "content", "status"),
    [
        ("POST", "/chat/completions", b"{", 400),
        ("POST", "/chat/completions", b"[1]", 400),
        ("GET", "/chat/completions", None, 405),
        ("POST", "/embeddings", b"{}", 404),
        ("POST", "/chat/completions", iter([b"chunked"]), 400),
    ],
)
def test_requests_that_are_none_of_ours(method, path, content, status):
    with OpenAIServer() as server:
        response = httpx.request(method, server.url + path, content=content)
    assert response.status_code == status
    assert response.json()["error"]["message"]


def test_latency_does_not_block_other_requests():
    with (
        OpenAIServer(latency=200) as server,
        client_of(server) as client,
        ThreadPoolExecutor(8) as pool,
    ):
        message = {"role": "user", "content": "q"}
        start = time.monotonic()
        asked = [
            pool.submit(client.chat.completions.create, model="m", messages=[message])
            for _ in range(8)
        ]
        assert all(answer.result().choices for answer in asked)
        assert 0.2 <= time.monotonic() - start < 1.2
        assert server.most_in_flight == 8


def test_requests_are_recorded():
    with OpenAIServer() as server:
        before = time.monotonic()
        ask(server, "first", seed=7, n=2)
        ask(server, "second")
        first, second = server.requests
    assert (first.path, first.number, second.number) == ("/v1/chat/completions", 0, 1)
    assert first.headers["authorization"] == "Bearer x"
    assert first.body["seed"] == first.seed == 7
    assert (first.choices, first.text, second.text) == (2, "first", "second")
    assert before <= first.arrived <= second.arrived <= time.monotonic()


def test_requests_are_not_recorded_when_not_asked_for():
    with OpenAIServer(record=False) as server:
        ask(server)
        assert server.requests == []


def test_pipelined_and_partial_requests_are_answered_in_order():
    def request(text):
        body = json.dumps({"messages": [{"role": "user", "content": text}]}).encode()
        head = f"POST /v1/chat/completions HTTP/1.1\r\ncontent-length: {len(body)}\r\n\r\n"
        return head.encode() + body

    with OpenAIServer(lambda request, choice: request.text, latency=20) as server:
        port = int(server.url.split(":")[2].split("/")[0])
        with socket.create_connection(("127.0.0.1", port), timeout=5) as connection:
            both = request("one") + request("two")
            connection.sendall(both[:50])
            time.sleep(0.05)
            connection.sendall(both[50:])
            got = b""
            while b'"two"' not in got:
                got += connection.recv(65536)
    assert got.index(b'"one"') < got.index(b'"two"')


def test_two_servers_at_once():
    with OpenAIServer(lambda *_: "a") as one, OpenAIServer(lambda *_: "b") as two:
        assert (text_of(ask(one)), text_of(ask(two))) == ("a", "b")


def test_as_a_process():
    options = ["--reply=short", "--latency=50", "--max-choices=2", "--fault=rate_limit=1"]
    command = [sys.executable, "-m", "tests.support.openai_server", *options]
    root = Path(__file__).parents[2]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=root) as process:
        try:
            address = process.stdout.readline().strip() + "/chat/completions"
            body = {"messages": [{"role": "user", "content": "q"}]}
            assert httpx.post(address, json=body).status_code == 429
        finally:
            process.terminate()
    assert process.returncode == 0
