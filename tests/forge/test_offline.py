"""The offline injector: every number of its solutions worked out again, from the problem alone."""

import random
import re
from collections import Counter
from pathlib import Path

import pytest

from misstep.forge import check_example, compare_final_answer, prior_baselines, sample_examples
from misstep.registry import taxonomy

EXAMPLES = sample_examples(seed=3, wrong=160, untouched=32)
_ONE = r"(?:Let|A triangle|A wall|Ana has|Each of)"


def parts(problem):
    """Yield the sentences about each number: from its problem to the name of its result."""
    text = problem.partition("Call this number A. ")[2].rpartition(" What is ")[0]
    begin = 0
    for found in re.finditer(r"Let ([A-Z]) be ", text):
        end = re.compile(rf"\. (?={_ONE})|$").search(text, found.end()).start()
        yield found[1], text[begin:end]
        begin = end + 2


def numbers(text):
    return [int(number) for number in re.findall(r"\d+", text)]


def find(text, n):
    """Return the number that a part asks for, by brute force, and the value of its claim."""
    if "tiles" in text:
        [d] = [int(x) for x in re.findall(r"have (\d+) tiles more", text)]
        rows = [n]
        for row in range(2, 7):
            grows = row <= 4 if "Rows 2, 3 and 4 have" in text else row >= 5
            rows.append(rows[-1] + d * grows)
        return sum(rows[3:]), rows[4] + rows[5]
    if "triangle" in text:
        a, b, angle = numbers(text)[:3]
        square = a * a + b * b - (a * b if angle == 60 else 0)
        return square + n, square
    if "|x" in text:
        wanted = {int(x) for x in re.findall(r"(?:= |is 0 or )(\d+)", text)}
        wanted |= {0} if "is 0 or" in text else set()
        found = [x for x in range(n - 50, n + 51) if abs(x - n) in wanted]
        found = [x for x in found if "x >" not in text or x > n]
        found = [x for x in found if "x <" not in text or x < n]
        return sum(found) + numbers(text)[-1], sum(found)
    if "stamps" in text:
        boxes, each, extra = numbers(text)
        bea = n if "Bea has as many" in text else boxes * each
        return n + bea + extra, bea
    if "multiples" in text:
        step, _, more = numbers(text)
        counted = [x for x in range(1, n + more + 1) if x % step == 0]
        counted = [x for x in counted if "even" not in text or x % 2 == 0]
        return len(counted), len(counted)
    if "solutions" in text:
        p, q, t = numbers(text)[:3]
        roots = sum(x for x in range(100) if x != t and (x - p) * (x - q) == 0)
        return n + roots, roots
    if "machines" in text:
        machines, least, high = numbers(text)
        total = machines * high if "each one" in text else high + (machines - 1) * least
        return n + total, total
    if "least value" in text:
        b, more = numbers(text)
        sign = 1 if f"+ {b}x²" in text else -1
        # The least value is at x = 0 or where x² is half of b.
        least = min(t * t + sign * b * t + n + more for t in range(60))
        return least, least
    [second] = numbers(text)
    value = n + second if "plus" in text else n * second
    return value, value


def claimed(step):
    """Return the value that a step finds: the result of an equation, or its last number."""
    return int((re.findall(r"\d = (\d+)", step) or re.findall(r"\d+", step))[-1])


def walk(example):
    """Return the index of the first step that states a wrong value, and the right answer."""
    steps = [re.sub(r"^\d+\. ", "", step) for step in example.steps]
    at = next(i for i, step in enumerate(steps) if re.search(r"So A is \d+\.$", step))
    n = int(re.search(r"So A is (\d+)\.$", steps[at])[1])
    place, first_wrong = at + 1, None
    right = n
    for name, text in parts(example.problem):
        end = next(
            i
            for i in range(place, len(steps))
            if re.search(rf"\b{name} is |this is {name}\b", steps[i])
        )
        result, value = find(text, n)
        right = find(text, right)[0]
        # The claim is the step before the result, or the result itself in a plain part.
        claim = end - 1 if end > place else end
        if first_wrong is None and value != claimed(steps[claim]):
            first_wrong = claim
        n = claimed(steps[end])
        if first_wrong is None:
            assert result == n, (name, text, steps[end])
        place = end + 1
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


def test_words_do_not_tell_where_the_error_is():
    """A bag of words that is trained on half finds errors of the other half hardly by its words."""
    text = pytest.importorskip("sklearn.feature_extraction.text", reason="needs scikit-learn")
    from sklearn.linear_model import LogisticRegression

    examples = sample_examples(seed=5, wrong=320, untouched=106)
    random.Random(0).shuffle(examples)
    train, rest = examples[:213], [one for one in examples[213:] if not one.untouched]
    words = text.CountVectorizer(token_pattern=r"[^\W\d_]+")
    counts = words.fit_transform([step for one in train for step in one.steps])
    wrong = [index == one.label for one in train for index in range(len(one.steps))]
    model = LogisticRegression(max_iter=300).fit(counts, wrong)
    found = [
        model.predict_proba(words.transform(one.steps))[:, 1].argmax() == one.label for one in rest
    ]
    known = [one for one in train if not one.untouched]
    assert sum(found) / len(rest) <= position_prior(known, rest) + 0.1
