"""Verdicts as values: the store decides, and text is read only if the store has no verdict."""

import asyncio

import pytest
from inspect_ai.model import ModelName, ModelOutput
from inspect_ai.scorer import Target
from inspect_ai.solver import TaskState

from misstep.scorers import first_error, first_error_lenient
from misstep.solvers import leave_verdict
from misstep.stores import (
    VerdictRecord,
    critic_verdict,
    search_iterations,
    search_result,
    variation_records,
)
from misstep.verdicts import NO_ERROR, Unread


@pytest.fixture
def state():
    metadata = {"steps": ["a", "b", "c"], "has_error": True}
    return TaskState(ModelName("mockllm/model"), "1", 1, "?", [], metadata=metadata, store={})


def scores(state, label=1):
    both = (first_error(), first_error_lenient())
    return [asyncio.run(scorer(state, Target(str(label)))) for scorer in both]


@pytest.mark.parametrize("verdict", [NO_ERROR, 0, 1])
def test_both_readings_take_the_value_and_not_the_text(state, verdict):
    leave_verdict(state, verdict, r"This text says \boxed{2}.")
    assert [score.answer for score in scores(state)] == [str(verdict)] * 2
    assert state.output.completion == r"This text says \boxed{2}."


def test_why_there_is_no_verdict_is_a_value_too(state):
    leave_verdict(state, Unread.NO_REWARD, "No.", rewards=[0.5, None], missing="it `broke`")
    for score in scores(state):
        assert (score.answer, score.reason) == (None, "scoring_failed")
        assert score.metadata == {"unread": "no_reward", "rewards": [0.5, None]}
        assert "Rewards are missing: `it 'broke'`." in score.explanation


def test_a_second_critic_overrides_the_first(state):
    leave_verdict(state, 0, "x", rewards=[0.1], missing="y")
    leave_verdict(state, Unread.EMPTY, "x")
    left = critic_verdict(state.store, state.output)
    assert (left.verdict, left.unread, left.rewards, left.missing) == (None, "empty", None, None)


def test_a_users_solver_leaves_a_box_and_the_scorers_leave_the_store_as_it_is(state):
    state.output = ModelOutput.from_content("m", r"So \boxed{1}")
    assert [score.answer for score in scores(state)] == ["1", "1"]
    assert critic_verdict(state.store, state.output) is None
    assert not list(state.store.keys())


def test_logs_of_earlier_versions_are_read(state):
    state.output = ModelOutput.from_content("m", r"Step 1 scores 0.2: \boxed{1}")
    state.output.metadata = {"rewards": [0.9, 0.2, None]}
    assert [score.answer for score in scores(state)] == ["1", "1"]
    assert scores(state)[0].metadata["rewards"] == [0.9, 0.2, None]
    state.output.metadata = {"unread": "no_reward"}
    assert [score.reason for score in scores(state)] == ["scoring_failed"] * 2


def test_a_verdict_is_read_from_the_store_of_a_log():
    store = {"CriticVerdict:verdict": None, "CriticVerdict:unread": "truncated"}
    left = critic_verdict(store, ModelOutput())
    assert isinstance(left, VerdictRecord)
    assert left.unread == Unread.TRUNCATED


def test_searches_and_variations_of_earlier_logs_are_read():
    candidate = {"path": 0, "step": "a", "reward": None, "missing": "x"}
    candidate |= {"final": False, "count": 1, "chosen": False}
    iteration = {"iteration": 1, "paths": 1, "over": [], "kept": [], "candidates": [candidate]}
    solution = {"text": "a", "answer": None, "rewards": [], "missing": None}
    output = ModelOutput(metadata={"found": {"answer": "4", "steps": ["a"]}})
    assert search_result({}, output).answer == "4"
    for store in ({"search": [iteration]}, {"SearchRecord:iterations": [iteration]}):
        [read] = search_iterations(store)
        assert read.candidates[0].missing == "x"
    assert search_iterations({"search": [solution]}) == []
    reply = {"stop_reason": "stop", "empty": False, "tokens": 3}
    record = {"answer": "1", "last": reply, "reasoning": [], "turn": "plain"}
    for key in ("variations", "RecoveryRecord:variations"):
        assert variation_records({key: {"NR": record}})["NR"].answer == "1"
