"""Guided search and its baselines, against a real server on this machine."""

import json
import threading
from functools import partial
from math import prod
from statistics import fmean
from zlib import crc32

import pytest
from click.testing import CliRunner
from inspect_ai.model import get_model

from misstep.cli._main import cli
from misstep.evals.guided_search import guided_search
from misstep.registry import MisstepError
from misstep.rewards import SOLUTIONS
from misstep.scorers import compare_answers
from tests.support.openai_server import Fault, Faults, OpenAIServer, Reply
from tests.support.runs import local_model, metrics_of, run_task, succeed, table_of

LAST = 3
"""The step that ends a solution of the policy below."""


def draw(text, most):
    return crc32(text.encode()) % most


def step_text(problem, steps, choice):
    """What the policy writes next: the answer is the sum of the choices taken."""
    taken = sum(int(step.split()[3].rstrip(".")) for step in steps)
    # Choices 6 and 7 repeat those of 0 and 1.
    mine = choice % 6
    if len(steps) + 1 < LAST:
        return f"Of {problem} take {mine}."
    return f"Of {problem} take {mine}. So it is \\boxed{{{taken + mine}}}."


def policy(request, choice):
    """Continues the assistant's turn, or writes a whole solution where that is asked for."""
    *_, last = request.messages
    problem = request.messages[1]["content"]
    steps = last["content"].strip().split("\n\n") if last["role"] == "assistant" else []
    if request.body["max_tokens"] > 1000:
        while len(steps) < LAST:
            steps.append(step_text(problem, steps, draw(f"{problem}{choice}{len(steps)}", 6)))
        return "\n\n".join(steps)
    return step_text(problem, steps, choice)


def reward(text):
    """Of a step; coarse, so that there are ties."""
    return 0.05 + draw(text, 7) / 10


def judge(request, choice):
    p = reward(request.messages[-1]["content"].split("\n\n")[-1])
    return Reply("+" if p >= 0.5 else "-", "length", {s: {"+": p, "-": 1 - p} for s in "+-"})


def both(request, choice):
    return (judge if request.body["model"] == "judge" else policy)(request, choice)


@pytest.fixture
def problems(tmp_path):
    path = tmp_path / "own.jsonl"
    rows = [{"problem": f"p{i}", "answer": draw(f"p{i}", 16)} for i in range(6)]
    path.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    return str(path)


@pytest.fixture
def search(tmp_path, problems):
    """Run a guided search against a server; gives the log and the server."""

    def run(reply=both, *, faults=None, source=None, limit=None, during=None, **options):
        with OpenAIServer(reply, faults=faults) as server:
            models = [
                local_model(server, f"openai-api/local/{name}") for name in ("policy", "judge")
            ]
            if during is not None:
                threading.Thread(target=during, args=[server], daemon=True).start()
            settings = {"style": "single_token", "continuation": "prefill"} | options
            log = succeed(
                guided_search(source=source or problems, **settings),
                tmp_path / "logs",
                models[0],
                model_roles={"reward": models[1]},
                limit=limit,
            )
            return log, server

    return run


def test_each_step_is_the_best_of_the_candidates(search):
    log, server = search()
    for sample in log.samples:
        problem, steps = sample.input, []
        for iteration in sample.store["SearchRecord:iterations"]:
            candidates = [step_text(problem, steps, choice) for choice in range(6)]
            rewards = {text: reward(text) for text in candidates}
            found = {c["step"]: c for c in iteration["candidates"]}
            assert {text: c.get("reward") for text, c in found.items()} == pytest.approx(rewards)
            # Equal candidates are scored once.
            assert [found[text]["count"] for text in candidates] == [2, 2, 1, 1, 1, 1]
            [chosen] = [text for text, c in found.items() if c["chosen"]]
            assert rewards[chosen] == max(rewards.values())
            steps.append(chosen)
        assert len(steps) == LAST
        assert sample.output.completion == "\n\n".join(steps)
        score = sample.scores["final_answer"]
        answer = sum(int(step.split()[3].rstrip(".")) for step in steps)
        assert score.answer == str(answer)
        assert score.value == ("C" if answer == int(sample.target) else "I")
        assert score.metadata["budget"]["policy_calls"] == LAST
        assert score.metadata["budget"]["reward_calls"] == 6 * LAST
        tokens = sum(e.output.usage.total_tokens for e in sample.events if e.event == "model")
        assert score.metadata["budget"]["tokens"] == tokens
    got = table_of(log, "final_answer")
    right = [sample.scores["final_answer"].value == "C" for sample in log.samples]
    assert got["accuracy"] == pytest.approx(sum(right) / len(right))
    assert (got["total_count"], got["unfinished"], got["unanswered"]) == (6, 0, 0)
    body = next(r.body for r in server.requests if r.body["model"] == "policy")
    asked = (body["n"], body["temperature"], body["max_tokens"], body["stop"])
    assert asked == (8, 0.7, 512, ["\n\n"])
    later = [r for r in server.requests if r.messages[-1]["role"] == "assistant"]
    assert all(r.body["continue_final_message"] for r in later)


def test_a_log_is_exported_in_the_shape_of_the_original(search, tmp_path):
    log, _ = search()
    command = ["export", log.location, "--format", "search", "-o", str(tmp_path / "out")]
    CliRunner().invoke(cli, command, catch_exceptions=False)
    results = json.loads((tmp_path / "out" / "results.json").read_text())
    right = [sample.scores["final_answer"].value == "C" for sample in log.samples]
    assert results == {"own": fmean(right), "average": fmean(right)}
    rows = json.loads((tmp_path / "out" / "own" / "result-0-None.json").read_text())
    for row, sample in zip(rows, log.samples, strict=True):
        assert list(row) == [
            "question",
            "iteration_history",
            "final_steps",
            "gt_answer",
            "pred_answer",
        ]
        assert (row["question"], row["gt_answer"]) == (sample.input, sample.target)
        assert row["pred_answer"] == sample.scores["final_answer"].answer
        for i, iteration in enumerate(row["iteration_history"]):
            chosen = iteration["candidates_info"][iteration["chosen_step_index"]]
            assert iteration["iteration_index"] == i + 1
            assert chosen["candidate_step"] == iteration["chosen_step"] == row["final_steps"][i]
            assert chosen["reward"] == max(c["reward"] for c in iteration["candidates_info"])
        # As the original marks the step that ends a solution.
        assert [step.endswith("<|im_end|>") for step in row["final_steps"]] == [False, False, True]
    with pytest.raises(MisstepError, match="not a log of a first-error eval"):
        CliRunner().invoke(
            cli, ["export", log.location, "--format", "json"], catch_exceptions=False
        )


def test_a_search_is_repeatable(search):
    logs = [search()[0] for _ in range(2)]
    texts = [[sample.output.completion for sample in log.samples] for log in logs]
    assert texts[0] == texts[1]


def test_best_of_n_chooses_by_four_aggregations_from_the_same_solutions(search):
    log, _ = search(method="best_of_n", aggregation="mean")
    means = {"last": lambda r: r[-1], "min": min, "product": prod, "mean": fmean}
    for sample in log.samples:
        solutions = sample.store["SearchRecord:solutions"]
        assert len(solutions) == 8
        for solution in solutions:
            expected = [reward(step) for step in solution["text"].split("\n\n")]
            assert solution["rewards"] == pytest.approx(expected)
        hits = sample.scores["final_answer"].metadata["hits"]
        for name, worth in means.items():
            best = max(worth(s["rewards"]) for s in solutions)
            possible = {
                s["answer"] for s in solutions if worth(s["rewards"]) == pytest.approx(best)
            }
            assert hits[name] in {answer == sample.target for answer in possible}
        answers = [s["answer"] for s in solutions]
        assert hits["oracle"] == (sample.target in answers)
        majority = max(answers, key=answers.count)
        assert hits["majority"] == (majority == sample.target)
        assert hits["mean"] == (sample.scores["final_answer"].value == "C")
    got = table_of(log, "final_answer")
    assert got["oracle_accuracy"] >= max(got[f"{name}_accuracy"] for name in means)


def test_majority_and_plain_need_no_reward_model(search):
    log, server = search(method="majority", limit=3)
    assert {request.body["model"] for request in server.requests} == {"policy"}
    assert metrics_of(log, "final_answer")["mean_reward_tokens"] == 0
    log, server = search(method="plain", limit=3)
    assert [request.body.get("n") for request in server.requests] == [None] * 3
    assert {request.body["temperature"] for request in server.requests} == {0.0}


def test_beam_search_keeps_the_best_paths(search):
    log, _ = search(method="beam", n=8, width=2, aggregation="product", limit=3)
    for sample in log.samples:
        paths = [((), 1.0)]
        for iteration in sample.store["SearchRecord:iterations"]:
            share = 8 // len(paths)
            worths = sorted(
                (
                    worth * reward(text)
                    for steps, worth in paths
                    for text in {step_text(sample.input, steps, c) for c in range(share)}
                ),
                reverse=True,
            )
            candidates = iteration["candidates"]
            chosen = [candidates[i] for i in iteration["kept"]]
            assert {c["step"] for c in chosen} == {c["step"] for c in candidates if c["chosen"]}
            paths = [
                ((*paths[c["path"]][0], c["step"]), paths[c["path"]][1] * c.get("reward"))
                for c in chosen
            ]
            assert [worth for _, worth in paths] == pytest.approx(worths[:2])
        assert sample.output.completion in {"\n\n".join(steps) for steps, _ in paths}


def test_a_budget_ends_a_search_and_lengthens_sampling(search):
    log, _ = search(budget=1, limit=1)
    score = log.samples[0].scores["final_answer"]
    assert "Unfinished: the token budget is used up" in score.explanation
    assert len(log.samples[0].store["SearchRecord:iterations"]) == 1
    log, _ = search(method="majority", n=2, budget=600, limit=1)
    assert len(log.samples[0].store["SearchRecord:solutions"]) > 2
    assert log.samples[0].scores["final_answer"].metadata["budget"]["tokens"] >= 600


@pytest.mark.parametrize(
    ("write", "says", "iterations"),
    [
        (lambda steps, choice: f"And then {len(steps)}-{choice}.", "did not end within 4 steps", 4),
        (lambda steps, choice: "The same.", "its last step occurs 4 times", 4),
        (lambda steps, choice: "", "in 3 tries; the last reason: the candidate is empty", 3),
    ],
    ids=["never ends", "repeats itself", "is silent"],
)
def test_a_policy_that_does_not_end_leaves_the_sample_unfinished(search, write, says, iterations):
    def reply(request, choice):
        if request.body["model"] == "judge":
            return judge(request, choice)
        *_, last = request.messages
        steps = last["content"].strip().split("\n\n") if last["role"] == "assistant" else []
        return write(steps, choice)

    log, _ = search(reply, max_steps=4, limit=2)
    for sample in log.samples:
        score = sample.scores["final_answer"]
        assert (score.value, score.answer) == ("I", None)
        assert says in score.explanation
        assert len(sample.store["SearchRecord:iterations"]) == iterations
    got = table_of(log, "final_answer")
    assert (got["unfinished"], got["unanswered"], got["total_count"]) == (1.0, 1.0, 2)


def test_a_policy_with_nothing_to_add_after_its_answer_has_ended(search):
    def reply(request, choice):
        if request.body["model"] == "judge":
            return judge(request, choice)
        continued = request.messages[-1]["role"] == "assistant"
        # As of a model that puts a blank line after its answer, where it is stopped.
        return "" if continued else Reply(r"It is \boxed{4}.", "length")

    log, _ = search(reply, limit=1)
    [sample] = log.samples
    assert (sample.scores["final_answer"].answer, len(sample.store["SearchRecord:iterations"])) == (
        "4",
        2,
    )
    assert sample.scores["final_answer"].metadata["finished"]


def test_candidates_without_a_reward_are_left_out_and_a_step_is_tried_again(search):
    asked = []

    def reply(request, choice):
        if request.body["model"] == "policy":
            return policy(request, choice)
        step = request.messages[-1]["content"].split("\n\n")[-1]
        asked.append(step)
        # The first step finds no judge that speaks; later ones none for an even number.
        if len(asked) <= 6 or int(step.split()[3].rstrip(".")) % 2 == 0:
            return Reply("", "length")
        return judge(request, choice)

    log, _ = search(reply, limit=1)
    [sample] = log.samples
    first, *others = sample.store["SearchRecord:iterations"]
    assert all(c.get("reward") is None and c.get("missing") for c in first["candidates"])
    assert not any(c["chosen"] for c in first["candidates"])
    assert len(others) == LAST
    for iteration in others:
        even = [
            c for c in iteration["candidates"] if int(c["step"].split()[3].rstrip(".")) % 2 == 0
        ]
        assert all("could not be read (empty)" in c.get("missing") for c in even)
        assert not any(c["chosen"] for c in even)
    assert sample.scores["final_answer"].metadata["finished"]


def test_a_judge_without_logprobs_ends_a_search_after_a_few_tries(search):
    def reply(request, choice):
        # A server that takes no notice of logprobs.
        request.body["logprobs"] = False
        return "+" if request.body["model"] == "judge" else policy(request, choice)

    log, server = search(reply, limit=1)
    [sample] = log.samples
    score = sample.scores["final_answer"]
    assert (score.value, score.answer) == ("I", None)
    assert "in 3 tries; the last reason: the model gave no logprobs" in score.explanation
    assert len(server.requests) == 3 * (1 + 6)


def test_a_context_that_is_too_long_for_the_judge_is_a_missing_reward(search):
    # The first request is the policy's; two of its candidates meet a 400.
    script = [None, Fault.CONTEXT_LENGTH, Fault.CONTEXT_LENGTH]
    log, _ = search(faults=Faults(script=script), limit=1)
    [sample] = log.samples
    missing = [
        c.get("missing")
        for c in sample.store["SearchRecord:iterations"][0]["candidates"]
        if c.get("missing")
    ]
    assert len(missing) == 2
    assert all("truncated" in why for why in missing)
    assert sample.scores["final_answer"].metadata["finished"]


def served_rewards(pooling, tmp_path, problems, **options):
    """Run a guided search whose rewards come from a served reward model; return the log."""
    with OpenAIServer(policy, pooling=pooling) as server:
        prm = get_model(
            "prm/qwen2.5-math-prm-7b", base_url=server.url.removesuffix("/v1"), memoize=False
        )
        return run_task(
            guided_search(source=problems, n=2, continuation="prefill", **options),
            tmp_path / "logs",
            local_model(server),
            model_roles={"reward": prm},
            limit=2,
            fail_on_error=False,
        )


@pytest.mark.parametrize("method", ["greedy", "beam", "best_of_n"])
def test_a_reward_server_that_fails_is_an_error_of_the_sample(tmp_path, problems, method):
    def broken(text):
        if any(solution.problem in text for solution in SOLUTIONS):
            return [[0.1, 0.9]] * 3  # the probe at the start of the run
        raise ValueError("no such model")

    log = served_rewards(broken, tmp_path, problems, method=method, width=1)
    assert [bool(sample.error) for sample in log.samples] == [True, True]
    assert all("no such model" in sample.error.message for sample in log.samples)
    assert all(not sample.scores for sample in log.samples)


def test_best_of_n_says_why_no_solution_has_its_rewards(tmp_path, problems):
    def pooling(text):
        probed = any(solution.problem in text for solution in SOLUTIONS)
        return [[0.1, 0.9]] * (3 if probed else 1)

    log = served_rewards(pooling, tmp_path, problems, method="best_of_n")
    score = log.samples[0].scores["final_answer"]
    assert (score.value, score.answer) == ("I", None)
    assert "no solution has all its rewards: 1 rewards for 3 steps" in score.explanation
    assert "boxed" not in score.explanation


def test_an_answer_that_explodes_is_undecided_and_the_run_goes_on(search, tmp_path, monkeypatch):
    monkeypatch.setattr(
        "misstep.scorers._final_answer.compare_answers", partial(compare_answers, seconds=1)
    )
    path = tmp_path / "powers.jsonl"
    rows = [{"problem": p, "answer": "2^{10}"} for p in ("p", "q")]
    path.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")

    def reply(request, choice):
        if request.body["model"] == "judge":
            return judge(request, choice)
        return r"\boxed{9^{9^{9^9}}}" if request.messages[1]["content"] == "p" else r"\boxed{1024}"

    log, _ = search(reply, source=str(path))
    assert log.samples[1].scores["final_answer"].value == "C"
    score = log.samples[0].scores["final_answer"]
    assert score.value == "I"
    assert score.metadata["undecided"]
    assert "took too long" in score.explanation or "Undecided" in score.explanation


def test_a_server_that_stops_in_the_middle_and_comes_back_loses_nothing(search):
    def stop_and_come_back(server):
        while len(server.requests) < 20:
            threading.Event().wait(0.01)
        server.down()
        threading.Event().wait(0.5)
        server.up()

    calm, _ = search()
    log, _ = search(during=stop_and_come_back)
    for before, after in zip(calm.samples, log.samples, strict=True):
        assert after.error is None
        assert after.output.completion == before.output.completion
        assert after.store["SearchRecord:iterations"] == before.store["SearchRecord:iterations"]


def test_a_missing_role_and_wrong_settings_get_one_message(tmp_path, problems):
    for options, says in (
        ({"method": "gredy"}, "Did you mean 'greedy'"),
        ({"n": 0}, "n=0"),
        ({"method": "beam", "width": 9}, "width=9"),
        ({"aggregation": "sum"}, "Allowed: last, mean, min, product"),
        ({"source": "math50"}, "Did you mean 'math500'"),
        ({"budget": -1}, "budget=-1"),
        ({"continuation": "prefil"}, "Did you mean 'prefill'"),
    ):
        with pytest.raises(MisstepError, match=says):
            guided_search(**{"source": problems} | options)
    log = run_task(guided_search(source=problems), tmp_path, limit=1)
    assert log.status == "error"
    assert "Model role 'reward' is required" in log.error.message


@pytest.mark.usefixtures("embedded_model_installed")
def test_the_embedded_model_guides_itself_end_to_end(tmp_path):
    log = succeed(
        guided_search(source="sample", n=2, max_steps=2, style="single_token"),
        tmp_path,
        "embedded/smollm2",
        model_roles={"reward": get_model("embedded/smollm2")},
        limit=1,
        max_tokens=8,
    )
    [sample] = log.samples
    iterations = sample.store["SearchRecord:iterations"]
    assert len(iterations) == 2
    for iteration in iterations:
        for candidate in iteration["candidates"]:
            # SmolLM2 may name neither sign among its tokens: then it says so.
            assert (candidate.get("reward") is None) == bool(candidate.get("missing"))
    budget = sample.scores["final_answer"].metadata["budget"]
    drawn = sum(len(iteration["candidates"]) for iteration in iterations)
    assert (budget["policy_calls"], budget["reward_calls"]) == (2, drawn)
    assert budget["tokens"] > 0


def test_a_search_without_a_reward_model_does_not_start(tmp_path):
    with pytest.raises(MisstepError, match="method=greedy needs a reward model: add --model-role"):
        run_task("misstep/guided_search.sample", tmp_path)
    assert not list(tmp_path.iterdir())
