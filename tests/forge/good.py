"""One good example, written by hand; tests spoil it."""

STEPS = [
    "1. Let the sides of the triangle be \\(a = 5\\), \\(b = 8\\), at an angle of 60°.",
    "2. The perimeter of the square on \\(a\\) is \\(4 \\cdot 5 = 20\\).",
    "3. The perimeter of the square on \\(b\\) is \\(4 \\cdot 8 = 32\\).",
    "4. Together that is \\(20 + 32 = 52\\).",
    "5. We still need the square of the third side \\(c\\).",
    "6. The squares of the known sides are \\(25\\) and \\(64\\).",
    "7. By the law of cosines, \\(c^2 = 25 + 64 - 2 \\cdot 5 \\cdot 8 \\cdot \\frac{1}{2} = 49\\).",
    "8. We add what we had: \\(49 + 52 = 101\\).",
    "9. The value that was asked for is \\(\\boxed{101}\\).",
]
WRONG = [
    "7. By the Pythagorean theorem, \\(c^2 = 25 + 64 = 89\\).",
    "8. We add what we had: \\(89 + 52 = 141\\).",
    "9. The value that was asked for is \\(\\boxed{141}\\).",
]
GOOD = {
    "id": "triangle",
    "problem": "In a triangle two sides are 5 and 8, at 60°. Find c^2 + 4a + 4b.",
    "steps": STEPS[:6] + WRONG,
    "label": 6,
    "subset": "own",
    "generator": "nobody",
    "error_type": "theorem_misapplication",
    "original_steps": STEPS,
    "answer": "101",
    "final_answer": "141",
    "late_fraction": 1 / 3,
}


def spoilt(**changes):
    """The good example with some fields changed."""
    return {**GOOD, **changes}


def rewritten(*steps, **changes):
    """The good example with other steps from the error on."""
    return spoilt(steps=STEPS[:6] + list(steps), **changes)
