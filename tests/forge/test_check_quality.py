"""The checks measured on injections that people labelled, and the tables of the docs."""

from collections import Counter
from pathlib import Path

import pytest
import yaml

from misstep.forge import Example, audit, check_example, compare_final_answer

INJECTIONS = Path(__file__).with_name("injections.yaml")
PAGE = Path(__file__).parents[2] / "docs" / "adversarial_numinamath.md"


def labelled_examples():
    """Yield every example of the file with whether it is good."""
    for solution in yaml.safe_load(INJECTIONS.read_text(encoding="utf-8")):
        for number, injection in enumerate(solution["injections"]):
            kept = list(solution["original"][: injection["label"]])
            for index, text in injection.get("early", {}).items():
                kept[index] = text
            content = {
                "id": f"{solution['id']}-{number}",
                "problem": solution["problem"],
                "steps": kept + injection["steps"],
                "label": injection["label"],
                "error_type": injection["type"],
                "original_steps": solution["original"],
                "answer": solution["answer"],
                "final_answer": injection["answer"],
                "late_fraction": 0.5,
            }
            yield Example.model_validate(content), injection["good"]


def failures(example):
    return {one.name for one in check_example(example, compare_final_answer(example))}


@pytest.fixture(scope="module")
def measured():
    """The names of the failures of each labelled example, by whether it is good."""
    found = {True: {}, False: {}}
    for example, good in labelled_examples():
        found[good][example.id] = failures(example)
    return found


def quality_table(measured):
    """The table of the docs: how many examples each check rejects."""
    good, bad = (
        Counter(name for names in measured[kind].values() for name in names)
        for kind in (True, False)
    )
    names = sorted({*good, *bad})
    lines = [
        f"| check | bad, of {len(measured[False])} | good, of {len(measured[True])} |",
        "| --- | ---: | ---: |",
        *(f"| `{name}` | {bad[name]} | {good[name]} |" for name in names),
    ]
    rejected = [sum(map(bool, measured[kind].values())) for kind in (False, True)]
    return "\n".join([*lines, f"| any of them | {rejected[0]} | {rejected[1]} |"])


def test_the_table_in_the_docs_is_what_the_checks_do(measured):
    table = quality_table(measured)
    assert table in PAGE.read_text(encoding="utf-8"), f"put this table into the page:\n{table}"


def test_the_set_is_large_and_what_is_left_to_the_review_is_known(measured):
    assert len(measured[True]) >= 30
    assert len(measured[False]) >= 40
    left = {name for name, names in measured[False].items() if not names}
    assert left == {"dice-9", "committee-9", "remainder-6", "handshakes-4"}


def test_the_made_up_injections_are_rejected_by_name(measured):
    bad = measured[False]
    assert bad["dice-5"] == {"minimal: only_reworded", "steps_follow_error: slip_after_error"}
    assert bad["quadratic-6"] == {"minimal: only_reworded"}
    assert bad["powers-6"] == {"steps_follow_error: out_of_nothing"}
    assert bad["powers-5"] >= {"maintains_plausibility: off_topic"}
    assert bad["powers-3"] >= {"steps_follow_error: falls_back"}


def recorded_table(result):
    lines = ["| check | of 59 |", "| --- | ---: |"]
    counts = sorted(result.by_reason.items())
    lines += [f"| `{check}: {reason}` | {count} |" for (check, reason), count in counts]
    return "\n".join([*lines, f"| any of them | {len(result.failures)} |"])


def test_the_table_of_recorded_injections_is_what_the_checks_do(real_data):
    file = real_data / "numinamath" / "recorded_injections.jsonl"
    if not file.is_file():
        pytest.skip("the mirror has no recorded injections")
    table = recorded_table(audit(str(file)))
    assert table in PAGE.read_text(encoding="utf-8"), f"put this table into the page:\n{table}"
