"""The embedded first-error rows: their shape, their balance, and a second computation of them."""

import json
import re
from collections import Counter
from importlib.resources import files

import pytest

from tests.loaders.claims import NotPlainError, equations, evaluate, holds, states

KEYS = [
    "id",
    "subset",
    "generator",
    "problem",
    "steps",
    "label",
    "final_answer_correct",
    "kind",
    "answer",
    "checks",
]
SUBSETS = ["arithmetic", "algebra_geometry", "science", "programming"]
KINDS = {
    "calculation",
    "misread",
    "wrong_operation",
    "unit",
    "formula",
    "sign",
    "logic",
    "off_by_one",
    "overgeneralisation",
    "condition",
}
KINDS_THAT_MAY_LACK_A_FAILING_CLAIM = {"logic", "overgeneralisation", "condition"}

DATA = files("misstep.loaders") / "embedded" / "processbench.jsonl"
LINES = DATA.read_text(encoding="utf-8").splitlines()
ROWS = [json.loads(line) for line in LINES]
ERRORS = [row for row in ROWS if row["label"] >= 0]
CORRECT = [row for row in ROWS if row["label"] == -1]

every_row = pytest.mark.parametrize("row", ROWS, ids=[row["id"] for row in ROWS])
every_error = pytest.mark.parametrize("row", ERRORS, ids=[row["id"] for row in ERRORS])


def right_steps(row):
    return row["steps"] if row["label"] == -1 else row["steps"][: row["label"]]


# ---- the tools above ----


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("1/3 + 1/6", "1/2"),
        ("0.1 + 0.2", "0.3"),
        ("sqrt(2.25)", "1.5"),
        ("-7 // 2", "-4"),
        ("len('ñandú')", "5"),
        ("sorted([3, 1, 2])[1:]", "[2, 3]"),
        ("2**10 > 1000", "True"),
    ],
)
def test_the_evaluator_computes_exactly(expression, value):
    assert holds([expression, value])


@pytest.mark.parametrize(
    "expression",
    ["__import__('os')", "().__class__", "x + 1", "[i for i in [1]]", "2**1000000", "'a'.upper()"],
)
def test_the_evaluator_refuses_what_is_not_plain_arithmetic(expression):
    with pytest.raises(NotPlainError):
        evaluate(expression)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("so 7 × 24 = 178 degrees.", [False]),
        ("3 + 4 = 7", [True]),
        ("it becomes −21 + 25 = 5 = 2x", [False]),
        (r"it is $\frac{1}{2} \cdot 9 \cdot 12 = 54$ cm²", [True]),
        ("21 × 1,780 = 37,380 g and 15 * (1/3) = 15/3 = 6", [True, True, False]),
        ("then 2x + 3 = 7 and f(2) = 5 and y − 6 = 3", []),
        ("about 3.0 × 77 / 27 ≈ 8.6 L", []),
        ("½ × 4 × 4² = 32 J, 45 // 2 = 22, 45 % 2 = 0", [True, True, False]),
    ],
)
def test_the_scan_finds_the_equations_of_a_text(text, found):
    assert [equal for _, _, equal in equations(text)] == found


# ---- shape ----


def test_there_are_sixty_four_rows():
    assert len(ROWS) == 64


@every_row
def test_every_row_has_exactly_the_agreed_keys_in_order(row):
    assert list(row) == KEYS
    assert row["generator"] == "misstep"
    assert all(isinstance(row[key], str) and row[key].strip() for key in ("problem", "answer"))
    assert all(isinstance(step, str) and step.strip() for step in row["steps"])
    assert isinstance(row["final_answer_correct"], bool)


def test_the_text_is_stored_as_it_is_read():
    assert all(
        line == json.dumps(row, ensure_ascii=False) for line, row in zip(LINES, ROWS, strict=True)
    )


def test_ids_are_unique_and_count_up_in_each_subset():
    assert len({row["id"] for row in ROWS}) == len(ROWS)
    for subset in SUBSETS:
        ids = [row["id"] for row in ROWS if row["subset"] == subset]
        assert ids == [f"sample-{subset}-{number:02d}" for number in range(16)]


def test_problems_are_all_different():
    assert len({row["problem"] for row in ROWS}) == len(ROWS)


@every_row
def test_every_solution_has_three_to_twelve_steps(row):
    assert 3 <= len(row["steps"]) <= 12


@every_row
def test_every_label_points_at_a_step_or_is_minus_one(row):
    assert type(row["label"]) is int
    assert -1 <= row["label"] < len(row["steps"])


@every_row
def test_a_kind_is_given_for_error_rows_only(row):
    assert (row["kind"] is None) if row["label"] == -1 else (row["kind"] in KINDS)


# ---- balance ----


def test_each_subset_is_half_correct_and_half_with_an_error():
    counts = Counter((row["subset"], row["label"] == -1) for row in ROWS)
    assert counts == {(subset, correct): 8 for subset in SUBSETS for correct in (True, False)}


def test_every_kind_of_error_occurs():
    assert {row["kind"] for row in ERRORS} == KINDS


def test_both_classes_have_the_same_step_counts_in_each_subset():
    for subset in SUBSETS:
        wrong, right = (
            sorted(len(row["steps"]) for row in rows if row["subset"] == subset)
            for rows in (ERRORS, CORRECT)
        )
        assert wrong == right
        assert len(set(wrong)) >= 6


def third(row):
    """0, 1 or 2: the third of the solution in which the error stands."""
    return min(2, 3 * row["label"] // (len(row["steps"]) - 1))


def test_error_positions_are_spread_over_the_solutions():
    counts = Counter(third(row) for row in ERRORS)
    assert all(9 <= counts[part] <= 12 for part in range(3)), counts
    assert {row["label"] for row in ERRORS} == set(range(11))


def test_no_subset_has_only_early_or_only_late_errors():
    for subset in SUBSETS:
        assert {third(row) for row in ERRORS if row["subset"] == subset} == {0, 1, 2}


def test_some_error_rows_reach_the_right_answer():
    assert sum(row["final_answer_correct"] for row in ERRORS) >= 6


def test_every_correct_row_reaches_the_right_answer():
    assert all(row["final_answer_correct"] for row in CORRECT)


def test_the_subsets_take_turns_and_any_prefix_is_a_fair_mix():
    assert [row["subset"] for row in ROWS] == SUBSETS * 16
    for end in range(4, len(ROWS) + 1, 4):
        assert sum(row["label"] >= 0 for row in ROWS[:end]) == end // 2


def test_the_first_eight_rows_hold_both_classes_in_every_subset():
    seen = {(row["subset"], row["label"] == -1) for row in ROWS[:8]}
    assert len(seen) == 8


def characters(row):
    return len("\n\n".join(row["steps"]))


@pytest.mark.parametrize(
    "size",
    [lambda row: len(row["steps"]), characters, lambda row: len(row["problem"])],
    ids=["steps", "characters", "problem"],
)
def test_error_rows_are_about_as_long_as_correct_rows(size):
    wrong, right = (sum(map(size, rows)) / len(rows) for rows in (ERRORS, CORRECT))
    assert abs(wrong - right) < 0.15 * right


@pytest.mark.parametrize("phrase", ["check", "let me", "recalculate", "hold on", "wait", r"\boxed"])
def test_phrases_of_doubt_and_of_closing_occur_in_both_classes(phrase):
    assert all(
        any(phrase in "\n".join(row["steps"]).lower() for row in rows) for rows in (ERRORS, CORRECT)
    )


@pytest.mark.parametrize("phrase", ["mistake", "incorrect", "erroneous", "error", "wrong"])
def test_no_step_says_that_it_is_wrong(phrase):
    assert not [row["id"] for row in ROWS for step in row["steps"] if phrase in step.lower()]


@pytest.mark.parametrize(
    "text", ["{}", "{problem}", r"\boxed{4}", "</paragraph_1>", "ñ", "```python\n"]
)
def test_some_step_holds_text_that_strains_software(text):
    assert any(text in step for row in ROWS for step in row["steps"])


SHORT = [
    (
        "John has 10 apples. He gives 3 to Mary and 2 to Bob. How many apples does John have left?",
        [
            "John starts with 10 apples.",
            "He gives 3 apples to Mary, so he has 10 - 3 = 7 apples left.",
            "He gives 2 apples to Bob, so he has 7 - 2 = 5 apples left.",
            "Therefore, John has 5 apples left.",
        ],
        -1,
        "arithmetic",
    ),
    (
        "Sarah bought 15 books. She read 1/3 of them. How many books did she read?",
        [
            "Sarah bought 15 books.",
            "She read 1/3 of them, which is 15 * (1/3) = 15/3 = 6 books.",
            "Wait, let me recalculate: 15 * (1/3) = 5 books.",
            "Therefore, Sarah read 5 books.",
        ],
        1,
        "arithmetic",
    ),
    (
        "A rectangle has length 8 and width 5. What is its area?",
        [
            "The area of a rectangle is length × width.",
            "Given: length = 8, width = 5",
            "Area = 8 × 5 = 40",
            "Therefore, the area is 40 square units.",
        ],
        -1,
        "algebra_geometry",
    ),
    (
        "John has 20 marbles. He gives 1/4 to his sister. How many marbles does he have left?",
        [
            "John starts with 20 marbles.",
            "He gives 1/4 of them to his sister: 20 × (1/4) = 5 marbles.",
            "He has 20 - 5 = 15 marbles left.",
            "Actually, let me recalculate: 20 × (1/4) = 6 marbles given away.",
            "So he has 20 - 6 = 14 marbles left.",
        ],
        3,
        "arithmetic",
    ),
]


@pytest.mark.parametrize(("problem", "steps", "label", "subset"), SHORT)
def test_the_short_examples_are_there_word_for_word(problem, steps, label, subset):
    row = next(row for row in ROWS if row["problem"] == problem)
    assert (row["steps"], row["label"], row["subset"]) == (steps, label, subset)


# ---- the second computation ----


@every_row
def test_every_step_has_its_list_of_claims(row):
    assert len(row["checks"]) == len(row["steps"])
    for claims in row["checks"]:
        for claim in claims:
            assert len(claim) in (2, 3)
            assert all(isinstance(part, str) for part in claim)
            holds(claim)  # it can be computed


@every_row
def test_every_claimed_value_stands_in_the_text_of_its_step(row):
    for step, claims in zip(row["steps"], row["checks"], strict=True):
        for claim in claims:
            assert states(step, claim[1]), (claim, step)


@every_row
def test_a_tolerance_is_only_used_where_the_step_says_that_it_rounds(row):
    for step, claims in zip(row["steps"], row["checks"], strict=True):
        if any(len(claim) == 3 for claim in claims):
            assert re.search(r"≈|\\approx|approximately|about", step), step


@every_row
def test_every_step_before_the_label_is_right(row):
    for step, claims in zip(right_steps(row), row["checks"], strict=False):
        for claim in claims:
            assert holds(claim), (claim, step)


@every_row
def test_every_equation_in_the_text_before_the_label_is_true(row):
    for step in right_steps(row):
        for left, right, equal in equations(step):
            assert equal, f"{left} = {right} in: {step}"


def fails_at_its_label(row):
    return not all(holds(claim) for claim in row["checks"][row["label"]])


@every_error
def test_the_labelled_step_is_wrong(row):
    assert fails_at_its_label(row) or row["kind"] in KINDS_THAT_MAY_LACK_A_FAILING_CLAIM


def test_few_labels_rest_on_judgement_alone():
    assert sum(not fails_at_its_label(row) for row in ERRORS) <= 6


def test_most_steps_with_a_number_are_computed_again():
    with_number = [
        claims
        for row in ROWS
        for step, claims in zip(row["steps"], row["checks"], strict=True)
        if re.search(r"\d", step)
    ]
    assert sum(map(bool, with_number)) >= 0.6 * len(with_number)


def test_the_scan_of_the_text_reads_many_equations():
    assert sum(1 for row in ROWS for step in row["steps"] for _ in equations(step)) >= 150
