"""All erroneous sections, against a real server and by baselines."""

import json
from random import Random
from zlib import crc32

import pytest

from misstep.evals.deltabench_sections import deltabench_sections
from misstep.registry import MisstepError, UnknownNameError
from tests.scorers.test_sections import published_sections
from tests.support.openai_server import Fault, Faults
from tests.support.rows import delta_row
from tests.support.runs import succeed, table_of

TEXTS = tuple(f"Text {i}." for i in range(1, 7))
GOLD = {"s-0": ([2], [4]), "s-1": ([5, 3], []), "s-2": ([1], [])}


@pytest.fixture
def rows(tmp_path):
    path = tmp_path / "rows.jsonl"
    contents = [
        delta_row(id, TEXTS, errors, unuseful, question=f"Question {id}?", task_l1=kind)
        for (id, (errors, unuseful)), kind in zip(
            GOLD.items(), ["math", "code", "math"], strict=True
        )
    ]
    path.write_text("\n".join(map(json.dumps, contents)), encoding="utf-8")
    return str(path)


def reply(request, choice):
    if "Question s-0?" in request.text:
        return "Conclusion: yes\nError Section Number: 2\nExplanation: x\nError Section Number: 6"
    return "Conclusion: no" if "Question s-1?" in request.text else "Hm."


def test_one_critique_at_the_published_settings(serve, rows):
    log, server = serve(deltabench_sections(source=rows), reply)
    assert log.status == "success"
    assert len(server.requests) == 3
    body = server.requests[0].body
    assert (body["temperature"], body["top_p"], "n" in body) == (1.0, 0.8, False)
    assert [message["role"] for message in body["messages"]] == ["user"]
    assert "section6:\nText 6." in body["messages"][0]["content"]
    assert "Error Section Number: <the number" in body["messages"][0]["content"]
    strict = table_of(log, "error_sections")
    # s-0 flags 2 and 6 where 2 and 4 are wrong; the published rule drops 6, which comes after 4.
    assert strict["f1_macro"] == pytest.approx(0.5 / 3)
    assert strict["math_f1_macro"] == pytest.approx(0.25)
    assert (strict["precision_micro"], strict["recall_micro"]) == (0.5, 0.2)
    assert (strict["unparsed"], strict["truncated"]) == (pytest.approx(1 / 3), 0.0)
    published = table_of(log, "error_sections_published")
    assert published["f1_macro"] == pytest.approx(2 / 3 / 3)
    assert (published["precision_micro"], published["unparsed"]) == (1.0, 0.0)
    assert log.results.headline.metric == "f1_macro"
    assert {s.id: s.target for s in log.samples} == {"s-0": "2, 4", "s-1": "3, 5", "s-2": "1"}


def scripted(request, choice):
    """A critic that flags some sections or none, and now and then is odd or silent."""
    draw = Random(crc32(request.text.encode()))
    odd = ["", "Who knows.", "Conclusion: yesterday\nError Section Number: 2", "Conclusion: no"]
    if draw.random() < 0.3:
        return draw.choice(odd)
    numbers = [draw.choice([*range(1, 9), "3, 4", "none"]) for _ in range(draw.randrange(1, 5))]
    return "Conclusion: yes\n" + "\n".join(
        f"Error Section Number: {number}\nExplanation: 7" for number in numbers
    )


def published_run(contents, said):
    """The published script's figures, written again: what it cannot score has none."""
    rows = []
    for content in contents:
        critic = said[content["question"]]
        gold = {
            *content["reason_error_section_numbers"],
            *content["reason_unuseful_section_numbers"],
        }
        if not critic or not gold:
            continue
        flagged = {x for x in published_sections(critic) if x <= max(gold)}
        tp, fp, fn = len(flagged & gold), len(flagged - gold), len(gold - flagged)
        p, r = (tp / n if n else 0 for n in (tp + fp, tp + fn))
        rows.append((p, r, 2 * p * r / (p + r) if p + r else 0, tp, fp, fn))
    p, r, f1, tp, fp, fn = (sum(column) for column in zip(*rows, strict=True))
    mp, mr = tp / (tp + fp), tp / (tp + fn)
    macro = (p / len(rows), r / len(rows), f1 / len(rows))
    return (*macro, mp, mr, 2 * mp * mr / (mp + mr)), len(rows)


def test_published_figures_are_those_of_the_published_script(serve, tmp_path):
    draw = Random(5)
    contents = [
        delta_row(
            f"s-{i}",
            TEXTS,
            draw.sample(range(1, 7), draw.randrange(4)),
            draw.sample(range(1, 7), draw.randrange(2)),
            question=f"Question {i}?",
        )
        for i in range(60)
    ]
    path = tmp_path / "rows.jsonl"
    path.write_text("\n".join(map(json.dumps, contents)), encoding="utf-8")
    log, server = serve(deltabench_sections(source=str(path)), scripted)
    said = {}
    for request in server.requests:
        question = request.text.split("[Problem]\n\n")[1].split("\n")[0]
        said[question] = scripted(request, 0)
    expected, counted = published_run(contents, said)
    got = table_of(log, "error_sections_published")
    names = [f"{x}_{kind}" for kind in ("macro", "micro") for x in ("precision", "recall", "f1")]
    assert [got[name] for name in names] == pytest.approx(list(expected), abs=1e-12)
    assert 0 < counted < 60
    assert got["left_out"] == pytest.approx(1 - counted / 60)
    assert table_of(log, "error_sections")["left_out"] == 0.0


def test_a_structured_reply_is_asked_for_by_schema_and_read(serve, rows):
    answer = {"has_error": True, "errors": [{"section": 1, "explanation": "x"}]}
    log, server = serve(
        deltabench_sections(source=rows, structured=True), lambda *_: json.dumps(answer)
    )
    schema = server.requests[0].body["response_format"]["json_schema"]
    assert set(schema["schema"]["properties"]) == {"has_error", "errors"}
    assert "JSON object" in server.requests[0].text
    assert "Conclusion:" not in server.requests[0].text
    answers = {sample.id: sample.scores["error_sections"].answer for sample in log.samples}
    assert answers == {"s-0": "1", "s-1": "1", "s-2": "1"}
    assert table_of(log, "error_sections")["recall_macro"] == pytest.approx(1 / 3)


def test_a_prompt_that_is_too_long_counts_as_truncated(serve, rows):
    faults = Faults(script=[Fault.CONTEXT_LENGTH] * 3)
    log, _ = serve(deltabench_sections(source=rows), reply, faults=faults)
    got = table_of(log, "error_sections")
    assert (got["truncated"], got["unparsed"], got["f1_macro"]) == (1.0, 0.0, 0.0)
    published = table_of(log, "error_sections_published")
    assert (published["truncated"], published["left_out"]) == (1.0, 1.0)


def test_a_failed_call_is_an_error_and_no_reply(serve, rows):
    def broken(request, choice):
        raise RuntimeError("no")

    log, _ = serve(deltabench_sections(source=rows), broken, fail_on_error=False)
    assert all(sample.error is not None and not sample.scores for sample in log.samples)


# What each baseline flags of six sections.
BASELINES = {
    ("no_error",): set(),
    ("all_sections",): {1, 2, 3, 4, 5, 6},
    ("section_range",): {3, 4, 5, 6},
    ("section_range", 2, 3): {2, 3},
}


@pytest.mark.parametrize("baseline", BASELINES)
def test_baselines_by_both_rules(tmp_path, rows, baseline):
    critic, *bounds = baseline
    options = dict(zip(("first", "last"), bounds, strict=False))
    log = succeed(deltabench_sections(source=rows, critic=critic, **options), tmp_path / "logs")
    for scorer in ("error_sections", "error_sections_published"):
        total = 0.0
        for errors, unuseful in GOLD.values():
            gold = {*errors, *unuseful}
            flagged = BASELINES[baseline]
            if scorer.endswith("published"):
                flagged = {number for number in flagged if number <= max(gold)}
            hits = len(flagged & gold)
            # F1 of precision and recall is twice the hits over both sizes.
            total += 2 * hits / (len(flagged) + len(gold))
        assert table_of(log, scorer)["f1_macro"] == pytest.approx(total / 3, abs=1e-12)


@pytest.mark.parametrize(
    ("options", "error", "says"),
    [
        ({"critic": "all_section"}, UnknownNameError, "Did you mean 'all_sections'"),
        ({"critic": "section_range", "first": 5, "last": 2}, MisstepError, "first=5, last=2"),
        ({"critic": "no_error", "structured": True}, MisstepError, "goes with critic=critique"),
    ],
)
def test_a_users_mistake_is_named(rows, options, error, says):
    with pytest.raises(error, match=says):
        deltabench_sections(source=rows, **options)


def test_the_prompt_is_filled_in_one_pass(rows):
    from misstep.solvers import sections_prompt

    text = sections_prompt("{sections} {answer}", ["{problem}", "\\boxed{}"])
    assert text.endswith("[Solution]\n\nsection1:\n{problem}\n\nsection2:\n\\boxed{}")
    assert "[Problem]\n\n{sections} {answer}\n\n" in text
    assert not [c for c in text if ord(c) < 32 and c != "\n"]
