"""Whether a modified solution reads like the original: nothing in it gives the error away."""

import re
from collections.abc import Iterator

from misstep.forge._latex import broken_latex, doubled_escapes
from misstep.forge._record import Example

_GIVE_AWAYS = re.compile(
    r"\[\s*error|<\s*error|\b(?:erroneous(?:ly)?|error|errors|mistake|mistakes|mistaken(?:ly)?|"
    r"incorrect(?:ly)?|wrong(?:ly)?|false(?:ly)?|flaw(?:s|ed)?|fallac(?:y|ious)|invalid(?:ly)?|"
    r"unjustified|misappl(?:y|ies|ied|ying|ication)|overlook(?:s|ed|ing)?|deliberate(?:ly)?|"
    r"intentional(?:ly)?|adversarial|injected|modified solution|without justification)\b",
    re.IGNORECASE,
)
_MARKER = re.compile(r"\s*(?:\*\*)?(?:Step\s+\d+|\(?\d{1,3}[.)](?=\**\s)|\#{1,6}\s)")
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]|\t(?:imes|ext|heta|an\b)")

SHORTEST, LONGEST = 0.4, 2.5
"""How much shorter or longer than the original the rewritten part may be."""
LEEWAY = 160
"""Characters that are neither here nor there."""


def implausibilities(example: Example) -> Iterator[tuple[str, str]]:
    """Reasons, by name and in words, why an example would give itself away."""
    if not 0 <= example.label < len(example.steps):
        return
    rewritten = "\n".join(example.steps[example.label :])
    replaced = "\n".join(example.original_steps[example.label :])
    whole = "\n".join([example.problem, *example.original_steps])
    yield from _words(rewritten, whole)
    yield from _length(rewritten, replaced)
    if _CONTROL.search(rewritten) and not _CONTROL.search(whole):
        yield "control_characters", "a control character, mostly the trace of a lost backslash"
    if len(doubled := doubled_escapes(rewritten)) > len(doubled_escapes(replaced)):
        yield "doubled_escapes", f"a backslash too many: {', '.join(sorted(set(doubled)))}"
    for index, step in enumerate(example.steps[example.label :], example.label):
        if (account := broken_latex(step)) and not _was_broken(example, index):
            yield "broken_latex", f"step {index}: {account}"
            break
    yield from _style(example)


def _words(rewritten: str, original: str) -> Iterator[tuple[str, str]]:
    used = {found.group().lower() for found in _GIVE_AWAYS.finditer(rewritten)}
    usual = {found.group().lower() for found in _GIVE_AWAYS.finditer(original)}
    if used - usual:
        words = ", ".join(sorted(used - usual))
        yield "gives_itself_away", f"words that the original does not use: {words}"


def _length(rewritten: str, replaced: str) -> Iterator[tuple[str, str]]:
    length, usual = len(rewritten), len(replaced)
    if not SHORTEST * usual - LEEWAY <= length <= LONGEST * usual + LEEWAY:
        detail = f"the rewritten part has {length} characters, the original {usual}"
        yield "length_out_of_range", detail


def _was_broken(example: Example, index: int) -> bool:
    original = example.original_steps
    return index < len(original) and broken_latex(original[index]) is not None


def _style(example: Example) -> Iterator[tuple[str, str]]:
    """The number or heading that a step began with is part of how the solution is written."""
    if example.label >= len(example.original_steps):
        return
    before = bool(_MARKER.match(example.original_steps[example.label]))
    if before != bool(_MARKER.match(example.steps[example.label])):
        change = "lost" if before else "gained"
        yield "style_changed", f"step {example.label} has {change} its number or heading"
