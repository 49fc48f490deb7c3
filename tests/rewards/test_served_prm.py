"""Reward models behind the HTTP routes of vLLM."""

import math
from math import exp, nan

import pytest
from inspect_ai.model import get_model

from misstep.providers import scoring_messages
from misstep.registry import MisstepError
from tests.support.openai_server import Fault, Faults, OpenAIServer
from tests.support.openai_server._pooling import tokenize

STEPS = ["2 + 2 = 4.", "4 * 3 = 13."]


async def ask(name, pooling, steps=STEPS, faults=None, **arguments):
    """Return the output of a model for some steps, and the requests to the server."""
    with OpenAIServer(pooling=pooling, faults=faults) as server:
        url = server.url.removesuffix("/v1")
        async with get_model(f"prm/{name}", base_url=url, memoize=False, **arguments) as model:
            output = await model.generate(scoring_messages("How much?", steps))
        return output, server.requests


@pytest.mark.anyio
async def test_one_request_in_the_format_of_the_model_card_scores_all_steps():
    output, requests = await ask("qwen2.5-math-prm-7b", lambda text: [[0.1, 0.9], [0.75, 0.25]])
    assert output.metadata == {"rewards": [0.9, 0.25]}
    [request] = requests
    assert request.path == "/pooling"
    assert request.body["model"] == "Qwen/Qwen2.5-Math-PRM-7B"
    # The system prompt of the model card in Qwen's chat template, one token after each step.
    assert request.body["input"] == (
        "<|im_start|>system\nPlease reason step by step, and put your final answer within "
        "\\boxed{}.<|im_end|>\n<|im_start|>user\nHow much?<|im_end|>\n<|im_start|>assistant\n"
        "2 + 2 = 4.<extra_0>4 * 3 = 13.<extra_0><|im_end|>\n"
    )
    assert output.usage.input_tokens > 0


@pytest.mark.anyio
async def test_a_step_token_inside_a_step_cannot_end_it():
    _, [request] = await ask("qwen2.5-math-prm-7b", lambda text: [[0, 1]], ["a <extra_0> b"])
    assert request.body["input"].count("<extra_0>") == 1


@pytest.mark.anyio
async def test_a_step_token_in_the_problem_cannot_end_a_step():
    with OpenAIServer(pooling=lambda text: [[0.1, 0.9]] * text.count("<extra_0>")) as server:
        url = server.url.removesuffix("/v1")
        async with get_model("prm/qwen2.5-math-prm-7b", base_url=url, memoize=False) as model:
            output = await model.generate(scoring_messages("What does <extra_0> do?", STEPS))
    assert output.metadata == {"rewards": [0.9, 0.9]}


@pytest.mark.anyio
async def test_math_shepherd_gives_the_probability_of_plus():
    output, [request] = await ask(
        "math-shepherd-mistral-7b-prm", lambda text: [[0.75, 0.25], [0.125, 0.875]]
    )
    assert request.body["input"] == ("How much? Step 1: 2 + 2 = 4. ки\nStep 2: 4 * 3 = 13. ки\n")
    assert "use_activation" not in request.body
    assert output.metadata["rewards"] == [0.75, 0.125]


@pytest.mark.anyio
async def test_logits_are_asked_for_as_such_and_become_probabilities():
    output, [request] = await ask(
        "math-shepherd-mistral-7b-prm", lambda text: [[2.0, 0.0], [-1.0, 3.0]], values="logits"
    )
    assert request.body["use_activation"] is False
    expected = [exp(2) / (exp(2) + 1), exp(-1) / (exp(-1) + exp(3))]
    assert output.metadata["rewards"] == pytest.approx(expected)


@pytest.mark.anyio
async def test_probabilities_are_not_taken_for_logits():
    with pytest.raises(MisstepError, match="-M values=probabilities"):
        await ask("qwen2.5-math-prm-7b", lambda text: [[0.1, 0.9], [0.75, 0.25]], values="logits")


@pytest.mark.anyio
async def test_the_key_of_a_protected_server_is_a_variable(monkeypatch):
    monkeypatch.setenv("MISSTEP_PRM_API_KEY", "secret-key")
    _, [request] = await ask("qwen2.5-math-prm-7b", lambda text: [[0.1, 0.9]] * 2)
    assert request.headers["authorization"] == "Bearer secret-key"


@pytest.mark.anyio
async def test_a_text_is_tokenized_once():
    with OpenAIServer(pooling=lambda tokens: [[0.5]] * len(tokens)) as server:
        url = server.url.removesuffix("/v1")
        async with get_model(
            "prm/skywork-prm-1.5b", base_url=url, memoize=False, bos="<s>"
        ) as model:
            for end in (1, 2):
                await model.generate(scoring_messages("How much?", STEPS[:end]))
        paths = [request.path for request in server.requests]
    # The separator, the problem and each of the two steps; a reward call for each solution.
    assert (paths.count("/tokenize"), paths.count("/pooling")) == (4, 2)


@pytest.mark.anyio
async def test_texts_whose_tokenizing_fails_at_the_same_time_are_tokenized_again():
    busy = Faults(script=[Fault.SERVER_ERROR] * 4)
    with OpenAIServer(pooling=lambda tokens: [[0.5]] * len(tokens), faults=busy) as server:
        url = server.url.removesuffix("/v1")
        async with get_model(
            "prm/skywork-prm-1.5b", base_url=url, memoize=False, bos="<s>"
        ) as model:
            output = await model.generate(scoring_messages("How much?", STEPS))
    assert len(output.metadata["rewards"]) == len(STEPS)


@pytest.mark.anyio
async def test_skywork_takes_the_value_of_the_line_break_after_each_step():
    seen = []

    def values(tokens):
        seen.append(tokens)
        return [[float(place)] for place in range(len(tokens))]

    output, _ = await ask("skywork-prm-1.5b", values, bos="<s>")
    [line_break] = tokenize("\n")
    parts = [tokenize("<s>How much?\n"), *([*tokenize(step), line_break] for step in STEPS)]
    assert seen == [[token for part in parts for token in part]]
    places = [len(parts[0]) + len(parts[1]) - 1, len(seen[0]) - 1]
    assert output.metadata["rewards"] == pytest.approx([1 / (1 + exp(-place)) for place in places])


@pytest.mark.anyio
async def test_classify_gets_one_input_for_each_step():
    output, [request] = await ask(
        "qwen2.5-math-prm-7b",
        lambda text: [0.2, 0.8] if "13" not in text else [0.9, 0.1],
        route="/classify",
        returns="input",
    )
    assert request.path == "/classify"
    assert [text.count("<extra_0>") for text in request.body["input"]] == [1, 2]
    assert output.metadata["rewards"] == [0.8, 0.1]


@pytest.mark.anyio
async def test_a_wrong_number_of_rewards_names_both_numbers_and_the_setting():
    output, _ = await ask("qwen2.5-math-prm-7b", lambda text: [[0.1, 0.9]] * 3)
    assert "rewards" not in output.metadata
    assert "3 rewards for 2 steps; check step_token ('<extra_0>')" in output.metadata["missing"]


@pytest.mark.anyio
@pytest.mark.parametrize("invalid", [[nan, nan], [0.5], "high", [math.inf, 0.0], [0.1, 1.7], None])
async def test_a_value_that_is_not_from_0_to_1_is_a_missing_reward(invalid):
    output, _ = await ask("qwen2.5-math-prm-7b", lambda text: [[0.1, 0.9], invalid])
    assert output.metadata["rewards"] == [0.9, None]
    assert "for step 1" in output.metadata["missing"]


@pytest.mark.anyio
async def test_a_solution_that_is_too_long_has_no_rewards():
    output, _ = await ask(
        "qwen2.5-math-prm-7b", lambda text: [], faults=Faults(script=[Fault.CONTEXT_LENGTH])
    )
    assert "maximum context length is 8192" in output.metadata["missing"]


@pytest.mark.anyio
@pytest.mark.parametrize("name", ["qwen2.5-math-prm-7b", "skywork-prm-1.5b"])
async def test_any_other_refusal_is_an_error_with_the_words_of_the_server(name):
    def refuse(text):
        raise ValueError("the pooler has no such task")

    bos = {"bos": "<s>"} if name.startswith("skywork") else {}
    with pytest.raises(Exception, match=r"status 400: .*the pooler has no such task"):
        await ask(name, refuse, **bos)


@pytest.mark.anyio
async def test_a_solution_that_is_too_long_to_tokenize_has_no_rewards():
    output, _ = await ask(
        "skywork-prm-1.5b", lambda text: [], bos="<s>", faults=Faults(script=[Fault.CONTEXT_LENGTH])
    )
    assert "maximum context length is 8192" in output.metadata["missing"]


@pytest.mark.anyio
async def test_a_call_to_a_busy_server_is_retried():
    output, requests = await ask(
        "qwen2.5-math-prm-7b",
        lambda text: [[0.1, 0.9]] * 2,
        faults=Faults(script=[Fault.RETRY_AFTER], retry_after=0.01),
    )
    assert output.metadata["rewards"] == [0.9, 0.9]
    assert len(requests) == 2


@pytest.mark.parametrize(
    ("name", "arguments", "says"),
    [
        ("qwen2.5-math-prm", {}, "Did you mean 'qwen2.5-math-prm-7b'"),
        ("groundedprm", {}, "-T critic=reward -T style=written"),
        ("skywork-prm-7b", {"base_url": "http://x"}, "-M bos="),
        ("qwen2.5-math-prm-7b", {}, "MISSTEP_PRM_BASE_URL"),
        ("qwen2.5-math-prm-7b", {"step_tokn": "x"}, "Did you mean 'step_token'"),
        ("qwen2.5-math-prm-7b", {"route": "/score"}, "'/pooling' or '/classify'"),
    ],
)
def test_an_invalid_setting_gets_one_clear_message(monkeypatch, name, arguments, says):
    monkeypatch.delenv("MISSTEP_PRM_BASE_URL", raising=False)
    with pytest.raises(MisstepError, match=says):
        get_model(f"prm/{name}", memoize=False, **arguments)


@pytest.mark.anyio
async def test_a_reward_model_that_is_asked_for_text_says_how_to_use_it():
    with pytest.raises(MisstepError, match="critic=reward"):
        async with get_model(
            "prm/qwen2.5-math-prm-7b", base_url="http://127.0.0.1:1", memoize=False
        ) as model:
            await model.generate("Hello")
