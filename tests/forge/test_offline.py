"""The offline injector: every number of its solutions worked out again, from the problem alone."""

import re
from collections import Counter

import pytest

from misstep.forge import check_example, compare_final_answer, sample_examples
from misstep.registry import taxonomy

EXAMPLES = sample_examples(seed=3, wrong=160, untouched=16)


def numbers(pattern, text):
    return [int(number) for number in re.search(pattern, text).groups()]


def both(example):
    """The right result and the one that the error leads to, before the last two operations."""
    question = example.problem.partition("Call this number N. ")[2]
    [n] = numbers(r"So N is (\d+)\.", "\n".join(example.original_steps))
    match example.error_type:
        case "invalid_generalization":
            [d] = numbers(r"each have (\d+) tiles more", question)
            rows = [n, n + d, n + 2 * d, n + 3 * d]
            return sum(rows) + 2 * rows[3], sum(rows) + 2 * rows[3] + d + 2 * d
        case "theorem_misapplication":
            a, b = numbers(r"a = (\d+) and b = (\d+)", question)
            return a * a + b * b - a * b + n, a * a + b * b + n
        case "incomplete_case_analysis":
            d, q = numbers(r"\|x - N\| = (\d+), and add (\d+) twice", question)
            found = [x for x in range(n - 20, n + 21) if abs(x - n) == d]
            return sum(found) + 2 * q, n + d + 2 * q
        case "circular_reasoning":
            more, boxes, each, gone = numbers(
                r"buys (\d+) more\. Bea had (\d+) boxes of (\d+) stamps each and gave (\d+)",
                question,
            )
            return abs(n + more - (boxes * each - gone)), 0
        case "false_equivalence":
            s, more = numbers(
                r"multiples of (\d+) and the multiples of 10 from 1 to N \+ (\d+)", question
            )
            upto = range(1, n + more + 1)
            tens = sum(x % 10 == 0 for x in upto)
            return sum(x % s == 0 for x in upto) + tens, sum(x % (2 * s) == 0 for x in upto) + tens
        case "domain_restriction_violation":
            p, q, more = numbers(r"\(x - (\d+)\)\(x - (\d+)\).* N \+ (\d+)", question)
            return q + n + more, p + q + n + more
        case "quantifier_confusion":
            m, k, high = numbers(
                r"Each of (\d+) machines makes at least (\d+) parts.* least (\d+)\. Take", question
            )
            return high + (m - 1) * k + n, m * high + n
        case "invalid_substitution":
            twice, more, a = numbers(
                r"x⁴ \+ (\d+)x² \+ c, where c = N \+ (\d+), and add (\d+)", question
            )
            least = min(x**4 + twice * x**2 + n + more for x in range(-9, 10))
            vertex = min(t * t + twice * t + n + more for t in range(-99, 100))
            return least + a, vertex + a


@pytest.mark.parametrize("kind", taxonomy())
def test_answers_are_those_of_the_problem_and_of_the_error(kind):
    members = [one for one in EXAMPLES if one.error_type == kind]
    assert len(members) == 20
    for one in members:
        times, extra = numbers(r"times\s+(\d+), plus (\d+)", one.problem)
        right, wrong = both(one)
        assert int(one.answer) == right * times + extra
        assert int(one.final_answer) == wrong * times + extra
        assert one.answer != one.final_answer
        assert f"\\boxed{{{one.answer}}}" in one.original_steps[-1]
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


def test_errors_stand_at_various_distances_from_the_end():
    distances = Counter(len(one.steps) - one.label for one in EXAMPLES if not one.untouched)
    assert set(distances) == {3, 4, 5}
