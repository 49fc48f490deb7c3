"""First errors by rewards: `-T critic=reward` on every first-error eval."""

import json
from math import nan
from zlib import crc32

import pytest
from inspect_ai.model import get_model

from misstep.evals.deltabench import deltabench
from misstep.evals.procedural import procedural
from misstep.evals.processbench import processbench
from misstep.registry import MisstepError
from misstep.rewards import SOLUTIONS
from tests.support.openai_server import OpenAIServer, Reply
from tests.support.runs import metrics_of, run_task, succeed

EVALS = [
    processbench(source="sample", critic="reward", style="single_token", threshold=0.4),
    deltabench(source="sample", critic="reward", style="single_token", threshold=0.4),
    procedural(n=8, critic="reward", style="single_token", threshold=0.4),
]


def chance(text):
    """A reward that depends on all that a judge was shown."""
    return 0.05 + crc32(text.encode()) % 90 / 100


def plus_or_minus(request, choice):
    p = chance(request.text)
    return Reply("+" if p >= 0.5 else "-", "length", {s: {"+": p, "-": 1 - p} for s in "+-"})


def first_below(rewards, threshold):
    return next((i for i, reward in enumerate(rewards) if reward < threshold), -1)


@pytest.mark.parametrize("task", EVALS, ids=["processbench", "deltabench", "procedural"])
def test_the_first_step_under_the_threshold_is_the_verdict(serve, task):
    log, server = serve(task, plus_or_minus, limit=8)
    assert log.status == "success"
    verdicts = set()
    for sample in log.samples:
        steps, shown = sample.metadata["steps"], []
        expected = []
        for i, step in enumerate(steps):
            shown += [f"{sample.input}\n\n{step}"] if i == 0 else ["+", step]
            expected.append(chance("\n".join(shown)))
        for scorer in ("first_error", "first_error_lenient"):
            score = sample.scores[scorer]
            assert score.metadata["rewards"] == pytest.approx(expected)
            assert score.answer == str(first_below(expected, 0.4))
        verdicts.add(score.answer)
    assert len(verdicts) > 2
    assert len(server.requests) == sum(len(sample.metadata["steps"]) for sample in log.samples)


def test_stepwise_leaves_its_probabilities_under_the_same_name(serve):
    log, _ = serve(
        processbench(source="sample", critic="stepwise", style="single_token"),
        plus_or_minus,
        limit=6,
        logprobs=True,
        top_logprobs=5,
    )
    for sample in log.samples:
        rewards = sample.scores["first_error"].metadata["rewards"]
        judged = [step["probability"] for step in sample.store["CriticVerdict:steps"]]
        assert rewards == judged + [None] * (len(sample.metadata["steps"]) - len(judged))


def test_recorded_scores_are_rewards_without_a_call_for_each_step(tmp_path, own_file):
    scores = {"a": [0.25], "b": [1, 0.5], "c": [0.9, 0.8, 0]}
    path = tmp_path / "outputs.jsonl"
    lines = [json.dumps({"id": i, "scores": row}) for i, row in scores.items()]
    path.write_text("\n".join(lines), encoding="utf-8")
    log = succeed(
        processbench(source=str(own_file), critic="reward"), tmp_path / "logs", f"replay/{path}"
    )
    answers = {s.id: s.scores["first_error"].answer for s in log.samples}
    assert answers == {"a": "0", "b": "-1", "c": "2"}
    kept = {s.id: s.scores["first_error"].metadata["rewards"] for s in log.samples}
    assert kept == scores
    assert all(len([e for e in s.events if e.event == "model"]) == 1 for s in log.samples)


def test_a_served_reward_model_scores_by_one_request_a_sample(tmp_path, own_file):
    def pooling(text):
        steps = text.split("<|im_start|>assistant\n")[1].split("<extra_0>")[:-1]
        return [[1 - chance(step), chance(step)] for step in steps]

    with OpenAIServer(pooling=pooling) as server:
        model = get_model("prm/qwen2.5-math-prm-7b", base_url=server.url, memoize=False)
        task = processbench(source=str(own_file), critic="reward")
        # Twice by one model: its connections must survive the end of a run.
        logs = [succeed(task, tmp_path / "logs", model) for _ in range(2)]
        problems = [solution.problem for solution in SOLUTIONS]
        probe = [r for r in server.requests if any(p in r.body["input"] for p in problems)]
        assert (len(probe), len(server.requests)) == (3, 3 + 6)
    for sample in [sample for log in logs for sample in log.samples]:
        expected = [chance(step) for step in sample.metadata["steps"]]
        assert sample.scores["first_error"].metadata["rewards"] == pytest.approx(expected)
        assert sample.scores["first_error"].answer == str(first_below(expected, 0.5))


@pytest.mark.parametrize(
    ("results", "says"),
    [
        ([[0.1, 0.9]], "1 rewards for 3 steps; check step_token"),
        ([[0.1, 0.9], [nan, nan], [0.9, 0.1]], "the model gave nan for step 1"),
    ],
)
def test_missing_rewards_are_said_to_be_missing_and_the_run_goes_on(
    tmp_path, own_file, results, says
):
    def pooling(text):
        steps = text.split("<|im_start|>assistant\n")[1].count("<extra_0>")
        return results if "3 + 3?" in text else [[0.1, 0.9]] * steps

    with OpenAIServer(pooling=pooling) as server:
        model = get_model("prm/qwen2.5-math-prm-7b", base_url=server.url, memoize=False)
        log = succeed(processbench(source=str(own_file), critic="reward"), tmp_path / "logs", model)
    scores = {sample.id: sample.scores["first_error"] for sample in log.samples}
    assert scores["c"].answer is None
    assert scores["c"].metadata["unread"] == "no_reward"
    assert says in scores["c"].explanation
    assert (scores["a"].answer, scores["b"].answer) == ("-1", "-1")
    assert metrics_of(log)["unparsed"] == pytest.approx(1 / 3)


BROKEN = "the pooler has crashed"


def fails_for_c(text):
    if "3 + 3?" in text:
        raise ValueError(BROKEN)


def assert_error_of_c(log):
    samples = {sample.id: sample for sample in log.samples}
    assert BROKEN in samples["c"].error.message
    assert not samples["c"].scores
    assert all(samples[name].scores["first_error"].answer for name in "ab")
    # The failed sample is in no metric.
    assert metrics_of(log)["error_count"] + metrics_of(log)["correct_count"] == 2
    assert metrics_of(log)["unparsed"] == 0


def test_a_reward_call_that_fails_is_an_error_of_its_sample(tmp_path, own_file):
    def pooling(text):
        fails_for_c(text)
        steps = text.split("<|im_start|>assistant\n")[1].count("<extra_0>")
        return [[0.1, 0.9]] * steps

    with OpenAIServer(pooling=pooling) as server:
        model = get_model("prm/qwen2.5-math-prm-7b", base_url=server.url, memoize=False)
        task = processbench(source=str(own_file), critic="reward")
        assert_error_of_c(run_task(task, tmp_path / "logs", model, fail_on_error=False))


def test_a_judges_call_that_fails_is_an_error_of_its_sample(serve, own_file):
    def judge(request, choice):
        fails_for_c(request.text)
        return plus_or_minus(request, choice)

    task = processbench(source=str(own_file), critic="reward", style="single_token")
    assert_error_of_c(serve(task, judge, fail_on_error=False)[0])


def test_a_reward_model_that_does_not_work_stops_the_run_before_its_first_solution(
    tmp_path, own_file
):
    with OpenAIServer(pooling=lambda text: [[0.1, 0.9]]) as server:
        model = get_model("prm/qwen2.5-math-prm-7b", base_url=server.url, memoize=False)
        task = processbench(source=str(own_file), critic="reward")
        log = run_task(task, tmp_path / "logs", model, fail_on_error=False)
        assert len(server.requests) == 1
    for sample in log.samples:
        assert "1 rewards for 3 steps; check step_token" in sample.error.message
        assert not sample.scores


@pytest.mark.parametrize(
    ("reply", "says"), [("+", None), ("Hm", "could not be read"), (r"\boxed{Right}", None)]
)
def test_a_judge_without_logprobs_has_no_rewards(serve, own_file, reply, says):
    style = "single_token" if reply == "+" else "plain"

    def judge(request, choice):
        # A server that takes no notice of logprobs.
        request.body["logprobs"] = False
        return reply

    log, _ = serve(processbench(source=str(own_file), critic="reward", style=style), judge)
    for sample in log.samples:
        score = sample.scores["first_error"]
        assert score.answer is None
        assert (says or "gave no logprobs") in score.explanation


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"critic": "reward", "threshold": 1.5}, "threshold=1.5: expected a number from 0 to 1"),
        ({"critic": "stepwise", "threshold": 0.5}, "goes with critic=reward"),
        ({"critic": "reward", "style": "writen"}, "Did you mean 'written'"),
        ({"critic": "reward", "votes": 8}, "votes go with critic=critique"),
    ],
)
def test_options_that_do_not_fit_get_one_message(options, says):
    with pytest.raises(MisstepError, match=says):
        processbench(source="sample", **options)


def test_a_run_stops_if_none_of_the_first_twenty_solutions_gets_a_reward(serve):
    task = processbench(source="sample", critic="reward", style="single_token")
    log, _ = serve(task, lambda *_: Reply("Let me think.", "length"), limit=30)
    assert log.status == "error"
    assert "None of the first 20 solutions got a reward" in log.error.message
    assert "The last reason: " in log.error.message
    assert log.results is None or log.results.completed_samples < 30


def test_one_reward_among_the_first_solutions_is_enough(serve):
    def mostly_silent(request, choice):
        return plus_or_minus(request, choice) if len(request.text) % 7 == 0 else Reply("?", "stop")

    task = processbench(source="sample", critic="reward", style="single_token")
    log, _ = serve(task, mostly_silent, limit=24)
    assert log.status == "success"
