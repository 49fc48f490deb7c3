"""A real chat model on real servers: vLLM by three providers, and llama.cpp's server."""

from itertools import pairwise

import httpx
import pytest
from inspect_ai.event import InfoEvent, ModelEvent
from inspect_ai.log import resolve_sample_attachments
from inspect_ai.model import ChatMessageAssistant, ChatMessageUser, GenerateConfig, get_model

from misstep.registry import find_judge, find_provider
from misstep.rewards import judge_messages
from tests.support.runs import run_task, succeed

pytest.importorskip("vllm", reason="vLLM is not installed here; `make live` installs it")

import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

from misstep.providers._weights import find_weights
from tests.live.servers import lines, llama_server, vllm_server

PROVIDERS = ("lean/live", "openai-api/live", "vllm")
TOLERANCE = 1e-3
KNOWN = {}
"""The probabilities that torch has computed: all providers get the same prompts."""
QUESTION = "What is the capital of France? Explain in three short paragraphs."


@pytest.fixture(scope="module")
def vllm(models):
    with vllm_server("smollm2") as url:
        yield url


@pytest.fixture(scope="module")
def smollm2(models):
    """Return the tokenizer and the model, in transformers."""
    folder = models / "smollm2"
    return AutoTokenizer.from_pretrained(folder), AutoModelForCausalLM.from_pretrained(folder)


def chat(provider, url, name="smollm2"):
    return get_model(f"{provider}/{name}", base_url=f"{url}/v1", api_key="x", memoize=False)


def too_long(folder):
    """Return a file with one row whose problem is longer than the context of a model."""
    rows = folder / "long.jsonl"
    rows.write_text('{"id": "a", "problem": "%s", "steps": ["x"], "label": 0}' % ("word " * 6000))
    return str(rows)


def events(sample, kind):
    whole = resolve_sample_attachments(sample, "full")
    return [event for event in whole.events if isinstance(event, kind)]


def infos(sample):
    return " ".join(str(event.data) for event in events(sample, InfoEvent))


def continuation(smollm2, messages, new_tokens, **options):
    """Return the text with which transformers alone continues messages, greedily."""
    tokenizer, model = smollm2
    text = tokenizer.apply_chat_template(messages, tokenize=False, **options)
    tokens = tokenizer(text, return_tensors="pt", add_special_tokens=False)
    with torch.no_grad():
        output = model.generate(**tokens, max_new_tokens=new_tokens, do_sample=False)
    return tokenizer.decode(output[0][tokens["input_ids"].shape[1] :], skip_special_tokens=True)


def next_probabilities(smollm2, messages):
    """Return the 20 most probable first tokens of a reply, with their probabilities."""
    tokenizer, model = smollm2
    text = tokenizer.apply_chat_template(messages, tokenize=False, add_generation_prompt=True)
    if text not in KNOWN:
        tokens = tokenizer(text, return_tensors="pt", add_special_tokens=False)
        with torch.no_grad():
            logits = model(**tokens, logits_to_keep=1).logits[0, -1]
        values, ids = logits.softmax(-1).topk(20)
        words = map(tokenizer.decode, ids.tolist())
        KNOWN[text] = list(zip(words, values.tolist(), strict=True))
    return KNOWN[text]


@pytest.mark.parametrize("provider", PROVIDERS)
@pytest.mark.anyio
async def test_logprobs_are_those_of_torch(provider, vllm, smollm2):
    messages = [{"role": "user", "content": QUESTION}]
    config = GenerateConfig(max_tokens=1, temperature=0, logprobs=True, top_logprobs=20)
    async with chat(provider, vllm) as model:
        output = await model.generate(QUESTION, config=config)
    [first] = output.choices[0].logprobs.content
    found = {one.token: one.logprob for one in first.top_logprobs}
    expected = dict(next_probabilities(smollm2, messages))
    assert len(found) == 20
    shared = found.keys() & expected.keys()
    assert len(shared) >= 18  # the last places can change by rounding
    worst = max(abs(torch.tensor(found[word]).exp().item() - expected[word]) for word in shared)
    lines.append(f"{provider}: 20 probabilities, largest difference to torch {worst:.1e}")
    assert worst < TOLERANCE


@pytest.mark.parametrize("provider", PROVIDERS)
def test_a_judge_gives_the_rewards_of_torch(provider, vllm, smollm2, tmp_path):
    """P(+) against P(-) at the first token; the least of 20 bounds a sign that is not listed."""
    log = run_task(
        "misstep/processbench.sample",
        tmp_path,
        chat(provider, vllm),
        task_args={"critic": "reward", "style": "single_token"},
        limit=3,
    )
    assert log.status == "success"
    judge, known = find_judge("single_token"), 0
    for sample in log.samples:
        steps = sample.metadata["steps"]
        rewards = (sample.scores["first_error"].metadata or {}).get("rewards") or [None] * len(
            steps
        )
        for i, reward in enumerate(rewards):
            asked = judge_messages(judge, sample.input, steps, i)
            messages = [{"role": one.role, "content": one.text} for one in asked]
            options = next_probabilities(smollm2, messages)
            plus, minus = (
                [p for word, p in options if word.strip().startswith(sign)] for sign in "+-"
            )
            least = options[-1][1]
            if not plus and not minus:
                assert reward is None
                continue
            right, wrong = (sum(found) if found else least for found in (plus, minus))
            assert reward == pytest.approx(right / (right + wrong), abs=TOLERANCE)
            known += 1
    lines.append(f"{provider}: {known} rewards of a judge equal those of torch")


@pytest.mark.parametrize("provider", PROVIDERS)
def test_votes_are_one_request_and_a_seed_repeats_them(provider, vllm, tmp_path):
    replies = []
    for run in range(2):
        log = succeed(
            "misstep/processbench.sample",
            tmp_path / str(run),
            chat(provider, vllm),
            task_args={"votes": 4},
            limit=1,
            max_tokens=24,
            temperature=0.9,
        )
        [event] = events(log.samples[0], ModelEvent)
        assert event.config.num_choices == 4
        replies.append([choice.message.text for choice in event.output.choices])
    assert replies[0] == replies[1]
    assert len(set(replies[0])) > 1


@pytest.mark.parametrize("provider", PROVIDERS)
def test_votes_at_temperature_0_are_drawn_singly(provider, vllm, tmp_path):
    log = succeed(
        "misstep/processbench.sample",
        tmp_path,
        chat(provider, vllm),
        task_args={"votes": 3},
        limit=2,
        max_tokens=8,
        temperature=0,
    )
    refused = 0
    for sample in log.samples:
        drawn = [event for event in events(sample, ModelEvent) if not event.error]
        assert len(drawn) == 3
        refused += "refused a request for 3 choices" in infos(sample)
    assert refused >= 1  # a refusal is remembered, but samples run side by side


@pytest.mark.parametrize("provider", PROVIDERS)
@pytest.mark.anyio
async def test_a_prefill_is_continued_and_stops_at_a_blank_line(provider, vllm, smollm2):
    given = "The capital of France is Paris.\n\n"
    facts = find_provider(provider.split("/")[0])
    extra = {**facts.continue_with, "include_stop_str_in_output": True}
    messages = [ChatMessageUser(content=QUESTION), ChatMessageAssistant(content=given)]
    config = GenerateConfig(max_tokens=60, temperature=0, stop_seqs=["\n\n"], extra_body=extra)
    async with chat(provider, vllm) as model:
        output = await model.generate(messages, config=config)
    plain = [{"role": "user", "content": QUESTION}, {"role": "assistant", "content": given}]
    expected = continuation(smollm2, plain, 60, continue_final_message=True)
    assert not output.completion.startswith("The capital of France is Paris.\n\n")
    assert output.completion == expected.partition("\n\n")[0] + "\n\n" * ("\n\n" in expected)


@pytest.mark.parametrize("provider", PROVIDERS)
def test_a_prompt_beyond_the_context_is_truncated_and_no_error(provider, vllm, tmp_path):
    log = succeed(
        "misstep/processbench",
        tmp_path,
        chat(provider, vllm),
        task_args={"source": too_long(tmp_path), "votes": 2},
        max_tokens=16,
    )
    [sample] = log.samples
    assert sample.error is None
    assert sample.scores["first_error"].metadata["unread"] == "truncated"


@pytest.mark.parametrize("provider", PROVIDERS)
def test_error_recovery_continues_as_the_docs_say(provider, vllm, tmp_path):
    log = succeed(
        "misstep/error-recovery.sample", tmp_path, chat(provider, vllm), limit=2, max_tokens=16
    )
    turns = {
        record["turn"]
        for sample in log.samples
        for record in sample.store["RecoveryRecord:variations"].values()
    }
    documented = "continued" if provider == "vllm" else "new_turn"
    assert documented in turns


def search(model, tmp_path, models, **options):
    """Run a guided search whose reward model runs in this process."""
    reward = get_model(
        "local_prm/qwen2.5-math-prm-7b",
        path=str(models / "qwen-prm"),
        trust_remote_code=True,
        memoize=False,
    )
    return succeed(
        "misstep/guided_search.sample",
        tmp_path,
        model,
        model_roles={"reward": reward},
        task_args={"n": 3, "max_steps": 3, **options},
        limit=1,
        max_tokens=60,
    )


def chosen_steps(log):
    [sample] = log.samples
    return [step for step in sample.store["SearchRecord:result"]["steps"] if step]


@pytest.mark.parametrize("provider", PROVIDERS)
def test_a_search_continues_its_own_turn(provider, vllm, models, tmp_path):
    log = search(chat(provider, vllm), tmp_path, models)
    steps = chosen_steps(log)
    assert len(steps) > 1
    assert len(set(steps)) == len(steps)
    assert "asked for in a new turn" not in infos(log.samples[0])
    later = [e for e in events(log.samples[0], ModelEvent) if e.input[-1].role == "assistant"]
    assert any(event.input[-1].text.endswith("\n\n") for event in later)


def test_tokens_are_those_of_transformers(vllm, smollm2):
    text = "Größe ≤ 3 · 数学 🙂\n\nx = 1  "
    body = {"model": "smollm2", "prompt": text, "add_special_tokens": False}
    found = httpx.post(f"{vllm}/tokenize", json=body).json()["tokens"]
    assert found == smollm2[0].encode(text, add_special_tokens=False)


@pytest.mark.parametrize("provider", PROVIDERS)
def test_a_template_that_trims_gets_the_next_step_in_a_new_turn(
    provider, trimming, models, tmp_path
):
    log = search(chat(provider, trimming), tmp_path, models)
    assert chosen_steps(log)
    told = infos(log.samples[0])
    lines.append(f"{provider}, template that trims: {told[:80] or 'no empty continuation'}")


@pytest.fixture(scope="module")
def trimming(models):
    with vllm_server("smollm2", "--chat-template", str(models / "trimming.jinja")) as url:
        yield url


SLOTS = 2


@pytest.fixture(scope="module")
def llama():
    with llama_server(find_weights("smollm2"), SLOTS) as url:
        yield url


@pytest.mark.anyio
async def test_llama_cpp_repeats_the_prefill(llama):
    """The behaviour for which misstep removes the given text."""
    given = "The capital of France is Paris."
    messages = [ChatMessageUser(content=QUESTION), ChatMessageAssistant(content=given)]
    async with chat("lean/live", llama) as model:
        config = GenerateConfig(max_tokens=20, temperature=0)
        output = await model.generate(messages, config=config)
    assert output.completion.startswith(given)
    assert len(output.completion) > len(given)


@pytest.mark.parametrize("provider", PROVIDERS[:2])
def test_a_search_on_llama_cpp_never_repeats_a_step(provider, llama, models, tmp_path):
    steps = chosen_steps(search(chat(provider, llama), tmp_path, models))
    assert len(steps) > 1
    assert not any(later.startswith(earlier) for earlier, later in pairwise(steps))


@pytest.mark.parametrize("provider", PROVIDERS[:2])
def test_llama_cpp_draws_more_votes_than_it_has_slots(provider, llama, tmp_path):
    log = succeed(
        "misstep/processbench.sample",
        tmp_path,
        chat(provider, llama),
        task_args={"votes": SLOTS + 2},
        limit=1,
        max_tokens=8,
        temperature=0.9,
    )
    [sample] = log.samples
    drawn = [event for event in events(sample, ModelEvent) if not event.error]
    assert sum(len(event.output.choices) for event in drawn) == SLOTS + 2


@pytest.mark.parametrize("provider", PROVIDERS[:2])
def test_a_prompt_beyond_llama_cpps_context_is_truncated(provider, llama, tmp_path):
    log = succeed(
        "misstep/processbench",
        tmp_path,
        chat(provider, llama),
        task_args={"source": too_long(tmp_path)},
        max_tokens=16,
    )
    assert log.samples[0].scores["first_error"].metadata["unread"] == "truncated"
