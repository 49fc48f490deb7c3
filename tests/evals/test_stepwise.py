from collections import Counter
from zlib import crc32

import pytest
from inspect_ai.model import ModelName, ModelOutput
from inspect_ai.solver import TaskState

from misstep.evals.processbench import processbench
from misstep.solvers import stepwise
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
    solved = await stepwise(calls=calls)(state, generate)
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
        task = processbench(source="sample", critic="stepwise", calls=calls)
        logs[calls], server = serve(task, plus_or_minus, limit=16)
        made[calls] = len(server.requests)
    assert answers(logs["sequential"]) == answers(logs["parallel"])
    assert len(set(answers(logs["parallel"]).values())) > 2
    assert made["sequential"] < made["parallel"]
    assert made["parallel"] == sum(len(s.metadata["steps"]) for s in logs["parallel"].samples)


def test_each_step_is_judged_as_its_own_rule_says(serve):
    log, server = serve(
        processbench(source="sample", critic="stepwise"),
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
    assert (body["temperature"], body["max_tokens"]) == (0.0, 1)


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
