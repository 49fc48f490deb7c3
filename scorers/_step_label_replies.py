"""Read the labels of all steps from a reply: by our rule, and by the published one.

The reply is a JSON object with `step_labels`, from the name of a step to -1, 0 or 1. By our rule a
label that is missing or is none of these stays unread. The published rule takes it for 0.
"""

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from misstep.verdicts import NO_ERROR, Unread, Verdict

_LABELS = (-1, 0, 1)
_PUBLISHED_FENCE = re.compile(r"```json\s*([\s\S]*?)\s*```", re.IGNORECASE)
_PLUS = re.compile(r"(:\s*)\+1\b")
_MOST_OBJECTS = 200
"""How many places in a reply are tried as the start of the JSON object, from the last one."""

StepLabels = list[int | None]
"""The label of each step; None for a label that was not read."""


def read_step_labels(text: str, names: Sequence[str]) -> StepLabels | Unread:
    """Return the labels of the steps with these names, or why the reply has none.

    The last object that has `step_labels` counts, in a fence or not. `+1` is read as 1.
    """
    if not text.strip():
        return Unread.EMPTY
    found = _last_object(text)
    if found is None:
        return Unread.NOT_STRUCTURED
    return [_label(found["step_labels"].get(name)) for name in names]


def read_reason(text: str) -> str | None:
    """Return the reason that a reply gives beside its labels."""
    reason = (_last_object(text) or {}).get("reason")
    return reason if isinstance(reason, str) and reason.strip() else None


def _last_object(text: str) -> Mapping[str, Any] | None:
    """Return the last object that has `step_labels`."""
    text = _PLUS.sub(r"\g<1>1", text)
    decoder = json.JSONDecoder()
    place = len(text)
    for _ in range(_MOST_OBJECTS):
        place = text.rfind("{", 0, place)
        if place < 0:
            break
        try:
            found, _end = decoder.raw_decode(text, place)
        except (ValueError, RecursionError):
            continue
        if isinstance(found.get("step_labels"), dict):
            return found  # type: ignore[no-any-return]
    return None


def _label(value: object) -> int | None:
    if isinstance(value, str) and value.strip().lstrip("+") in ("-1", "0", "1"):
        value = int(value)
    if isinstance(value, int) and not isinstance(value, bool) and value in _LABELS:
        return value
    return None


def read_step_labels_published(text: str, names: Sequence[str]) -> StepLabels:
    """Return the labels that the published script reads; all None if it fails on the reply.

    It takes the last fence that is marked as json; else the whole text; else the text from the
    brace that balances the last one, where braces inside strings count too.
    """
    found = _published_object(text.strip())
    if found is None:
        return [None] * len(names)
    labels = found.get("step_labels")
    known = labels if isinstance(labels, dict) else {}
    return [_published_label(known.get(name)) for name in names]


def _published_object(text: str) -> Mapping[str, Any] | None:
    fences = _PUBLISHED_FENCE.findall(text)
    for candidate in ([fences[-1].strip()] if fences else []) + [text, _balanced_end(text)]:
        try:
            found = json.loads(candidate)
        except (ValueError, RecursionError):
            continue
        if isinstance(found, dict):
            return found
    return None


def _balanced_end(text: str) -> str:
    """Return the text between the last brace and the one that balances it, or nothing."""
    end = text.rfind("}")
    depth = 0
    for brace in reversed(list(re.finditer(r"[{}]", text[: end + 1]))):
        depth += 1 if brace.group() == "}" else -1
        if depth == 0:
            return text[brace.start() : end + 1]
    return ""


def _published_label(value: object) -> int:
    if isinstance(value, str) and value.strip() in ("-1", "0", "1"):
        return int(value)
    label = value if isinstance(value, int) and not isinstance(value, bool) else 0
    return label if label in _LABELS else 0


def first_wrong_label(labels: Sequence[int | None]) -> Verdict | Unread:
    """Return the first step that is labelled -1, unless a step before it has no label."""
    for step, label in enumerate(labels):
        if label is None:
            return Unread.NOT_LABELLED
        if label == -1:
            return step
    return NO_ERROR


def first_wrong_published(labels: Sequence[int | None]) -> Verdict:
    """Return the first step that is labelled -1. Steps without a label count as no error."""
    return next((step for step, label in enumerate(labels) if label == -1), NO_ERROR)
