from collections import Counter
from inspect import signature
from random import Random
from zlib import crc32

import pytest
from inspect_ai.model import ModelName, ModelOutput
from inspect_ai.solver import TaskState

from misstep import evals
from misstep.evals.processbench import processbench
from misstep.registry import find_judge
from misstep.solvers import find_critic, guided_search, reward, stepwise
from misstep.stores import CriticVerdict
from tests.support.openai_server import Reply
from tests.support.runs import metrics_of


def plus_or_minus(request, choice):
    draw = crc32(request.text.encode()) % 8
    sign = "-" if draw == 0 else "+"
    other = "+" if sign == "-" else "-"
    return Reply(sign, "length", chances={sign: {sign: 0.8, other: 0.1}})


def answers(log):
    assert log.status == "success"
    return {sample.id: sample.scores["first_error"].answer for sample in log.samples}


async def judged(row, calls):
    """The verdict and the number of calls of the solver itself, without a model's overhead."""
    made = 0

    async def generate(state, **options):
        nonlocal made
        made += 1
        text = "\n".join(message.text for message in state.messages)
        sign = "-" if crc32(text.encode()) % 8 == 0 else "+"
        state.output = ModelOutput.from_content("judge", sign, stop_reason="max_tokens")
        return state

    state = TaskState(
        ModelName("judge/judge"), row.id, 1, row.problem, [], metadata={"steps": row.steps}
    )
    solved = await stepwise("single_token", calls)(state, generate)
    return solved.output.completion, made


@pytest.mark.anyio
async def test_sequential_and_parallel_agree_on_every_sample_of_math(real_rows):
    said = Counter()
    for row in real_rows["math"]:
        in_turn, few = await judged(row, "sequential")
        at_once, all_steps = await judged(row, "parallel")
        assert in_turn == at_once, row.id
        assert few <= all_steps == len(row.steps)
        said[in_turn] += 1
    assert len(said) > 8


@pytest.fixture
def anyio_backend():
    return "asyncio"


def test_sequential_and_parallel_agree_over_http(serve):
    logs, made = {}, {}
    for calls in ("sequential", "parallel"):
        task = processbench(source="sample", critic="stepwise", style="single_token", calls=calls)
        logs[calls], server = serve(task, plus_or_minus, limit=16)
        made[calls] = len(server.requests)
    assert answers(logs["sequential"]) == answers(logs["parallel"])
    assert len(set(answers(logs["parallel"]).values())) > 2
    assert made["sequential"] < made["parallel"]
    assert made["parallel"] == sum(len(s.metadata["steps"]) for s in logs["parallel"].samples)


def test_each_step_is_judged_as_its_own_rule_says(serve):
    log, server = serve(
        processbench(source="sample", critic="stepwise", style="single_token"),
        plus_or_minus,
        limit=10,
        logprobs=True,
        top_logprobs=5,
    )
    for sample in log.samples:
        problem, steps = sample.input, sample.metadata["steps"]
        prediction = -1
        for i in range(len(steps)):
            turns = [f"{problem}\n\n{steps[0]}"]
            for step in steps[1 : i + 1]:
                turns += ["+", step]
            if crc32("\n".join(turns).encode()) % 8 == 0:
                prediction = i
                break
        assert sample.scores["first_error"].answer == str(prediction)
        judged = sample.store["CriticVerdict:steps"]
        assert [step["verdict"] for step in judged[:-1]] == ["right"] * (len(judged) - 1)
        expected = [8 / 9 if step["verdict"] == "right" else 1 / 9 for step in judged]
        assert [step["probability"] for step in judged] == pytest.approx(expected)
    body = server.requests[0].body
    assert (body["temperature"], body["max_tokens"]) == (0.0, 16)


@pytest.mark.parametrize("style", ["written", "plain"])
def test_an_unreadable_verdict_makes_the_sample_unparsed(serve, style):
    def judge(request, choice):
        return "I would rather not say." if crc32(request.text.encode()) % 2 else r"\boxed{Right}"

    logs = [
        serve(
            processbench(source="sample", critic="stepwise", style=style, calls=calls),
            judge,
            limit=8,
        )[0]
        for calls in ("sequential", "parallel")
    ]
    assert answers(logs[0]) == answers(logs[1])
    assert set(answers(logs[0]).values()) <= {None, "-1"}
    assert None in answers(logs[0]).values()


def test_a_judgement_cut_for_its_length_counts_as_truncated(serve):
    log, _ = serve(
        processbench(source="sample", critic="stepwise", style="plain"),
        lambda request, choice: Reply("Well", "length"),
        limit=2,
    )
    assert metrics_of(log)["truncated"] == 1.0
    assert metrics_of(log)["unparsed"] == 0.0


def test_a_chat_model_is_asked_in_words_unless_a_style_is_given(serve):
    log, server = serve(
        processbench(source="sample", critic="stepwise"), lambda *_: r"\boxed{right}", limit=2
    )
    assert "Is the next step right?" in server.requests[0].text
    assert metrics_of(log)["unparsed"] == 0.0


STYLED = [
    one
    for one in (*vars(evals).values(), stepwise, reward, guided_search, find_critic)
    if callable(one) and "style" in signature(one).parameters
]
"""Everything that asks a judge: tasks, solvers, and the critics of tasks."""


def test_every_default_style_asks_for_words():
    judges = {
        one.__name__: find_judge(signature(one).parameters["style"].default) for one in STYLED
    }
    assert {"processbench", "prmbench", "stepwise", "reward", "find_critic"} <= judges.keys()
    assert {name for name, judge in judges.items() if judge.reply != "box"} == set()


@pytest.mark.parametrize(
    ("text", "unparsed"),
    [("The step is right.", 1.0), ("", 1.0), ("-", 0.0), ("- The sum is 5.", 0.0)],
)
def test_only_a_sign_is_a_verdict_of_one_token(serve, text, unparsed):
    task = processbench(source="sample", critic="stepwise", style="single_token")
    log, _ = serve(task, lambda *_: Reply(text, "length"), limit=2)
    assert metrics_of(log)["unparsed"] == unparsed
    assert set(answers(log).values()) == {None if unparsed else "0"}


def published_rlhflow_prediction(replies):
    """The rule of ProcessBench's script for RLHFlow's models, written anew."""
    for step, text in enumerate(replies):
        if not text.strip().lower().startswith("+"):
            return step
    return -1


REPLIES = ["+", "-", "", " ", "\n", "+1", " +", "\n+", "The", "Plus", "−", "-+", "+-", "＋", "++"]


@pytest.mark.anyio
@pytest.mark.parametrize("stop_reason", ["max_tokens", "stop", "content_filter", "model_length"])
async def test_the_style_rlhflow_is_the_published_script_on_every_reply(stop_reason):
    for seed in range(500):
        random = Random(seed)
        # Mostly right, so that predictions are spread over the steps.
        replies = ["+" if random.random() < 0.6 else random.choice(REPLIES) for _ in range(8)]

        async def generate(state, replies=replies, **options):
            step = sum(message.role == "user" for message in state.messages) - 1
            text = replies[step]
            state.output = ModelOutput.from_content("judge", text, stop_reason=stop_reason)
            return state

        steps = {"steps": [f"Step {i}." for i in range(8)]}
        state = TaskState(ModelName("judge/judge"), "1", 1, "How much?", [], metadata=steps)
        solved = await stepwise("rlhflow")(state, generate)
        left = solved.store_as(CriticVerdict)
        assert (left.verdict, left.unread) == (published_rlhflow_prediction(replies), None)
