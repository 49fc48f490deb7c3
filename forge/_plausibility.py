"""Checks that a modified solution reads like the original and does not reveal the error."""

import re
from collections.abc import Iterator

from misstep.forge._example import Example
from misstep.forge._latex import broken_latex, doubled_escapes

_REVEALING_WORDS = re.compile(
    r"\[\s*error|<\s*error|\b(?:erroneous(?:ly)?|error|errors|mistake|mistakes|mistaken(?:ly)?|"
    r"incorrect(?:ly)?|wrong(?:ly)?|false(?:ly)?|flaw(?:s|ed)?|fallac(?:y|ious)|invalid(?:ly)?|"
    r"unjustified|misappl(?:y|ies|ied|ying|ication)|overlook(?:s|ed|ing)?|deliberate(?:ly)?|"
    r"intentional(?:ly)?|adversarial|injected|modified solution|without justification)\b",
    re.IGNORECASE,
)
_MARKER = re.compile(r"\s*(?:\*\*)?(?:Step\s+\d+|\(?\d{1,3}[.)](?=\**\s)|\#{1,6}\s)")
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]|\t(?:imes|ext|heta|an\b)")

_MIN_LENGTH, _MAX_LENGTH = 0.4, 2.5
"""The allowed length of the rewritten part, as a ratio to the original part."""
_LENGTH_TOLERANCE = 160
"""Characters that the length may differ in addition to the ratio."""


def plausibility_problems(example: Example) -> Iterator[tuple[str, str]]:
    """Yield the problems of an example, each as a short name and in words."""
    if not 0 <= example.label < len(example.steps):
        return
    rewritten = "\n".join(example.steps[example.label :])
    replaced = "\n".join(example.original_steps[example.label :])
    whole = "\n".join([example.problem, *example.original_steps])
    yield from _word_problems(rewritten, whole)
    yield from _length_problems(rewritten, replaced)
    if _CONTROL.search(rewritten) and not _CONTROL.search(whole):
        yield "control_characters", "a control character, mostly the trace of a lost backslash"
    if len(doubled := doubled_escapes(rewritten)) > len(doubled_escapes(replaced)):
        yield "doubled_escapes", f"a backslash too many: {', '.join(sorted(set(doubled)))}"
    for index, step in enumerate(example.steps[example.label :], example.label):
        if (problem := broken_latex(step)) and not _was_broken(example, index):
            yield "broken_latex", f"step {index}: {problem}"
            break
    yield from _style_problems(example)


def _word_problems(rewritten: str, original: str) -> Iterator[tuple[str, str]]:
    used = {found.group().lower() for found in _REVEALING_WORDS.finditer(rewritten)}
    usual = {found.group().lower() for found in _REVEALING_WORDS.finditer(original)}
    if used - usual:
        words = ", ".join(sorted(used - usual))
        yield "gives_itself_away", f"words that the original does not use: {words}"


def _length_problems(rewritten: str, replaced: str) -> Iterator[tuple[str, str]]:
    length, usual = len(rewritten), len(replaced)
    if (
        not _MIN_LENGTH * usual - _LENGTH_TOLERANCE
        <= length
        <= _MAX_LENGTH * usual + _LENGTH_TOLERANCE
    ):
        detail = f"the rewritten part has {length} characters, the original {usual}"
        yield "length_out_of_range", detail


def _was_broken(example: Example, index: int) -> bool:
    original = example.original_steps
    return index < len(original) and broken_latex(original[index]) is not None


def _style_problems(example: Example) -> Iterator[tuple[str, str]]:
    """Check that the error step still begins with a number or heading, or still does not."""
    if example.label >= len(example.original_steps):
        return
    before = bool(_MARKER.match(example.original_steps[example.label]))
    if before != bool(_MARKER.match(example.steps[example.label])):
        change = "lost" if before else "gained"
        yield "style_changed", f"step {example.label} has {change} its number or heading"
