import asyncio
from math import isnan, sqrt
from random import Random

import pytest
from inspect_ai.model import ModelName
from inspect_ai.scorer import SampleScore, Score, Target
from inspect_ai.solver import TaskState
from statsmodels.stats.proportion import proportion_confint

from misstep.registry import MisstepError
from misstep.scorers import rates_by, recovery, recovery_samples, recovery_table
from misstep.scorers._recovery import score_variations
from misstep.stores import ReplyRecord, VariationRecord

TASKS = ("word_sorting", "dyck_languages", "sorting")


def scored(number, values, metadata=None, **facts):
    facts = {"task": "word_sorting", "mistake_index": 1, "n_steps": 5} | facts
    return SampleScore(
        score=Score(value=dict(zip(("NR", "CR", "IR"), values, strict=True)), metadata=metadata),
        sample_id=number,
        sample_metadata=facts,
    )


@pytest.fixture(scope="module")
def some():
    random = Random(1)
    return [
        scored(
            number,
            [int(random.random() < chance) for chance in (0.4, 0.8, 0.3)],
            task=random.choice(TASKS),
            n_steps=(steps := random.randint(4, 40)),
            mistake_index=random.randrange(steps - 1),
        )
        for number in range(120)
    ]


@pytest.fixture(scope="module")
def found(some):
    return recovery_table([], some)


def rate(scores, name):
    return sum(s.score.value[name] for s in scores) / len(scores)


def test_rates_and_their_intervals(some, found):
    for name in ("NR", "CR", "IR"):
        hits = sum(s.score.value[name] for s in some)
        figure = f"{name}_correct_rate"
        assert found[figure] == pytest.approx(hits / 120)
        ends = proportion_confint(hits, 120, method="wilson")
        assert (found[f"{figure}_lower"], found[f"{figure}_upper"]) == pytest.approx(ends)


def test_figures_by_task_position_and_steps(some, found):
    def place(s):
        share = s.sample_metadata["mistake_index"] / (s.sample_metadata["n_steps"] - 1)
        return "early" if share < 1 / 3 else "middle" if share <= 2 / 3 else "late"

    def length(s):
        steps = s.sample_metadata["n_steps"]
        bounds = {"1-6": (1, 6), "7-12": (7, 12), "13-24": (13, 24), "25-up": (25, 10**9)}
        return next(name for name, (a, b) in bounds.items() if a <= steps <= b)

    def task(s):
        return s.sample_metadata["task"].replace("_", "-")

    for kind, key in (("task", task), ("position", place), ("steps", length)):
        for part in {key(s) for s in some}:
            members = [s for s in some if key(s) == part]
            for name in ("NR", "CR", "IR"):
                figure = found[f"{kind}_{part}_{name}_correct_rate"]
                assert figure == pytest.approx(rate(members, name))
    parts = [name for name in found if name.startswith(("task_", "position_", "steps_"))]
    assert len(parts) == 3 * (3 + 3 + 4)


def test_paired_differences_and_recovery(some, found):
    assert found["CR_minus_NR"] == pytest.approx(rate(some, "CR") - rate(some, "NR"))
    assert found["CR_minus_IR"] == pytest.approx(rate(some, "CR") - rate(some, "IR"))
    known = [s.score.value["IR"] for s in some if s.score.value["CR"]]
    assert found["recovery_rate"] == pytest.approx(sum(known) / len(known))
    ends = proportion_confint(sum(known), len(known), method="wilson")
    assert (found["recovery_rate_lower"], found["recovery_rate_upper"]) == pytest.approx(ends)
    ir = rate(some, "IR")
    assert found["stderr"] == pytest.approx(sqrt(ir * (1 - ir) / 120), rel=0.02)


def test_few_samples_and_none_have_figures():
    empty = recovery_table([], [])
    assert all(isnan(empty[name]) for name in ("NR_correct_rate", "CR_minus_IR", "recovery_rate"))
    assert empty["total_count"] == 0
    one = recovery_table([], [scored(1, (0, 0, 1))])
    assert (one["IR_correct_rate"], one["CR_minus_IR"]) == (1, -1)
    assert isnan(one["recovery_rate"])


def test_epochs_of_a_sample_are_one_sample():
    epochs = [
        scored(1, (0, 1, 1)),
        scored(1, (1, 1, 0)),
        scored(2, (0, 0, 1)),
        scored(2, (0, 0, 1)),
    ]
    found = recovery_table([], epochs)
    assert (found["NR_correct_rate"], found["CR_correct_rate"]) == (0.25, 0.5)
    assert found["recovery_rate"] == 0.5
    # Of one sample, not of two.
    assert found["recovery_rate_upper"] == pytest.approx(
        proportion_confint(0.5, 1, method="wilson")[1]
    )
    assert found["total_count"] == 2
    assert list(rates_by(recovery_samples(epochs), "task")) == ["word_sorting"]


def record(answer, stop="stop", reasoning="stop", turn="new_turn"):
    return VariationRecord(
        answer=answer,
        last=ReplyRecord(stop_reason=stop, empty=not answer.strip(), tokens=5),
        reasoning=[ReplyRecord(stop_reason=reasoning, empty=False, tokens=7)],
        turn=turn,
    )


def test_a_score_tells_of_each_variation():
    records = {
        "NR": record("13", turn="plain"),
        "CR": record("13."),
        "IR": record("", "max_tokens"),
    }
    strict = score_variations(records, "13", "number", "strict")
    assert strict.value == {"NR": 1, "CR": 0, "IR": 0}
    assert score_variations(records, "13", "number", "lenient").value["CR"] == 1
    assert strict.metadata["IR"]["unread"] == "truncated"
    assert strict.metadata["CR"]["tokens"] == 12
    assert strict.reason == "truncated"
    assert "| IR |" in strict.explanation
    assert strict.answer == "NR 13 · CR 13. · IR "


def test_an_answer_cannot_break_out_of_its_cell():
    records = dict.fromkeys(("NR", "CR", "IR"), record("a`|b\n| x |"))
    [line] = [
        line
        for line in score_variations(records, "1", "number", "strict").explanation.split("\n")
        if line.startswith("| NR")
    ]
    assert line.replace("\\|", "").count("|") == 5


def test_what_another_solver_left_is_refused():
    metadata = {"task": "word_sorting", "correct_steps": [], "incorrect_step": "x"}
    state = TaskState(ModelName("mockllm/model"), "1", 1, "?", [], metadata=metadata)
    with pytest.raises(MisstepError, match="no answer to the variation IR"):
        asyncio.run(recovery()(state, Target("1")))
