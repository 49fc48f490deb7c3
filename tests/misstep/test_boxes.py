import re
import tracemalloc

import pytest

from misstep.boxes import boxed_words, boxes, last_boxed, last_published_box, without_last_box


def test_braces_inside_a_box_are_kept():
    assert last_boxed(r"so \boxed{\frac{1}{2}} it is") == r"\frac{1}{2}"


def test_the_last_closed_box_counts():
    assert last_boxed(r"\boxed{1} then \boxed{2} then \boxed{3") == "2"


def test_no_box_is_none():
    assert last_boxed("the answer is 7") is None


def test_escaped_braces_do_not_close_a_box():
    assert [*boxes(r"\boxed{\{1, 2\}}")] == [r"\{1, 2\}"]


def test_nested_boxes_are_both_given():
    assert [*boxes(r"\boxed{a \boxed{b}}")] == [r"a \boxed{b}", "b"]


def test_a_megabyte_of_open_boxes_is_read_at_once():
    assert [*boxes(r"\boxed{" * 150_000)] == []


def test_deeply_nested_boxes_are_not_copied():
    depth = 20_000
    text = r"\boxed{" * depth + "7" + "}" * depth
    tracemalloc.start()
    assert last_boxed(text) == "7"
    assert list(boxes(text, longest=1)) == ["7"]
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 100 * len(text)


def test_the_published_box_is_the_last_match_of_the_published_pattern():
    for text in (r"\boxed{1} \boxed{2", r"\boxed{\boxed{1}} x}", r"\boxed{}", r"\boxed {3}", "4"):
        published = re.findall(r"\\boxed\{([^}]*)\}", text)
        assert last_published_box(text) == (published[-1].strip() if published else None)


def test_words_in_boxes_and_brackets_come_in_order():
    text = r"[Right] then \boxed{ \text{wrong.} } then \boxed{two words} and \boxed{-1}"
    assert [*boxed_words(text)] == ["wrong.", "-1"]
    assert [*boxed_words(text, bracketed=("right", "wrong"))] == ["Right", "wrong.", "-1"]


@pytest.mark.parametrize(
    ("reply", "words"),
    [
        ("It is wrong. \\boxed{1}", "It is wrong."),
        ("It is wrong.\n\n$\\boxed{0}$", "It is wrong."),
        ("The first wrong step is \\boxed{1}.", "The first wrong step is 1."),
        ("So $\\boxed{3}$ is off: \\boxed{2} and more", "So $\\boxed{3}$ is off: 2 and more"),
        ("\\boxed{-1}", ""),
        ("no box, \\boxed{1", "no box, \\boxed{1"),
    ],
)
def test_a_reply_for_people_has_no_box_at_its_end(reply, words):
    assert without_last_box(reply) == words
