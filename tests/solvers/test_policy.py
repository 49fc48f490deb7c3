"""What a candidate is: where it ended, whether it is final, how often it was drawn."""

import pytest
from inspect_ai.model import ChatCompletionChoice, ChatMessageAssistant, ModelName
from inspect_ai.solver import TaskState

from misstep.solvers._search import Policy, distinct_candidates, iteration_table
from misstep.stores import IterationRecord


def choice(text, stop="stop"):
    return ChatCompletionChoice(message=ChatMessageAssistant(content=text), stop_reason=stop)


@pytest.mark.parametrize(
    ("text", "stop", "final"),
    [
        (r"So \boxed{4}.", "stop", True),
        # The server left the stop string in the text: it ended at the blank line.
        ("So \\boxed{4}.\n\n", "stop", False),
        (r"So \boxed{4}.", "max_tokens", False),
        (r"So \boxed{4} or \boxed{5}.", "stop", False),
        (r"So \boxed{4.", "stop", False),
        (r"So \boxed{\frac{1}{2}}", "stop", True),
        ("So 4.", "stop", False),
        # A server without stop sequences wrote on: only the first step counts.
        ("First.\n\nSo \\boxed{4}.", "stop", False),
    ],
)
def test_a_candidate_is_final_if_it_ended_by_itself_with_one_answer(text, stop, final):
    [candidate] = distinct_candidates([choice(text, stop)])
    assert candidate.is_final == final


def test_an_error_in_place_of_a_text_is_no_candidate():
    # Providers give the refusal of a prompt that is too long as the text.
    [candidate] = distinct_candidates(
        [choice("The maximum context length is 8192.", "model_length")]
    )
    assert (candidate.text, candidate.is_final, candidate.ended) == ("", False, False)


def test_equal_candidates_are_one():
    drawn = distinct_candidates([choice(t) for t in ("a", " a\n", "b", "", "a\n\n", "  ")])
    assert [(one.text, one.count, one.ended) for one in drawn] == [
        ("a", 3, False),
        ("b", 1, True),
        ("", 2, True),
    ]


@pytest.mark.parametrize(
    ("provider", "continuation", "prefilled"),
    [
        ("vllm/x", "auto", True),
        ("openai/x", "auto", False),
        ("openai/x", "prefill", True),
        ("vllm/x", "prompt", False),
    ],
)
def test_the_steps_so_far_are_continued_or_quoted(provider, continuation, prefilled):
    state = TaskState(ModelName(provider), "1", 1, "How {steps}?", [])
    messages = Policy(state, None, continuation, set())._messages(["One.", "Two."])
    if prefilled:
        assert [message.role for message in messages] == ["system", "user", "assistant"]
        assert messages[-1].content == "One.\n\nTwo.\n\n"
    else:
        assert [message.role for message in messages] == ["system", "user"]
        assert "How {steps}?" in messages[-1].content
        assert "One.\n\nTwo." in messages[-1].content


def test_an_iteration_is_a_table_that_text_cannot_break():
    record = {"path": 0, "final": False, "count": 2, "chosen": True, "missing": None}
    candidates = [
        record | {"step": "a | b\n`c`", "reward": 0.25},
        record | {"step": "d", "reward": None, "missing": "no | luck", "chosen": False},
    ]
    iteration = {"iteration": 1, "paths": 1, "over": [], "kept": [0], "candidates": candidates}
    lines = iteration_table(IterationRecord.model_validate(iteration)).splitlines()
    assert lines[2] == "| **→** | 0.2500 | `a ¦ b 'c'` *(drawn 2 times)* |"
    assert lines[3] == "|  | missing | `d` *(drawn 2 times; no ¦ luck)* |"
