"""Whatever a model or a file says, readers give a value or a named problem."""

import json
import string
from datetime import date

from hypothesis import HealthCheck, given, settings, strategies as st

from misstep.boxes import boxes, last_boxed
from misstep.forge import Failure, split_solution
from misstep.forge._calls import InjectionReply, read_reply
from misstep.loaders import check_rows
from misstep.loaders._files import parse_rows
from misstep.registry import DataError, MisstepError, RegistryError, task_arguments
from misstep.registry._user_input import read_yaml
from misstep.runs import read_sweep
from misstep.scorers import Flagged, read_sections, read_structured, read_verdict
from misstep.scorers._final_answer import compare_plainly
from misstep.verdicts import Unread

PIECES = [
    "\\boxed{",
    "\\boxed {",
    "\\text{",
    "{",
    "}",
    "\\{",
    "\\}",
    "-1",
    "3",
    "٣",
    "1e9",
    "9" * 30,
    "<paragraph_3>",
    "paragraph_",
    "Error Section Number:",
    "1. Conclusion: Yes",
    "Conclusion: No",
    "Right",
    "Wrong",
    "$",
    "\\frac{1}{2}",
    "\n",
    " ",
    "\x00",
    "\u202e",
    "\ud83d",
    "e\u0301",
]
texts = st.one_of(
    st.text(max_size=200), st.lists(st.sampled_from(PIECES), max_size=30).map("".join)
)
quick = settings(
    max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


@quick
@given(texts, st.sampled_from(["strict", "lenient"]))
def test_a_verdict_is_an_index_or_the_reason_of_none(text, reading):
    verdict = read_verdict(text, reading)
    assert isinstance(verdict, int | Unread)
    if isinstance(verdict, Unread):
        assert verdict in Unread


@quick
@given(texts)
def test_lenient_reads_whatever_strict_reads(text):
    if isinstance(read_verdict(text, "strict"), int):
        assert isinstance(read_verdict(text, "lenient"), int)


@quick
@given(texts, st.sampled_from(["strict", "published"]))
def test_sections_are_whole_numbers_or_the_reason_of_none(text, reading):
    flagged = read_sections(text, reading)
    assert isinstance(flagged, Flagged | Unread)
    if isinstance(flagged, Flagged):
        assert all(isinstance(section, int) for section in flagged.sections)
        assert len(set(flagged.sections)) == len(flagged.sections)


@quick
@given(texts)
def test_a_structured_reply_is_read_or_refused(text):
    assert isinstance(read_structured(text), Flagged | Unread)


@quick
@given(texts)
def test_boxes_are_parts_of_the_text(text):
    for box in boxes(text):
        assert box in text
    assert last_boxed(text) == ([*boxes(text)] or [None])[-1]


@quick
@given(texts, texts)
def test_answers_are_compared_plainly_the_same_both_ways(one, other):
    if not one.strip() or not other.strip():
        return
    here, there = compare_plainly(one, other), compare_plainly(other, one)
    assert (here is None) == (there is None)
    if here is not None:
        assert here.outcome == there.outcome


@quick
@given(texts)
def test_steps_join_to_the_text_they_were_cut_from(text):
    assert "".join(split_solution(text).steps) == text


replies = st.dictionaries(
    st.sampled_from([*InjectionReply.model_fields, "other"]),
    st.none() | st.integers() | st.text(max_size=9) | st.lists(st.text(max_size=9), max_size=3),
).map(json.dumps)


@quick
@given(texts | replies | st.just('{"error_step": ' + "9" * 5_000 + "}"))
def test_an_injected_reply_is_whole_or_refused_by_name(text):
    reply = read_reply(text, InjectionReply)
    if isinstance(reply, Failure):
        assert reply.reason in {"not_json", "missing_field", "malformed_field"}
    else:
        assert reply.rewritten_steps
        assert reply.final_answer


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4)
    ),
    max_leaves=12,
)
row_like = st.fixed_dictionaries(
    {},
    optional={
        "id": json_values,
        "problem": json_values,
        "steps": json_values,
        "label": json_values,
        "sections": json_values,
        "question": json_values,
        "reason_error_section_numbers": json_values,
    },
)


@quick
@given(st.lists(json_values | row_like, max_size=5))
def test_every_row_is_either_good_or_named_bad(contents):
    good, bad = check_rows(enumerate(contents, 1))
    named = {problem.number for problem in bad}
    assert len(good) + len(named) >= len(contents)


@quick
@given(st.binary(max_size=300), st.sampled_from([".json", ".jsonl", ".csv", ".parquet", ".x"]))
def test_a_file_of_any_bytes_is_read_or_refused(content, ending):
    try:
        check_rows(parse_rows(content, f"own{ending}"))
    except DataError as refusal:
        assert "own" in str(refusal)


@quick
@given(st.lists(row_like, max_size=3), st.text(string.printable, max_size=30))
def test_json_lines_with_a_broken_line_are_refused_by_its_number(rows, broken):
    lines = [json.dumps(row) for row in rows] + [broken]
    try:
        check_rows(parse_rows("\n".join(lines).encode(), "own.jsonl"))
    except DataError as refusal:
        assert "own.jsonl" in str(refusal)


yaml_texts = st.one_of(
    st.text(max_size=100),
    st.lists(
        st.sampled_from(
            [
                "a: b\n",
                "- ",
                "[",
                "]",
                "{",
                "}",
                ": ",
                "&x ",
                "*x",
                "!!python/name:os.system ",
                "\t",
                "? ",
                "2001-13-32",
                "0x_",
                "!!int x",
                "!!bool 3",
                "!!timestamp 1",
                "9" * 5_000,
            ]
        ),
        max_size=15,
    ).map("".join),
)


def _plain(value):
    if isinstance(value, dict):
        return all(_plain(part) for item in value.items() for part in item)
    if isinstance(value, list | tuple):
        return all(map(_plain, value))
    return value is None or isinstance(value, str | int | float | date | bytes)


@quick
@given(yaml_texts)
def test_yaml_is_read_or_refused_and_runs_nothing(tmp_path, text):
    path = tmp_path / "facts.yaml"
    path.write_bytes(text.encode("utf-8", "surrogatepass"))
    try:
        content = read_yaml(path)
    except RegistryError as refusal:
        assert "facts.yaml" in str(refusal)
    else:
        assert _plain(content)
    try:
        assert _plain(task_arguments([f"name={text}"])["name"])
    except MisstepError as refusal:
        assert "not valid YAML" in str(refusal)
    try:
        read_sweep(str(path))
    except MisstepError as refusal:
        assert "facts.yaml" in str(refusal)
