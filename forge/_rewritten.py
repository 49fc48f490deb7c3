"""Checks of the rewritten part of a solution, from the error on.

Its steps must follow from the error, read like the original, and not reveal the error.
"""

import re
from collections.abc import Iterator

from misstep.arithmetic import false_equations
from misstep.boxes import box_spans, boxes, last_boxed
from misstep.forge._example import Example
from misstep.forge._latex import broken_latex, display_spans, doubled_escapes, inline_spans

_NUMBERING = re.compile(r"^\s*(?:\*\*)?(?:Step\s+\d+[.:)]?|\(?\d{1,3}[.)])(?:\*\*)?\s*")
_SPACE_IN_BOX = 200
"""Characters that spaces and delimiters may add to an answer in a box."""
_SPACES = re.compile(r"\s+|\\[,;:!]|\\left(?![a-z])|\\right(?![a-z])|\$|\\[()\[\]]")
_LONGEST_ENDING = 600
"""Characters at the end of a step in which an answer is searched."""
_START = r"(?<![\w.\\])"
"""A place that is not inside a word, a number or a command."""


def compact(text: str) -> str:
    """Return a formula without spaces, delimiters and other signs that do not change it."""
    return _SPACES.sub("", text).replace("\\dfrac", "\\frac").rstrip(".,;")


def without_number(step: str) -> str:
    """Return a step without its number."""
    return _NUMBERING.sub("", step)


def plain_step(step: str) -> str:
    """Return a step without its number, delimiters, white space and full stop."""
    return compact(without_number(step))


def states(step: str, answer: str) -> bool:
    """Return whether a step states an answer: in its last box, or anywhere if it has no box."""
    boxed = last_boxed(step)
    wanted = compact(answer)
    if boxed is not None:
        return compact(boxed) == wanted
    text = compact(step)
    return wanted in text and re.search(rf"{_START}{re.escape(wanted)}(?!\w)", text) is not None


def _ends_with(step: str, answer: str) -> bool:
    """Return whether a step ends with an answer; only signs may follow it."""
    wanted = compact(answer)
    text = step.rstrip(" \t\r\n.,;:!)]}$*\\")
    # Brackets at the end may belong to the answer: as many are put back as it has.
    text += step[len(text) : len(text) + len(wanted) - len(wanted.rstrip(")]}*"))]
    tail = text[-(2 * len(answer) + _SPACE_IN_BOX) :][-_LONGEST_ENDING:]
    for start in range(len(tail)):
        follows_word = start and (tail[start - 1].isalnum() or tail[start - 1] in "._\\")
        if not follows_word and compact(tail[start:]) == wanted:
            return True
    return False


_CONCLUDES = re.compile(r"\b(?:answers?|results?|conclu\w+|finally|therefore|hence|thus)\b", re.I)


def falls_back(example: Example) -> int | None:
    """Return the index of the first step after the error that states the right answer, or None."""
    if not example.answer:
        return None
    originals = {plain_step(step) for step in example.original_steps[example.label :]}
    right, longest = compact(example.answer), 2 * len(example.answer) + _SPACE_IN_BOX
    before = compact("\n".join(example.steps[: example.label + 1]))
    for index, step in enumerate(example.steps[example.label + 1 :], example.label + 1):
        if any(compact(box) == right for box in boxes(step, longest)):
            return index
        if _ends_with(step, example.answer) and (
            plain_step(step) in originals or (_CONCLUDES.search(step) and f"={right}" not in before)
        ):
            return index
    return None


_NUMBER = re.compile(r"\d[\d,]*(?:\.\d+)?")
_COMPUTES = re.compile(
    r"[=+×÷*/^≈≤≥<>%−]|\d\s{0,3}-\s{0,3}\d|[A-Za-z]_|\\(?:times|cdot|div|[dt]?frac|sqrt|binom|approx|"
    r"leq?|geq?|pm|sum|prod|equiv|in|mid)(?![A-Za-z])|\b(?:times|plus|minus|divided|half|twice|sum|"
    r"product|difference|total|add|subtract|multipl)",
    re.IGNORECASE,
)
"""Signs and words of a computation, a comparison or an equation."""
_COMMON_NUMBERS = {str(number) for number in [*range(13), 16, 20, 24, 30, 45, 60, 90, 100, 180]}
_COMMON_NUMBERS |= {"270", "360", "1000"}
"""Numbers that need no source."""
_FORMULA_ENDS = re.compile(r"[;:.]\s|\\[()\[\]]|\$|\n")
_SUM_OF_NUMBERS = re.compile(r"\d\s{0,3}(?:[-+×*−]|\\times|\\cdot)\s{0,3}\d")
_LETTER = re.compile(r"[A-Za-z]")
_COMMAND = re.compile(r"\\[A-Za-z]+")


def out_of_nothing(example: Example) -> tuple[int, str] | None:
    """Return the first step after the error with a number that nothing leads to, and the number.

    A number has a source if it stands in the problem or an earlier step, or if the step computes
    it. An operand of a sum or product of numbers is not computed.
    """
    known = _numbers(example.problem) | _COMMON_NUMBERS
    known |= _numbers("\n".join(map(without_number, example.steps[: example.label + 1])))
    for index, step in enumerate(example.steps[example.label + 1 :], example.label + 1):
        text = without_number(step)
        new = _numbers(text) - known
        if new:
            found = new & _operands(text) if _COMPUTES.search(_without_boxes(text)) else new
            if found:
                return index, min(found, key=lambda number: (-len(number), number))
        known |= new
    return None


def _numbers(text: str) -> set[str]:
    plain = text.replace("{,}", "").replace("\\,", "")
    return {found.group().replace(",", "").lstrip("0") or "0" for found in _NUMBER.finditer(plain)}


def _without_boxes(text: str) -> str:
    """Return a text without what stands in boxes: a fraction there is stated, not computed."""
    parts, place = [], 0
    for start, end in box_spans(text):
        if start >= place:
            parts.append(text[place:start])
            place = end
    return "".join([*parts, text[place:]])


def _operands(text: str) -> set[str]:
    """Return the numbers in sums and products of plain numbers that no equation gives."""
    operands: set[str] = set()
    results: set[str] = set()
    for formula in _FORMULA_ENDS.split(text):
        first, _, rest = formula.partition("=")
        results |= _numbers(rest)
        # With a letter in it, a sum is more than numbers.
        if rest and _SUM_OF_NUMBERS.search(first) and not _LETTER.search(_COMMAND.sub("", first)):
            operands |= _numbers(first)
    return operands - results


def slips_after_error(example: Example) -> Iterator[tuple[int, str]]:
    """Yield the steps after the error with a new equation that does not hold."""
    for index, step in enumerate(example.steps[example.label + 1 :], example.label + 1):
        for equation in new_false_equations(example, step):
            yield index, equation


def new_false_equations(example: Example, step: str) -> list[str]:
    """Return the false equations of a step that do not stand in the original solution."""
    wrong = false_equations(step)
    if not wrong:
        return []
    before = {found for original in example.original_steps for found in false_equations(original)}
    return [equation for equation in wrong if equation not in before]


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
