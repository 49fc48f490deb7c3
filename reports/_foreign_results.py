"""Recorded outputs in formats of other projects, recognised by their columns.

A file holds the outputs of one model.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from inspect_ai.dataset import Sample
from inspect_ai.scorer import Scorer

from misstep.loaders import FirstErrorRow, check_rows, first_error_sample, load_rows, read_rows
from misstep.registry import DataError
from misstep.reports._reason_eval import Located, critiques, is_critique, is_scored, step_scores
from misstep.scorers import judged_verdict, process_judging_published
from misstep.verdicts import Unread

MATHCHECK_ROWS = 516

_BY_REDUNDANCY = ("redundency", "circular")
"""The classes of PRMBench for which labels of redundancy count, if there are any."""


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
    if is_critique(first) or is_scored(first, source):
        read = critiques if is_critique(first) else step_scores
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
    if threshold is None and row.subset in _BY_REDUNDANCY and isinstance(redundant, list):
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
    """Return the model that a file is named after, without what the projects add to the name."""
    stem = re.sub(r"(_eval_results)?\.\w+$", "", address.rpartition("/")[2])
    found = re.fullmatch(r"(?:gsm|geo)_checklist_(.+?)_task_.+_prediction", stem, re.IGNORECASE)
    return found[1] if found else stem
