"""Recorded outputs in formats of other projects, recognised by their columns.

A file holds the outputs of one model. ReasonEval's files are those on MR-MATH: critiques, or step
scores of reward models, for solutions with wrong steps or with redundant ones.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from inspect_ai.dataset import Sample
from inspect_ai.scorer import Scorer

from misstep.loaders import FirstErrorRow, check_rows, first_error_sample, load_rows, read_rows
from misstep.registry import DataError
from misstep.scorers import (
    BY_REDUNDANCY,
    judged_verdict,
    meta_reasoning_published,
    process_judging_published,
    redundancy_published,
    reward_meta_reasoning_published,
)
from misstep.verdicts import NO_ERROR, Unread

MATHCHECK_ROWS = 516

Located = tuple[str, dict[str, Any]]
"""A record, and where it is."""
Scored = tuple[list[Sample], list[str], str, str, list[Scorer]]
"""Samples, rows without a record, the format, the source, and the scorers of the published rule."""

_INVALID, _REDUNDANT = "mr_math", "mr_math_redundant"
_REDUNDANCY_THRESHOLD = -0.15
"""The score is the negative probability of a neutral step."""


@dataclass(frozen=True)
class ForeignRun:
    """The recorded outputs of one model, as samples of an eval."""

    format: str
    eval: str
    source: str
    model: str
    samples: list[Sample]
    missing: list[str] = field(default_factory=list)
    """Rows of the source that have no result."""
    scorers: list[Scorer] = field(default_factory=list)
    """Published rules, besides the scorers of the eval."""


def foreign_runs(
    files: Sequence[str], source: str | None, threshold: float | None
) -> list[ForeignRun]:
    """Return the outputs in files of other projects, or nothing if they have no such format.

    Without a threshold, recorded labels of steps are used as they are.
    """
    runs = [_foreign_run(file, source, threshold) for file in files]
    known = [run for run in runs if run is not None]
    if known and len(known) < len(runs):
        raise DataError(f"{files[runs.index(None)]}: another format than the other files.")
    return known


def _foreign_run(file: str, source: str | None, threshold: float | None) -> ForeignRun | None:
    first: Any = next(read_rows(file), (0, None))[1]
    if not isinstance(first, dict):
        return None
    model = model_name(file)

    def records() -> list[Located]:
        return [(f"{file}: row {number}", row) for number, row in read_rows(file)]

    if "idx" in first and isinstance(first.get("scores"), dict):
        return _r_prm(records(), source, threshold, model)
    if {"model_prediction", "question_type", "solution"} <= first.keys():
        return _mathcheck(file, records(), model)
    if _is_critique(first) or _is_scored(first, source):
        read = _critiques if _is_critique(first) else _step_scores
        samples, missing, name, source, scorers = read(records(), source)
        redundant = any("wrong_steps" in (one.metadata or {}) for one in samples)
        eval_name = "prmbench" if redundant else "processbench"
        return ForeignRun(name, eval_name, source, model, samples, missing, scorers)
    return None


def _r_prm(
    records: list[Located], source: str | None, threshold: float | None, model: str
) -> ForeignRun:
    """Return the labels of the steps of PRMBench in its own format, as R-PRM publishes them.

    As in the published code, the first of several results of a row counts, and those of the
    original solutions (`correct_…`) are in no PRMScore.
    """
    ids = {str(content.get("idx")) for _, content in records}
    ids = {id for id in ids if not id.startswith("correct_")}
    known = {row.id: row for row in load_rows(source or "prmbench_test_p1")}
    if source is None and not ids <= known.keys():
        known = {row.id: row for row in load_rows("prmbench")}
        source = "prmbench"
    source = source or "prmbench_test_p1"
    samples: dict[str, Sample] = {}
    for where, content in records:
        id = str(content.get("idx"))
        if id not in ids or id in samples:
            continue
        row = known.get(id)
        if row is None:
            raise DataError(f"{where}: the id {id!r} is not a row of {source!r}.")
        samples[id] = _sample(row, _labels(row, content, threshold, where))
    missing = [id for id in known if id not in samples]
    name = "R-PRM's step scores"
    return ForeignRun(name, "prmbench", source, model, list(samples.values()), missing)


def _labels(
    row: FirstErrorRow, content: dict[str, Any], threshold: float | None, where: str
) -> dict[str, Any]:
    """Return the recorded labels of the steps of a row."""
    if content.get("validity") is False:
        return {"unread": Unread.NOT_STRUCTURED, "text": ""}
    found = content.get("scores")
    found = found if isinstance(found, dict) else {}
    scores, labels, redundant = (
        found.get(f"step_level_{name}")
        for name in ("validity_scores", "validity_labels", "redundancy_labels")
    )
    if threshold is None and row.subset in BY_REDUNDANCY and isinstance(redundant, list):
        return {"valid": [not one for one in redundant]}
    if isinstance(scores, list) and len(scores) == len(row.steps):
        record: dict[str, Any] = {"scores": scores}
        return record | ({"valid": labels} if threshold is None and labels is not None else {})
    if isinstance(labels, list) and threshold is None:
        return {"valid": [bool(one) for one in labels]}
    if isinstance(scores, list):
        limit = 0.5 if threshold is None else threshold
        return {"valid": [score >= limit for score in scores]}
    raise DataError(f"{where}: neither scores nor labels of the {len(row.steps)} steps.")


def _mathcheck(file: str, records: list[Located], model: str) -> ForeignRun:
    """Return MathCheck's predictions, whose rows are in the file."""
    judged = [row for _, row in records if row.get("task_type") == "process_judging"]
    if len(judged) != MATHCHECK_ROWS:
        # Rows with an empty reply were never written. An average over the others would be too high.
        raise DataError(
            f"{file}: {len(judged)} rows of process judging; the benchmark has {MATHCHECK_ROWS}. "
            "Rows without a reply count as wrong: add them with an empty model_prediction."
        )
    # The published files name no groups: the four versions of a problem follow each other.
    raw = [
        (i, {**row, "id": row.get("id", i), "group_id": row.get("group_id", i // 4)})
        for i, row in enumerate(judged)
    ]
    good, bad = check_rows(raw)
    if bad:
        raise DataError(f"{file}: {bad[0]}")
    samples = []
    for row, content in zip(good, judged, strict=True):
        text = str(content.get("model_prediction") or "")
        verdict = judged_verdict(text, row.extra["printed_numbers"])
        field = "unread" if isinstance(verdict, Unread) else "prediction"
        samples.append(_sample(row, {field: verdict, "text": text}))
    name = "MathCheck's predictions"
    scorers = [process_judging_published()]
    return ForeignRun(name, "processbench", "mathcheck", model, samples, [], scorers)


def _sample(row: FirstErrorRow, record: dict[str, Any]) -> Sample:
    sample = first_error_sample(row)
    sample.metadata = {**(sample.metadata or {}), "recorded": record}
    return sample


def model_name(address: str) -> str:
    """Return the name of the model in a file's name, without what the projects add to it."""
    stem = re.sub(r"(_eval_results)?\.\w+$", "", address.rpartition("/")[2])
    found = re.fullmatch(r"(?:gsm|geo)_checklist_(.+?)_task_.+_prediction", stem, re.IGNORECASE)
    return found[1] if found else stem


def _is_critique(content: dict[str, Any]) -> bool:
    """Return whether a record is a critique."""
    return {"correctness_pred", "error_step_pred", "id"} <= content.keys()


def _is_scored(content: dict[str, Any], source: str | None) -> bool:
    """Return whether a record has the scores of a reward model.

    There is a number or a triple for each sub-step. The id is the number of the row.
    """
    if content.keys() != {"id", "scores"} or not isinstance(content["id"], int):
        return False
    scores = content["scores"]
    triples = isinstance(scores, list) and bool(scores) and isinstance(scores[0], list)
    return triples or source in (_INVALID, _REDUNDANT)


def _critiques(records: list[Located], source: str | None) -> Scored:
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


def _step_scores(records: list[Located], source: str | None) -> Scored:
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


def _letters(text: object) -> str:
    return "".join(c for c in str(text) if c.isalpha()).lower()
