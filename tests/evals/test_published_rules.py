"""Our numbers against the published rules, written again, on the same replies and real rows."""

import re
from collections import Counter
from zlib import crc32

import pytest

from misstep.evals.processbench import processbench
from tests.evals.conftest import figures
from tests.solvers.test_prompts import published_prompt

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


def published_prediction(texts):
    """Last boxes as strings, those without one dropped, the most common, int()."""
    boxes = [re.findall(r"\\boxed\{([^}]*)\}", text) for text in texts]
    boxes = [found[-1].strip() for found in boxes if found]
    if not boxes:
        return None
    try:
        return int(Counter(boxes).most_common(1)[0][0])
    except ValueError:
        return None


def published_metrics(matches):
    """The published figures from (label, match) pairs."""
    error = [match for label, match in matches if label != -1]
    correct = [match for label, match in matches if label == -1]
    acc1, acc2 = sum(error) / len(error), sum(correct) / len(correct)
    return acc1, acc2, 2 * acc1 * acc2 / (acc1 + acc2)


@pytest.mark.parametrize("votes", [1, 8])
@pytest.mark.parametrize("subset", ["gsm8k", "math"])
def test_figures_on_real_rows_are_those_of_the_published_rules(serve, real_rows, subset, votes):
    log, server = serve(processbench(subset=subset, votes=votes), scripted)
    assert log.status == "success"
    said = replies_by_prompt(server)
    matches = []
    for row in real_rows[subset]:
        texts = said[published_prompt(row.problem, row.steps)]
        assert len(texts) == votes
        matches.append((row.label, published_prediction(texts) == row.label))
    acc1, acc2, f1 = published_metrics(matches)
    got = figures(log)
    assert got["error_accuracy"] == pytest.approx(acc1, abs=1e-12)
    assert got["correct_accuracy"] == pytest.approx(acc2, abs=1e-12)
    assert got["f1_score"] == pytest.approx(f1, abs=1e-12)
    assert got["total_count"] == len(real_rows[subset])
    assert got["f1_score_lower"] < f1 < got["f1_score_upper"]


def test_the_request_is_the_published_one(serve, real_data):
    _, server = serve(processbench(subset="gsm8k"), scripted, limit=3)
    body = server.requests[0].body
    assert [message["role"] for message in body["messages"]] == ["user"]
    assert body["temperature"] == 0.0
    assert body["max_tokens"] == 4096
    assert body["seed"] == 42
    assert "n" not in body
