"""Rows and replies that are written for tests and benchmarks."""

from typing import Any


def delta_row(
    id: str = "d-0",
    texts: tuple[str, ...] = ("First.", "Second.", "Third."),
    errors: tuple[int, ...] = (),
    unuseful: tuple[int, ...] = (),
    **other: Any,
) -> dict[str, Any]:
    """Return a row in DeltaBench's format: each text is a section."""
    return {
        "id": id,
        "origin": "made",
        "task_l1": "math",
        "task_l2": "Algebra",
        "level": 2.0,
        "question": "How many?",
        "long_cot": "\n\n".join(texts),
        "sections": [
            {"start": i, "end": i, "description": "a part", "content": text}
            for i, text in enumerate(texts, start=1)
        ],
        "sections_content": "\n\n\n".join(f"section{i}: {t}" for i, t in enumerate(texts, start=1)),
        "final_correct": 0,
        "stragegy_shift_section_numbers": [],
        "reason_unuseful_section_numbers": list(unuseful),
        "reason_error_section_numbers": list(errors),
        "error_type": "Calculation Error",
        **other,
    }


def critique_of(index: int) -> str:
    r"""Return a critique of about 1.5 kB that ends in a box.

    It has a brace every 36 characters or so, like the solutions in ProcessBench's math subset.
    The time to read a verdict grows with the number of braces.
    """
    checks = (
        f"Paragraph {i}: $\\frac{{{i}}}{{2}} x = {i + 3}$ holds, since both sides agree, and so do "
        "the units and the signs of all terms; it follows from what is given."
        for i in range(10)
    )
    return "\n".join([*checks, rf"The first error is in paragraph $\boxed{{{index}}}$."])
