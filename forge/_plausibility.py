"""Checks that a modified solution reads like the original and does not reveal the error."""

import re
from collections.abc import Iterator

from misstep.forge._example import Example
from misstep.forge._following import without_number
from misstep.forge._latex import broken_latex, display_spans, doubled_escapes, inline_spans

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
    if _off_topic(example):
        detail = f"step {example.label} has no formula, and no word of the problem or solution"
        yield "off_topic", detail


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


_CONTENT_WORD = re.compile(r"[^\W\d_]{4,}")
_EMPTY_WORD = re.compile(
    r"that|this|these|those|which|what|when|where|with|from|into|have|here|there|then|therefore|"
    r"hence|thus|also|must|will|shall|since|because|such|they|them|their|some|more|most|very|only|always|"
    r"never|each|every|both|between"
)
_FORMULA = re.compile(r"[\d=+<>×÷^_$\\]")
_LOGICAL_WORD = re.compile(
    r"\b(?:all|every|each|any|some|exists?|there (?:is|are)|one|only|if|then|iff|implies|not|no|"
    r"none|never|always|neither|nor|either|both|or|and|unless|necessary|sufficient|equivalent|"
    r"converse\w*|(?:in|de)creas\w+|positive|negative|non\w*|un\w+|less|greater|fewer|more|most|least|equal\w*|"
    r"same|different|distinct|similar|congruent|parallel|perpendicular|right|acute|obtuse|isosceles|"
    r"equilateral|even|odd|prime|finite|infinite|convergen\w+|divergen\w+|continuous|differentiable|"
    r"independent|disjoint|exclusive|injective|surjective|bijective|real|integer|rational|maximum|"
    r"minimum|smallest|largest|with|without|before|after|first|last|also|except|"
    r"theorem|rule|law|inequality|formula|property|lemma|identity|criterion|symmetr\w+)\b",
    re.IGNORECASE,
)
"""Words that can change what a sentence claims although its formulas stay the same."""


def only_reworded(example: Example) -> bool:
    """Return whether the error step makes the same claim as the original step in other words.

    It does if its formulas, its numbers and the words that decide a claim are the same. Whether a
    step without formulas and numbers makes another claim, no rule can decide.
    """
    if example.label >= len(example.original_steps):
        return False
    steps = example.original_steps[example.label], example.steps[example.label]
    before, after = (without_number(step) for step in steps)
    formulas = _formulas(before)
    same = formulas == _formulas(after) and _logical_words(before) == _logical_words(after)
    return bool(formulas) and same


def _formulas(step: str) -> list[str]:
    """Return the parts of a step that contain numbers or formulas, in any order."""
    return sorted(re.sub(r"[\s.,;:!]|\\[()\[\],;:! ]|\$", "", part) for part in _parts(step))


def _parts(step: str) -> list[str]:
    spans = sorted([*display_spans(step), *inline_spans(step)])
    formulas, rest, place = [], [], 0
    for start, end in spans:
        if start >= place:
            formulas.append(step[start:end])
            rest.append(step[place:start])
            place = end
    rest.append(step[place:])
    return formulas + [word for word in " ".join(rest).split() if _FORMULA.search(word)]


def _logical_words(step: str) -> list[str]:
    return sorted(found.group().lower() for found in _LOGICAL_WORD.finditer(step))


def _off_topic(example: Example) -> bool:
    """Return whether the error step has no formula and no word of the problem or the solution."""
    step = without_number(example.steps[example.label])
    if _FORMULA.search(step):
        return False
    whole = "\n".join([example.problem, *example.original_steps])
    return not _content_words(step) & _content_words(whole)


def _content_words(text: str) -> set[str]:
    words = map(str.lower, _CONTENT_WORD.findall(text))
    return {word for word in words if not _EMPTY_WORD.fullmatch(word)}
