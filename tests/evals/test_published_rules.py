"""Our numbers against the published rules, written again, on the same replies and real rows."""

from types import SimpleNamespace
from zlib import crc32

import pytest
from inspect_ai.model import ChatCompletionChoice, ChatMessageAssistant, ModelName, ModelOutput
from inspect_ai.scorer import SampleScore, Target
from inspect_ai.solver import TaskState

from misstep.evals.processbench import processbench
from misstep.loaders import first_error_sample
from misstep.scorers import first_error, first_error_table
from tests.solvers.test_prompts import published_prompt
from tests.support.published_rules import published_prediction
from tests.support.runs import table_of

ODD = [r"\boxed{\text{1}}", "I cannot say.", r"\boxed{}", r"\boxed{0, 2}", r"\boxed{paragraph_1}"]


def scripted(request, choice):
    """A critic that is right half of the time, and now and then odd."""
    steps = request.text.count("\n</paragraph_")
    draw = crc32(f"{request.text}/{choice}/{request.seed}".encode())
    if draw % 10 == 0:
        return ODD[draw // 10 % len(ODD)]
    return rf"Let me see: \boxed{{0}}? In the end \boxed{{{draw // 10 % (steps + 1) - 1}}}."


def replies_by_prompt(server):
    """What the server said for each prompt, choice by choice, whatever came when."""
    said = {}
    for request in server.requests:
        texts = [scripted(request, choice) for choice in range(request.choices)]
        said.setdefault(request.text, []).append((request.seed, texts))
    return {
        prompt: [text for _, texts in sorted(parts) for text in texts]
        for prompt, parts in said.items()
    }


def published_metrics(matches):
    """The published figures from (label, match) pairs."""
    error = [match for label, match in matches if label != -1]
    correct = [match for label, match in matches if label == -1]
    acc1, acc2 = sum(error) / len(error), sum(correct) / len(correct)
    return acc1, acc2, 2 * acc1 * acc2 / (acc1 + acc2)


def assert_published(got, rows, texts_of):
    """The figures are those of the published rules on the same replies."""
    matches = [(row.label, published_prediction(texts_of(row)) == row.label) for row in rows]
    acc1, acc2, f1 = published_metrics(matches)
    assert got["error_accuracy"] == pytest.approx(acc1, abs=1e-12)
    assert got["correct_accuracy"] == pytest.approx(acc2, abs=1e-12)
    assert got["f1_score"] == pytest.approx(f1, abs=1e-12)
    assert got["total_count"] == len(rows)
    assert got["f1_score_lower"] < f1 < got["f1_score_upper"]


@pytest.mark.parametrize("votes", [1, 8])
def test_figures_of_a_run_over_http_are_those_of_the_published_rules(serve, real_rows, votes):
    log, server = serve(processbench(subset="gsm8k", votes=votes), scripted)
    assert log.status == "success"
    said = replies_by_prompt(server)
    assert {len(texts) for texts in said.values()} == {votes}
    assert_published(
        table_of(log),
        real_rows["gsm8k"],
        lambda row: said[published_prompt(row.problem, row.steps)],
    )


@pytest.mark.anyio
@pytest.mark.parametrize("votes", [1, 8])
@pytest.mark.parametrize("subset", ["gsm8k", "math"])
async def test_figures_on_all_real_rows_are_those_of_the_published_rules(real_rows, subset, votes):
    """The same for both subsets without a server: the scorer and the metrics alone."""

    def texts_of(row):
        prompt = published_prompt(row.problem, row.steps)
        request = SimpleNamespace(text=prompt, seed=42)
        return [scripted(request, choice) for choice in range(votes)]

    scores = []
    for row in real_rows[subset]:
        sample = first_error_sample(row)
        output = ModelOutput(choices=[choice(text) for text in texts_of(row)])
        state = TaskState(
            ModelName("x/y"), row.id, 1, row.problem, [], output=output, metadata=sample.metadata
        )
        score = await first_error(votes)(state, Target(sample.target))
        scores.append(SampleScore(score=score, sample_metadata=sample.metadata))
    assert_published(first_error_table(scores, scores), real_rows[subset], texts_of)


@pytest.fixture
def anyio_backend():
    return "asyncio"


def choice(text):
    return ChatCompletionChoice(message=ChatMessageAssistant(content=text), stop_reason="stop")


def test_the_request_is_the_published_one(serve, real_data):
    _, server = serve(processbench(subset="gsm8k"), scripted, limit=3)
    body = server.requests[0].body
    assert [message["role"] for message in body["messages"]] == ["user"]
    assert body["temperature"] == 0.0
    assert body["max_tokens"] == 4096
    assert body["seed"] == 42
    assert "n" not in body
