"""The offline injector: every number of its solutions worked out again, from the problem alone."""

import random
import re
from collections import Counter
from itertools import accumulate
from pathlib import Path
from statistics import mean

import pytest

from misstep.forge import check_example, compare_final_answer, prior_baselines, sample_examples
from misstep.registry import taxonomy

EXAMPLES = sample_examples(seed=3, wrong=160, untouched=32)


def parts(problem):
    """Yield the name of each number after A, and the sentences about it."""
    text = problem.partition("Call this number A. ")[2].rpartition(" What is ")[0]
    begin = 0
    for found in re.finditer(r"Let ([A-Z]) be [^.]*\.", text):
        yield found[1], text[begin : found.end()]
        begin = found.end()


def numbers(text):
    return [int(number) for number in re.findall(r"\d+", text)]


def find(text, n):
    """Return the number that a part asks for, by brute force."""
    if "In row 1" in text:
        rows = {1: n}
        for listed, more in re.findall(r"rows ([\d, and]+) has (\d+)", text):
            for row in numbers(listed):
                rows[row] = rows[row - 1] + int(more)
        return rows[4] + rows[5] + rows[6]
    if "angle" in text:
        a, b, angle = numbers(text)[:3]
        return a * a + b * b - (a * b if angle == 60 else 0) + n
    if "|" in text:
        wanted = {int(x) for x in re.findall(r"(?:= |is 0 or )(\d+)", text)}
        wanted |= {0} if "is 0 or" in text else set()
        found = [x for x in range(n - 50, n + 51) if abs(x - n) in wanted]
        found = [x for x in found if " > " not in text or x > n]
        found = [x for x in found if " < " not in text or x < n]
        return sum(found) + numbers(text)[0]
    if "boxes" in text:
        boxes, each, extra = numbers(text)
        return n + (n if "as many as" in text else boxes * each) + extra
    if "multiples" in text:
        _, more, step = numbers(text)
        counted = [x for x in range(1, n + more + 1) if x % step == 0]
        return sum("even" not in text or x % 2 == 0 for x in counted)
    if "solutions" in text:
        p, q, t = numbers(text)[:3]
        return n + sum(x for x in range(100) if x != t and (x - p) * (x - q) == 0)
    if "at least" in text:
        makers, least, high = numbers(text)
        each = [high] * makers if "each one" in text else [high] + [least] * (makers - 1)
        return n + sum(each)
    b, more = numbers(text)
    sign = 1 if re.search(rf"\+ {b}[a-z]", text) else -1
    # The least value is at 0 or where it is half of b, on the side that the power allows.
    allowed = range(60) if "² and" in text else range(-60, 60)
    return min(t * t + sign * b * t + n + more for t in allowed)


def walk(example):
    """Return the index of the first step that finds a wrong number, and both answers."""
    steps = [re.sub(r"^\d+\. ", "", step) for step in example.steps]
    at = next(i for i, step in enumerate(steps) if re.search(r"So A is \d+\.$", step))
    n = right = int(re.search(r"So A is (\d+)\.$", steps[at])[1])
    first_wrong = None
    for place, (name, text) in enumerate(parts(example.problem), at + 1):
        stated = re.search(rf"\b{name} (?:is|=) (?:[\d +×]+ = )?(\d+)\.$", steps[place])
        assert stated, (name, steps[place])
        if find(text, n) != int(stated[1]):
            first_wrong = place if first_wrong is None else first_wrong
            assert place == first_wrong, (text, steps[place])
        right, n = find(text, right), int(stated[1])
    assert place == len(steps) - 2
    return first_wrong, right, n


@pytest.mark.parametrize("kind", [*taxonomy(), None])
def test_the_labelled_step_is_the_first_false_one_and_answers_follow(kind):
    members = [one for one in EXAMPLES if one.error_type == kind]
    assert len(members) == 20 if kind else 32
    for one in members:
        first_wrong, right, stated = walk(one)
        assert first_wrong == (one.label if kind else None), (one.problem, one.steps, one.label)
        assert int(one.answer) == right
        assert int(one.final_answer) == stated
        assert f"\\boxed{{{one.final_answer}}}" in one.steps[-1]


def test_every_equation_of_every_step_holds():
    checked = 0
    for one in EXAMPLES:
        for step in [*one.steps, *one.original_steps]:
            # Equations with brackets are checked with the generator.
            for left, right in re.findall(
                r"(?<![+×÷-] )(?<![(\d])((?:\d+ [+×÷-] )+\d+) = (\d+)(?![\d/])", step
            ):
                total = 0
                for sign, product in re.findall(r"(^|[+-]) ?([^+-]+)", left):
                    value = 1
                    for operation, factor in re.findall(r"(^|[×÷]) ?(\d+)", product.strip()):
                        value = value // int(factor) if operation == "÷" else value * int(factor)
                    total += -value if sign == "-" else value
                assert total == int(right), step
                checked += 1
    assert checked > 2000


def test_the_sample_covers_all_types_and_passes_every_check():
    sample = sample_examples()
    types = Counter(one.error_type for one in sample)
    assert len(sample) == 64
    assert {kind: types[kind] for kind in taxonomy()} == dict.fromkeys(taxonomy(), 6)
    assert types[None] == 16
    for one in sample:
        assert len(one.original_steps) >= 8
        assert check_example(one, compare_final_answer(one)) == []
        assert "no model" in one.generator


def test_the_same_seed_gives_the_same_sample():
    assert sample_examples() == sample_examples()
    assert sample_examples(seed=1)[0].problem != sample_examples()[0].problem


def test_positions_and_a_calculator_find_few_errors_of_the_sample():
    late, distance, calculator = (one.share for one in prior_baselines(sample_examples()))
    assert max(late, distance) <= 0.25
    assert calculator == 0
    page = Path(__file__).parents[2] / "docs" / "adversarial_numinamath.md"
    said = f"`late_window` finds {100 * late:.1f}% of the errors of the sample"
    assert said in page.read_text(encoding="utf-8")


def position_prior(train, test):
    """The share of errors that the best fixed position, chosen on other solutions, finds."""
    rules = [lambda one, k=k: k for k in range(40)]
    rules += [lambda one, k=k: len(one.steps) - k for k in range(1, 20)]
    rules += [lambda one, k=k: k * len(one.steps) // 40 for k in range(40)]
    best = max(rules, key=lambda rule: sum(rule(one) == one.label for one in train))
    return sum(best(one) == one.label for one in test) / len(test)


def splits(examples, count):
    """Yield the error steps that words find, and that a position finds, over random halves."""
    text = pytest.importorskip("sklearn.feature_extraction.text", reason="needs scikit-learn")
    from sklearn.linear_model import LogisticRegression

    for seed in range(count):
        mixed = random.Random(seed).sample(examples, len(examples))
        train, rest = mixed[: len(mixed) // 2], mixed[len(mixed) // 2 :]
        rest = [one for one in rest if not one.untouched]
        words = text.CountVectorizer(token_pattern=r"[^\W\d_]+")
        counts = words.fit_transform([step for one in train for step in one.steps])
        wrong = [index == one.label for one in train for index in range(len(one.steps))]
        model = LogisticRegression(max_iter=300).fit(counts, wrong)
        scores = model.decision_function(words.transform([x for one in rest for x in one.steps]))
        ends = list(accumulate(len(one.steps) for one in rest))
        own = [scores[end - len(one.steps) : end] for one, end in zip(rest, ends, strict=True)]
        found = sum(part.argmax() == one.label for part, one in zip(own, rest, strict=True))
        known = [one for one in train if not one.untouched]
        yield found / len(rest), position_prior(known, rest)


@pytest.mark.parametrize(
    ("sizes", "count"), [({}, 20), ({"seed": 5, "wrong": 320, "untouched": 106}, 2)]
)
def test_words_do_not_tell_where_the_error_is(sizes, count):
    """A bag of words that is trained on half finds errors of the other half hardly by its words."""
    by_words, by_position = map(mean, zip(*splits(sample_examples(**sizes), count), strict=True))
    print(f"found by words {by_words:.3f}, by position {by_position:.3f}, {count} splits")
    assert by_words <= by_position + 0.1
