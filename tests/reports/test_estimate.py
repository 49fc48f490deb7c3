"""What an estimate says, against what runs then take."""

import json
import math
from contextvars import copy_context
from datetime import date

import pytest
from click.testing import CliRunner
from inspect_ai import eval_set

from benchmarks.sizes import measure
from misstep._inspect_private import active_model
from misstep.cli._main import cli
from misstep.evals.deltabench_sections import deltabench_sections
from misstep.evals.guided_search import guided_search
from misstep.evals.procedural import procedural
from misstep.evals.processbench import processbench
from misstep.loaders import load_rows
from misstep.registry import CHARACTERS_PER_TOKEN, MisstepError, Price, price_of, prices, sizes
from misstep.reports import estimate, estimate_eval, eval_sizes, measured_completion
from misstep.reports._estimate import token_counter
from tests.reports.conftest import ROWS, write_run
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


BUNDLED = (
    "processbench.sample",
    "procedural.small",
    "error-recovery.sample",
    "agent_process.sample",
)
MIRRORED = (
    "processbench",
    "deltabench.code",
    "mr_ben.mr_gsm8k",
    "error-recovery",
    "error-recovery.medium.other-reasoning",
    "who_and_when.algorithm",
)


@pytest.mark.parametrize("name", BUNDLED)
def test_the_list_and_the_estimate_have_the_same_sizes(name):
    """There is one way to estimate: the sizes in the list are those of a dry run on the rows."""
    listed = {known: size for known, _, size in eval_sizes()}[name]
    found = estimate_eval(name, {}, MODEL)
    assert (found.samples, found.prompt_tokens) == (listed.samples, listed.prompt_tokens)
    assert found.completion_tokens == listed.completion_tokens


@pytest.mark.parametrize("name", MIRRORED)
def test_the_sizes_of_published_sets_are_measured_on_their_rows(name, real_data, monkeypatch):
    monkeypatch.setenv("MISSTEP_DATA", str(real_data))
    assert measure(name) == sizes()[name]


def test_a_search_is_estimated_with_its_reward_model():
    found = estimate_eval("guided_search.sample", {}, MODEL, roles=["reward"])
    # A step: one call for eight candidates, and one judgement of each.
    assert (found.samples, found.measured, found.calls) == (64, 20, 64 * 8 * (1 + 8))
    assert found.completions == 64 * 8 * (8 + 8)
    assert found.completion_tokens == 64 * 8 * 8 * (60 + 300)
    listed = sizes()["guided_search.sample"]
    assert (found.prompt_tokens, found.completion_tokens) == (
        listed.prompt_tokens,
        listed.completion_tokens,
    )


def test_an_estimate_that_is_impossible_says_so(tmp_path):
    # An eval set leaves its model in the context of its caller. An estimate does not see it.
    def estimated():
        with OpenAIServer(right) as server:
            model = local_model(server, MODEL)
            succeeded, _ = eval_set(procedural(n=1), str(tmp_path), model=model, display="none")
        assert succeeded
        assert active_model() is not None
        assert guided_search(source="sample").solver
        estimate_eval("guided_search.sample", {}, MODEL)

    with pytest.raises(MisstepError, match=r"all samples failed .*'reward'.* Add --model-role"):
        copy_context().run(estimated)


def test_a_judge_of_steps_is_asked_about_all_steps(tmp_path):
    from misstep.evals.mistake_finding import mistake_finding
    from misstep.registry import assumed_replies

    row = {"input": "1 + 1?", "steps": ["1", "2", "3"], "target": "2", "answer": "2"}
    path = tmp_path / "rows.jsonl"
    path.write_text(json.dumps(row | {"mistake_index": None, "task": "sums"}), encoding="utf-8")
    for protocol in ("step", "step_cot"):
        task = mistake_finding(source=str(path), protocol=protocol)
        replies = assumed_replies(f"mistake_finding.{protocol}")
        assert estimate(task, MODEL, replies=replies).calls == 3


def test_reasoning_and_answer_have_their_own_lengths():
    found = estimate_eval("error-recovery.sample", {}, MODEL, limit=1)
    # Three conversations; the variant cuts the reasoning at 32 tokens.
    assert (found.calls, found.completion_tokens) == (6, 3 * (32 + 20))
    assert found.completion_rule.startswith("261, then 20 each")


def test_completions_can_be_as_long_as_in_a_log(folder, runs):
    log = str(folder / "voted.eval")
    mean = sum(sample.output_tokens for sample in runs.voted.samples) / len(ROWS)
    assert measured_completion(log) == round(mean)
    command = ["estimate", "processbench.sample", "--model", MODEL, "--json", "--limit", "3"]
    result = CliRunner().invoke(cli, [*command, "--like", log], catch_exceptions=False)
    content = json.loads(result.output)
    assert content["completion_tokens"] == 3 * round(mean)
    with pytest.raises(MisstepError, match="--like sets the length"):
        CliRunner().invoke(
            cli, [*command, "--like", log, "--completion", "9"], catch_exceptions=False
        )


@pytest.mark.parametrize(
    "arguments", [{"votes": 4}, {"critic": "stepwise"}, {"votes": 4, "adaptive": True}]
)
def test_a_completion_of_a_log_is_one_of_all_that_a_sample_takes(tmp_path, arguments):
    with OpenAIServer(right) as server:
        model = local_model(server, MODEL)
        log = succeed(processbench(source="sample", **arguments), tmp_path, model, limit=3)
    completions = sum(
        len(event.output.choices)
        for sample in log.samples
        for event in sample.events
        if event.event == "model"
    )
    assert completions > len(log.samples)
    written = sum(usage.output_tokens for usage in log.stats.model_usage.values())
    assert measured_completion(log.location) == round(written / completions)


def test_a_log_without_transcripts_has_a_completion_for_each_vote(tmp_path):
    votes = [(r"\boxed{0}", "x" * 300, r"\boxed{-1}", "y" * 600)] * len(ROWS)
    log = tmp_path / "votes.eval"
    write_run(log, votes, task_args_passed={"votes": 4})
    whole = sum(sum(map(len, texts)) // 3 for texts in votes)
    assert measured_completion(str(log)) == round(whole / (4 * len(ROWS)))


def test_the_time_of_a_sample_leaves_out_its_waiting(runs):
    assert {sample.seconds for sample in runs.weak.samples} == {1.5}
