"""ReasonEval's recorded outputs on MR-MATH: critiques, and step scores of reward models.

A file holds the outputs of one evaluator, for solutions with wrong steps or with redundant ones.
"""

import re
from collections.abc import Iterable
from typing import Any

from inspect_ai.dataset import Sample
from inspect_ai.scorer import Scorer

from misstep.loaders import FirstErrorRow, first_error_sample, load_rows
from misstep.registry import DataError
from misstep.scorers import (
    meta_reasoning_published,
    redundancy_published,
    reward_meta_reasoning_published,
)
from misstep.verdicts import NO_ERROR, Unread

Located = tuple[str, dict[str, Any]]
"""A record, and where it is."""
Scored = tuple[list[Sample], list[str], str, str, list[Scorer]]
"""Samples, rows without a record, the format, the source, and the scorers of the published rule."""

_INVALID, _REDUNDANT = "mr_math", "mr_math_redundant"
_REDUNDANCY_THRESHOLD = -0.15
"""Of the negative probability of a neutral step."""


def is_critique(content: dict[str, Any]) -> bool:
    """Return whether a record is a critique."""
    return {"correctness_pred", "error_step_pred", "id"} <= content.keys()


def is_scored(content: dict[str, Any], source: str | None) -> bool:
    """Return whether a record has the scores of a reward model.

    These are numbers or triples, for each sub-step; the id counts the rows.
    """
    if content.keys() != {"id", "scores"} or not isinstance(content["id"], int):
        return False
    scores = content["scores"]
    triples = isinstance(scores, list) and bool(scores) and isinstance(scores[0], list)
    return triples or source in (_INVALID, _REDUNDANT)


def critiques(records: list[Located], source: str | None) -> Scored:
    """Return the critiques of one evaluator."""
    words = {_letters(content["correctness_pred"]) for _, content in records}
    if words & {"present", "absent"}:
        source = source or _REDUNDANT
        known = _rows(source)
        samples = [_redundancy_critique(row, one) for row, one in _matched(records, known, source)]
        name = "ReasonEval's critiques of redundant steps"
        return samples, _missing(samples, known), name, source, [redundancy_published()]
    source = source or _INVALID
    known = _rows(source)
    samples = [_critique(row, one) for row, one in _matched(records, known, source)]
    name = "ReasonEval's critiques"
    return samples, _missing(samples, known), name, source, [meta_reasoning_published()]


def step_scores(records: list[Located], source: str | None) -> Scored:
    """Return the step scores of one reward model. A step's score is the least of its sub-steps'.

    A triple has the probabilities of a wrong, a neutral and a positive step: valid is neutral or
    positive, redundant is neutral.
    """
    source = source or _INVALID
    known = _rows(source)
    samples = []
    for row, content in _matched(records, known, source):
        redundant = "wrong_steps" in row.extra
        sizes = [1] * len(row.steps) if redundant else row.extra["sub_steps"]
        where = f"the scores of {row.id!r}"
        scores = [_score(one, redundant, where) for one in _list(content["scores"], where)]
        if len(scores) != sum(sizes):
            raise DataError(f"{where}: {len(scores)} for {sum(sizes)} sub-steps.")
        ends = [sum(sizes[: place + 1]) for place in range(len(sizes))]
        least = [min(scores[end - size : end]) for end, size in zip(ends, sizes, strict=True)]
        limit = 0.5
        if redundant and isinstance(content["scores"][0], list):
            limit = _REDUNDANCY_THRESHOLD
        record = {"valid": [score > limit for score in least]} if redundant else {"scores": least}
        sample = _sample(row, record)
        published = {"published_scores": least, "published_threshold": limit}
        sample.metadata = (sample.metadata or {}) | published
        samples.append(sample)
    name = "ReasonEval's step scores"
    return samples, _missing(samples, known), name, source, [reward_meta_reasoning_published()]


def _list(scores: object, where: str) -> list[Any]:
    if not isinstance(scores, list) or not scores:
        raise DataError(f"{where}: {scores!r:.40}. Needed: a list with a score for each sub-step.")
    return scores


def _score(value: object, redundant: bool, where: str) -> float:
    """Return the score of a sub-step, by the published rule."""
    if isinstance(value, list) and len(value) == 3:
        return -float(value[1]) if redundant else float(value[2]) + float(value[1])
    if isinstance(value, int | float):
        return float(value)
    raise DataError(f"{where}: {value!r:.40}. Needed: numbers, or triples of numbers.")


def _rows(source: str) -> dict[str, FirstErrorRow]:
    return {row.id: row for row in load_rows(source)}


def _matched(
    records: Iterable[Located], known: dict[str, FirstErrorRow], source: str
) -> Iterable[tuple[FirstErrorRow, dict[str, Any]]]:
    """Yield each record with its row."""
    seen: set[str] = set()
    for where, content in records:
        ids = (f"{name}-{content['id']}" for name in (_INVALID, _REDUNDANT))
        row = next((known[id] for id in ids if id in known), None)
        if row is None:
            raise DataError(f"{where}: the id {content['id']!r} is not a row of {source!r}.")
        if row.id in seen:
            raise DataError(f"{where}: the id {content['id']!r} is recorded twice.")
        seen.add(row.id)
        yield row, content


def _missing(samples: list[Sample], known: dict[str, FirstErrorRow]) -> list[str]:
    found = {sample.id for sample in samples}
    return [id for id in known if id not in found]


def _redundancy_critique(row: FirstErrorRow, content: dict[str, Any]) -> Sample:
    """Return a critique of redundant steps: steps that are not named are valid."""
    if "wrong_steps" not in row.extra:
        raise DataError(f"{row.id!r}: a critique of redundant steps, but the row has none.")
    named = {int(number) for number in re.findall(r"\d{1,9}", str(content["error_step_pred"]))}
    valid = [number not in named for number in range(1, len(row.steps) + 1)]
    return _with_words(row, {"valid": valid, "text": str(content.get("response", ""))}, content)


def _critique(row: FirstErrorRow, content: dict[str, Any]) -> Sample:
    if "wrong_steps" in row.extra:
        raise DataError(f"{row.id!r}: not a critique of redundant steps.")
    said = _letters(content["correctness_pred"])
    step = re.search(r"\d{1,9}", str(content["error_step_pred"]))
    record: dict[str, Any] = {"text": str(content.get("response", ""))}
    if said == "correct":
        record["prediction"] = NO_ERROR
    elif said in ("wrong", "incorrect") and step and int(step[0]):
        # "Wrong, step 0" names no step, and it is not "no error".
        record["prediction"] = int(step[0]) - 1
    else:
        record["unread"] = Unread.NO_CONCLUSION
    return _with_words(row, record, content)


def _with_words(row: FirstErrorRow, record: dict[str, Any], content: dict[str, Any]) -> Sample:
    sample = _sample(row, record)
    words = {name: str(content[name]) for name in ("correctness_pred", "error_step_pred")}
    sample.metadata = (sample.metadata or {}) | words
    return sample


def _sample(row: FirstErrorRow, record: dict[str, Any]) -> Sample:
    sample = first_error_sample(row)
    sample.metadata = {**(sample.metadata or {}), "recorded": record}
    return sample


def _letters(text: object) -> str:
    return "".join(c for c in str(text) if c.isalpha()).lower()
