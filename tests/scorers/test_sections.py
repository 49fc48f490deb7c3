"""Reading and scoring erroneous sections: each published behaviour beside ours."""

import asyncio
import re

import pytest
from inspect_ai.dataset import Sample
from inspect_ai.model import ModelName, ModelOutput
from inspect_ai.scorer import Target
from inspect_ai.solver import TaskState

from misstep.scorers import (
    Flagged,
    error_sections,
    error_sections_published,
    read_sections,
    read_structured,
)
from misstep.verdicts import Unread

SCORERS = {"strict": error_sections, "published": error_sections_published}


def errors(*numbers, conclusion="Conclusion: yes"):
    parts = [f"Error Section Number: {number}\nExplanation: so it is 99." for number in numbers]
    return "\n".join([conclusion, *parts])


def score(text, gold, reading, sections=10, stop="stop", structured=False, **metadata):
    output = ModelOutput.from_content("m", text, stop_reason=stop)
    sample = Sample(input="?", metadata={"steps": ["x"] * sections, "gold_sections": gold})
    state = TaskState(
        ModelName("mockllm/model"), "s", 1, "?", [], metadata=(sample.metadata | metadata)
    )
    state.output = output
    return asyncio.run(SCORERS[reading](structured)(state, Target("")))


def prf(scored):
    return tuple(scored.value[name] for name in ("precision", "recall", "f1"))


# The reply, the erroneous sections, and (precision, recall) by each reading.
TABLE = {
    "beyond the last erroneous section": (errors(*range(4, 11)), [4], (1 / 7, 1.0), (1.0, 1.0)),
    "beyond the last section": (errors(4, 11, 99), [4], (1.0, 1.0), (1.0, 1.0)),
    "yes inside a word": (errors(4, conclusion="Conclusion: yesterday"), [4], (0, 0), (1, 1)),
    "yes inside a word, no marker": ("Conclusion: yesterday it was fine", [4], (0, 0), (0, 0)),
    "two numbers after a marker": (errors("4, 5"), [4, 5], (1.0, 1.0), (1.0, 0.5)),
    "a marker without a number": (errors(4, "unclear"), [4], (1.0, 1.0), (0.5, 1.0)),
    "hits, false alarms and misses": (errors(2, 4, 5), [4, 5, 9], (2 / 3, 2 / 3), (2 / 3, 2 / 3)),
    "no error, though there is one": ("Conclusion: no error", [4], (0.0, 0.0), (0.0, 0.0)),
    "numbers named twice": (errors(4, 4), [4], (1.0, 1.0), (1.0, 1.0)),
}


@pytest.mark.parametrize("case", TABLE)
@pytest.mark.parametrize("reading", ["strict", "published"])
def test_the_table_of_published_behaviours(case, reading):
    text, gold, strict, published = TABLE[case]
    precision, recall = strict if reading == "strict" else published
    f1 = 2 * precision * recall / (precision + recall) if precision + recall else 0
    assert prf(score(text, gold, reading)) == pytest.approx((precision, recall, f1))


def test_without_a_gold_section_nothing_flagged_is_right_and_anything_is_wrong():
    assert prf(score("Conclusion: no", [], "strict")) == (1.0, 1.0, 1.0)
    wrong = score(errors(3), [], "strict")
    assert (prf(wrong), wrong.value["false_alarms"]) == ((0.0, 0.0, 0.0), 1)
    for text in ("Conclusion: no", errors(3)):
        left_out = score(text, [], "published")
        assert left_out.metadata["left_out"] == "no erroneous section"


@pytest.mark.parametrize(
    ("text", "stop", "unread", "published"),
    [
        ("", "stop", "empty", "left_out"),
        ("too long", "model_length", "truncated", "left_out"),
        (errors(4), "max_tokens", "truncated", "read"),
        ("I am sorry.", "content_filter", "refused", "read"),
        ("Who knows.", "stop", "no_conclusion", "read"),
        ("Conclusion: yes", "stop", "no_section", "read"),
    ],
)
def test_what_is_no_reply_counts_as_zero_and_says_why(text, stop, unread, published):
    strict = score(text, [4], "strict", stop=stop)
    assert strict.metadata["unread"] == unread
    assert (prf(strict), strict.value["missed"], strict.answer) == ((0.0, 0.0, 0.0), 1, None)
    assert prf(score(text, [], "strict", stop=stop)) == (0.0, 0.0, 0.0)
    theirs = score(text, [4], "published", stop=stop)
    assert ("left_out" in theirs.metadata) == (published == "left_out")


def test_flags_tell_what_was_not_counted():
    scored = score(errors(4, 0, 12, "none"), [4], "strict")
    assert scored.metadata == {"not_there": [0, 12], "empty_markers": 1}
    assert prf(scored) == (1.0, 1.0, 1.0)
    assert scored.explanation == "Flagged 4; erroneous: 4 (1 hit, 0 false, 0 missed)."


def test_annotations_beyond_the_sections_count_for_the_published_reading_alone():
    more = {"gold_sections_published": [4, 40]}
    assert prf(score(errors(4), [4], "strict", **more)) == (1.0, 1.0, 1.0)
    assert prf(score(errors(4), [4], "published", **more))[1] == 0.5


@pytest.mark.parametrize(
    ("text", "sections"),
    [
        ("**Conclusion:** Yes\n**Error Section Number:** 4\n**Explanation:** 5 is not 6", (4,)),
        ("conclusion: yes\nerror section number: [4]\nerror section number: Section 7", (4, 7)),
        ("Conclusion: yes\nError Section Numbers: 4, 5 and 7", (4, 5, 7)),
        ("Conclusion: yes\nError Section Number: 4-6", (4, 5, 6)),
        ("Conclusion: yes\nError Section Number: 4 to 6, 9", (4, 5, 6, 9)),
        ("Conclusion: yes\nError Section Number:\n4\nExplanation: 1, 2", (4,)),
        ("Error Section Number: 4", (4,)),
        ("Yes.\nError Section Number: 4", (4,)),
        ("Conclusion: maybe no... Conclusion: yes\nError Section Number: 4", (4,)),
        ("Conclusion: no\nError Section Number: 4", ()),
        ("Conclusion: there are no errors", ()),
        ("No error.", ()),
        ("Conclusion: yes\nError Section Number: -1", Unread.NO_SECTION),
        ("Conclusion: yes\nError Section Number: none, section 4 is fine", Unread.NO_SECTION),
        ("There is no way to say yes.", Unread.NO_CONCLUSION),
        ("Conclusion: yes\nError Section Number: " + "9" * 5000, (10**18,)),
    ],
)
def test_the_strict_reading(text, sections):
    read = read_sections(text, "strict")
    assert (read if isinstance(read, Unread) else read.sections) == sections


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ('{"has_error": true, "errors": [{"section": 4, "explanation": "x"}]}', Flagged((4,))),
        ('```json\n{"has_error": false, "errors": []}\n```', Flagged(())),
        ('{"has_error": true, "errors": []}', Unread.NO_SECTION),
        ('{"has_error": "4"}', Unread.NOT_STRUCTURED),
        ("Conclusion: no", Unread.NOT_STRUCTURED),
    ],
)
def test_structured_replies_are_read_into_the_same_type(text, read):
    assert read_structured(text) == read
    if isinstance(read, Flagged):
        words = errors(*read.sections) if read.sections else "Conclusion: no"
        for reading in SCORERS:
            there = prf(score(text, [4], reading, structured=True))
            assert there == prf(score(words, [4], reading))
    else:
        assert (score(text, [4], "strict", structured=True)).metadata["unread"] == read


def published_sections(critic):
    """The published parser, written again."""
    result = critic.split("Error Section Number:")[0].split("Conclusion:")[-1].strip()
    found = []
    if "yes" in result.lower():
        for part in critic.split("Error Section Number:")[1:]:
            match = re.search(r"\d+", part.split("Explanation:")[0].strip())
            found.append(int(match.group()) if match else -1)
    return set(found)


@pytest.mark.parametrize("case", TABLE)
def test_the_published_reading_is_the_published_parser(case):
    text = TABLE[case][0]
    assert set(read_sections(text, "published").sections) == published_sections(text)


def test_a_long_reply_of_markers_is_read_in_no_time():
    text = "Conclusion: yes " + "Error Section Number: 4, " * 40_000 + "error section number" * 9999
    assert read_sections(text, "strict").sections == (4,)
    assert read_sections("Conclusion: " * 50_000, "strict") is Unread.NO_CONCLUSION
