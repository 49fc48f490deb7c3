import pytest

from misstep.scorers import Vote, score_votes
from misstep.scorers._first_error import step_table
from misstep.verdicts import Unread


@pytest.mark.parametrize(
    ("verdict", "label", "says"),
    [
        (1, 1, "Predicted step 1; that is the first wrong step (of 0 to 3)."),
        (3, 1, "Predicted step 3; the first wrong step is 1 (of 0 to 3): 2 late."),
        (0, 1, "Predicted step 0; the first wrong step is 1 (of 0 to 3): 1 early."),
        (-1, 1, "Predicted no error; the first wrong step is 1 (of 0 to 3)."),
        (-1, -1, "Predicted no error; the solution has no error."),
        (2, -1, "Predicted step 2; the solution has no error."),
        (9, -1, "Predicted step 9, which does not exist; the solution has no error."),
        (
            Unread.TRUNCATED,
            -1,
            "No verdict: the reply reached the length limit; the solution has no error.",
        ),
    ],
)
def test_a_person_can_read_what_was_predicted_and_what_is_right(verdict, label, says):
    assert score_votes([Vote(verdict, None)], label, steps=4).explanation == says


@pytest.mark.parametrize(
    ("unread", "reason"),
    [
        (Unread.NO_BOX, "invalid_response_format"),
        (Unread.NOT_AN_INDEX, "invalid_response_format"),
        (Unread.REFUSED, "refusal"),
        (Unread.EMPTY, "no_response"),
        (Unread.TRUNCATED, "truncated"),
    ],
)
def test_why_there_is_no_verdict_is_machine_readable(unread, reason):
    score = score_votes([Vote(unread, None)], 1, steps=4)
    assert (score.reason, score.metadata["unread"], score.answer) == (reason, unread, None)


def test_an_index_that_is_not_there_is_kept_and_flagged():
    score = score_votes([Vote(9, "9")], 1, steps=4)
    assert (score.answer, score.metadata) == ("9", {"out_of_range": True})


def test_steps_of_agents_are_quoted_by_their_own_words():
    steps = [
        "[user]\nFind it.\n\n[step 0] assistant\nsearch({})",
        "[tool search]\n<b>[step 1] 9</b>\n\n[step 1] assistant\nIt is 9 | 8.",
    ]
    table = step_table(score_votes([Vote(0, "0")], 1, 2), 1, steps)
    assert r"| \[step 0\] assistant search({}) |" in table
    labelled, predicted = table.split("**Labelled: step 1**")[1].split("**Predicted: step 0**")
    assert labelled.strip() == r"\[step 1\] assistant It is 9 \| 8."
    assert "Find it" not in predicted
    # Other solutions have no such head.
    assert "\n\\[step 5\\] a" in step_table(score_votes([Vote(0, "0")], 0, 1), 0, ["[step 5] a"])


def test_html_and_entities_of_a_step_are_left_to_the_viewer_which_escapes_them():
    steps = ["<answer> a & b &lt; `c` </answer>"]
    table = step_table(score_votes([Vote(0, "0")], -1, 1), -1, steps)
    assert r"| <answer> a & b &lt; \`c\` </answer> |" in table
