import re
import time
from random import Random

import pytest

from misstep.scorers import read_verdict
from misstep.verdicts import Unread

UNREADABLE = Unread.NOT_AN_INDEX


@pytest.mark.parametrize(
    ("text", "strict", "lenient"),
    [
        (r"\boxed{2}", 2, 2),
        (r"\boxed{0} and then \boxed{1}", 1, 1),
        (r"\boxed{1} and then \boxed{}", UNREADABLE, 1),
        (r"\boxed{1} and then \boxed{none}", UNREADABLE, 1),
        (r"\boxed{-1}.", -1, -1),
        (r"$\boxed{-1}$", -1, -1),
        ("\\boxed{\n3\n}", 3, 3),
        (r"\boxed{03}", 3, 3),
        (r"\boxed{+3}", 3, 3),
        (r"\boxed{\text{3}}", UNREADABLE, 3),
        (r"\boxed{{3}}", UNREADABLE, 3),
        (r"\boxed{\textbf{-1}}", UNREADABLE, -1),
        (r"\boxed{\mathbf{2}}", UNREADABLE, 2),
        (r"\boxed{paragraph_3}", UNREADABLE, 3),
        (r"\boxed{paragraph\_3}", UNREADABLE, 3),
        (r"\boxed{<paragraph_3>}", UNREADABLE, 3),
        (r"\boxed{\text{paragraph }3}", UNREADABLE, 3),
        (r"\boxed{proof_step_4}", UNREADABLE, 4),
        ("\\boxed{\u22121}", UNREADABLE, -1),
        (r"\boxed{- 1}", UNREADABLE, -1),
        (r"\boxed{-1 \text{(not found)}}", UNREADABLE, -1),
        (r"\boxed{3.0}", UNREADABLE, 3),
        (r"\boxed{0, 2}", UNREADABLE, UNREADABLE),
        (r"\boxed{2 and 3}", UNREADABLE, UNREADABLE),
        (r"\boxed{3.5}", UNREADABLE, UNREADABLE),
        (r"\boxed{3x}", UNREADABLE, UNREADABLE),
        (r"\boxed{\frac{1}{2}}", UNREADABLE, UNREADABLE),
        (r"\boxed{\boxed{4}}", UNREADABLE, 4),
        (r"\boxed{3} and then \boxed {4}", 3, 4),
        (r"\boxed{99}", 99, 99),
        (r"\boxed{-2}", -2, -2),
        (r"the answer is 3", Unread.NO_BOX, Unread.NO_BOX),
        (r"\boxed{3", Unread.NO_BOX, Unread.NO_BOX),
        ("", Unread.NO_BOX, Unread.NO_BOX),
    ],
)
def test_both_readings_of_a_text(text, strict, lenient):
    assert read_verdict(text, "strict") == strict
    assert read_verdict(text, "lenient") == lenient


def published_rule(text: str) -> int | Unread:
    """The rule as the published script writes it: a pattern, the last match, int()."""
    boxes = re.findall(r"\\boxed\{([^}]*)\}", text)
    if not boxes:
        return Unread.NO_BOX
    try:
        return int(boxes[-1].strip())
    except ValueError:
        return UNREADABLE


def test_strict_is_the_published_rule_on_random_texts():
    random = Random(0)
    pieces = [
        r"\boxed{",
        "}",
        "{",
        "-1",
        "3",
        " ",
        "\n",
        r"\text{",
        "\\",
        "boxed",
        "7",
        "x",
        "+",
        "_",
    ]
    for _ in range(20_000):
        text = "".join(random.choices(pieces, k=random.randrange(12)))
        strict = read_verdict(text, "strict")
        assert strict == published_rule(text), text
        if isinstance(strict, int) and "_" not in text:
            assert read_verdict(text, "lenient") == strict, text


@pytest.mark.parametrize(
    "text",
    [
        r"\boxed{" * 140_000,
        r"\boxed{" * 70_000 + "}" * 70_000,
        r"\boxed{\text{" * 70_000,
        r"\boxed{\text{" * 35_000 + "}}" * 35_000,
        "{" * 1_000_000,
        r"\boxed" + " " * 1_000_000 + "{3}",
        (r"\boxed{" + " -" * 490 + "}") * 1_000,
    ],
)
@pytest.mark.parametrize("reading", ["strict", "lenient"])
def test_a_megabyte_of_spite_does_not_stop_the_reading(text, reading):
    # A quadratic reading takes minutes here; the bound only tells the two apart.
    start = time.perf_counter()
    read_verdict(text, reading)
    assert time.perf_counter() - start < 20


def test_an_underscore_between_digits_is_an_index_to_python_only():
    assert read_verdict(r"\boxed{1_0}", "strict") == 10
    assert read_verdict(r"\boxed{1_0}", "lenient") == Unread.NOT_AN_INDEX
    assert read_verdict(r"\boxed{3} or \boxed{1_0}", "lenient") == 3
    assert read_verdict(r"\boxed{paragraph_3}", "lenient") == 3
