"""What an estimate says, against what runs then take."""

import math
from datetime import date

import pytest

from misstep.evals.deltabench_sections import deltabench_sections
from misstep.evals.procedural import procedural
from misstep.evals.processbench import processbench
from misstep.loaders import load_rows
from misstep.registry import CHARACTERS_PER_TOKEN, Price, price_of, prices
from misstep.reports import estimate
from misstep.reports._estimate import token_counter
from tests.reports.conftest import ROWS
from tests.support.openai_server import OpenAIServer
from tests.support.rows import delta_row
from tests.support.runs import local_model, succeed

MODEL = "openai-api/local/critic"


def right(request, choice):
    return r"+ [Right] \boxed{-1}"


def requests_of(task, tmp_path, limit):
    """What a server is asked by a run."""
    with OpenAIServer(right) as server:
        succeed(task, tmp_path, local_model(server, MODEL), limit=limit, score=False)
        return server.requests


@pytest.mark.parametrize(
    "arguments",
    [
        {},
        {"votes": 4},
        {"critic": "stepwise"},
        {"critic": "stepwise", "style": "written", "calls": "parallel"},
    ],
)
def test_calls_and_prompts_are_those_of_the_run(tmp_path, arguments):
    task = {"source": "sample", "domain": "generic", **arguments}
    found = estimate(processbench(**task), MODEL, limit=3)
    requests = requests_of(processbench(**task), tmp_path, 3)
    assert found.calls == len(requests)
    assert found.completions == len(requests) * arguments.get("votes", 1)
    texts = [
        sum(len(message["content"]) for message in request.body["messages"]) for request in requests
    ]
    assert found.prompt_tokens == sum(-(-text // CHARACTERS_PER_TOKEN) for text in texts)
    assert not found.prompt_exact
    assert "divided by 3" in found.prompt_rule
    assert found.failed == 0


def test_every_eval_is_walked_through(tmp_path):
    import json

    path = tmp_path / "d.jsonl"
    path.write_text(json.dumps(delta_row("d-0", errors=[2])), encoding="utf-8")
    assert estimate(procedural(n=5), MODEL).calls == 5
    assert estimate(deltabench_sections(source=str(path)), MODEL).calls == 1
    baseline = estimate(processbench(source="sample", critic="uniform"), MODEL)
    assert (baseline.samples, baseline.calls, baseline.tokens) == (len(load_rows("sample")), 0, 0)


def test_completions_end_at_their_limit():
    task = processbench(source="sample", critic="stepwise", style="rlhflow")
    single = estimate(task, MODEL, limit=2)
    assert single.completion_tokens == single.calls
    assert "or the token limit if it is lower" in single.completion_rule


def test_earlier_runs_give_the_length_of_completions(runs):
    found = estimate(processbench(source="sample"), MODEL, runs=[runs.weak])
    mean = sum(sample.output_tokens for sample in runs.weak.samples) / len(ROWS)
    assert found.completion_tokens == math.ceil(mean * found.samples)
    assert f"{len(ROWS)} samples of earlier runs" in found.completion_rule


def test_the_price_is_tokens_times_the_list_price():
    price = Price(input=2.0, output=10.0, source="a list", date=date(2026, 1, 1))
    found = estimate(
        processbench(source="sample"), MODEL, completion=100, price=(price, "a list"), limit=4
    )
    assert found.price == pytest.approx((found.prompt_tokens * 2 + 400 * 10) / 1e6)
    assert estimate(processbench(source="sample"), MODEL, limit=1).price is None


def test_prices_name_their_source_and_day():
    for model, price in prices().items():
        assert "/" in model
        assert price.source.startswith("https://")
        assert price.output >= price.input > 0


def test_a_model_called_leanly_costs_what_it_costs():
    assert price_of("lean/openai/gpt-4o-mini") == prices()["openai/gpt-4o-mini"]
    assert price_of("lean/local/critic") is None


def test_the_embedded_model_counts_its_own_tokens_exactly(tmp_path):
    """The estimate is to the token what the run then reads."""
    task = {"source": "sample", "domain": "generic"}
    found = estimate(processbench(**task), "embedded/smollm2", limit=1)
    assert found.prompt_exact
    log = succeed(processbench(**task), tmp_path, "embedded/smollm2", limit=1, max_tokens=1)
    usage = log.stats.model_usage["embedded/smollm2"]
    read = usage.input_tokens + (usage.input_tokens_cache_read or 0)
    assert found.prompt_tokens == read


def test_without_its_file_tiktoken_is_not_asked(monkeypatch, tmp_path):
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(tmp_path))
    assert not token_counter("openai/gpt-4o-mini").exact
    assert not token_counter("vllm/Qwen/Qwen2.5-7B-Instruct").exact
