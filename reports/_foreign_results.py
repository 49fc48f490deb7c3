"""Recorded outputs in formats of other projects, recognised by their columns."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from inspect_ai.dataset import Sample
from inspect_ai.scorer import Scorer

from misstep.loaders import check_rows, first_error_sample, load_rows, read_rows
from misstep.registry import DataError
from misstep.scorers import (
    judged_verdict,
    meta_reasoning_published,
    process_judging_published,
    redundancy_published,
)
from misstep.verdicts import NO_ERROR, Unread

MATHCHECK_ROWS = 516


@dataclass(frozen=True)
class ForeignRun:
    """The recorded outputs of one model, as samples of an eval."""

    format: str
    eval: str
    source: str
    samples: list[Sample]
    missing: list[str] = field(default_factory=list)
    """Rows of the source that have no result."""
    scorers: list[Scorer] = field(default_factory=list)
    """Published rules, besides the scorers of the eval."""


def foreign_run(
    files: Sequence[str], source: str | None, threshold: float | None
) -> ForeignRun | None:
    """Return the recorded outputs of another project's files, or None if they have no such format.

    Without a threshold, recorded labels of steps are used as they are.
    """
    rows = [(f"{file}: row {number}", row) for file in files for number, row in read_rows(file)]
    first: Any = rows[0][1] if rows else None
    if not isinstance(first, dict):
        return None
    columns = first.keys()
    if "idx" in columns and isinstance(first.get("scores"), dict):
        return _r_prm(rows, source or "prmbench_test_p1", threshold)
    if {"model_prediction", "question_type", "solution"} <= columns:
        return _mathcheck(rows)
    if {"correctness_pred", "error_step_pred", "id"} <= columns:
        if _letters(first["correctness_pred"]) in ("present", "absent"):
            return _redundant(rows, source or "mr_math_redundant")
        return _reason_eval(rows, source or "mr_math")
    return None


def _letters(text: object) -> str:
    return "".join(c for c in str(text) if c.isalpha()).lower()


def _redundant(rows: Sequence[tuple[str, dict[str, Any]]], source: str) -> ForeignRun:
    """Return ReasonEval's critiques of redundant steps: steps that are not named are valid."""
    known = {row.id: row for row in load_rows(source)}
    samples: dict[str, Sample] = {}
    for where, content in rows:
        row = known.get(f"mr_math_redundant-{content['id']}")
        if row is None:
            raise DataError(f"{where}: not a critique of the rows of {source!r}.")
        named = {int(number) for number in re.findall(r"\d{1,9}", str(content["error_step_pred"]))}
        valid = [number not in named for number in range(1, len(row.steps) + 1)]
        sample = _sample(row, {"valid": valid, "text": str(content.get("response", ""))})
        assert sample.metadata is not None  # noqa: S101 (first_error_sample sets it)
        for name in ("correctness_pred", "error_step_pred"):
            sample.metadata[name] = str(content[name])
        samples[row.id] = sample
    missing = [id for id in known if id not in samples]
    name = "ReasonEval's critiques of redundant steps"
    return ForeignRun(
        name, "prmbench", source, list(samples.values()), missing, [redundancy_published()]
    )


def _r_prm(
    rows: Sequence[tuple[str, dict[str, Any]]], source: str, threshold: float | None
) -> ForeignRun:
    """Return R-PRM's scores of the steps of PRMBench."""
    known = {row.id: row for row in load_rows(source)}
    samples: dict[str, Sample] = {}
    for where, content in rows:
        row = known.get(str(content["idx"]))
        if row is None:
            raise DataError(f"{where}: the id {content['idx']!r} is not a row of {source!r}.")
        scores = content["scores"].get("step_level_validity_scores")
        labels = content["scores"].get("step_level_validity_labels")
        if not isinstance(scores, list) or len(scores) != len(row.steps):
            raise DataError(f"{where}: no score for each of the {len(row.steps)} steps.")
        record: dict[str, Any] = {"scores": scores}
        if threshold is None and labels is not None:
            record["valid"] = labels
        samples[row.id] = _sample(row, record)
    missing = [id for id in known if id not in samples]
    return ForeignRun("R-PRM's step scores", "prmbench", source, list(samples.values()), missing)


def _mathcheck(rows: Sequence[tuple[str, dict[str, Any]]]) -> ForeignRun:
    """Return MathCheck's predictions, whose rows are in the file."""
    judged = [(where, row) for where, row in rows if row.get("task_type") == "process_judging"]
    raw = [(i, {**row, "id": row.get("id", i)}) for i, (_, row) in enumerate(judged)]
    good, bad = check_rows(raw)
    if bad:
        raise DataError(f"{judged[0][0]}: {bad[0]}")
    if len(good) != MATHCHECK_ROWS:
        # Rows with an empty reply were never written. An average over the others would be too high.
        raise DataError(
            f"{judged[0][0].partition(': row')[0]}: {len(good)} rows of process judging; the "
            f"benchmark has {MATHCHECK_ROWS}. Rows without a reply count as wrong: add them with "
            "an empty model_prediction."
        )
    samples = []
    for row, (_, content) in zip(good, judged, strict=True):
        text = str(content["model_prediction"])
        verdict = judged_verdict(text, row.extra["printed_numbers"])
        field = "unread" if isinstance(verdict, Unread) else "prediction"
        samples.append(_sample(row, {field: verdict, "text": text}))
    name = "MathCheck's predictions"
    return ForeignRun(name, "processbench", "mathcheck", samples, [], [process_judging_published()])


def _reason_eval(rows: Sequence[tuple[str, dict[str, Any]]], source: str) -> ForeignRun:
    """Return ReasonEval's critiques of MR-MATH."""
    known = {row.id: row for row in load_rows(source)}
    samples: dict[str, Sample] = {}
    for where, content in rows:
        row = known.get(f"mr_math-{content['id']}")
        said = _letters(content["correctness_pred"])
        if row is None or said in ("present", "absent"):
            raise DataError(f"{where}: not a critique of the rows of {source!r}.")
        step = re.search(r"\d{1,9}", str(content["error_step_pred"]))
        record: dict[str, Any] = {"text": str(content.get("response", ""))}
        if said == "correct":
            record["prediction"] = NO_ERROR
        elif said in ("wrong", "incorrect") and step:
            record["prediction"] = int(step[0]) - 1
        else:
            record["unread"] = Unread.NO_CONCLUSION
        sample = _sample(row, record)
        assert sample.metadata is not None  # noqa: S101 (first_error_sample sets it)
        for name in ("correctness_pred", "error_step_pred"):
            sample.metadata[name] = str(content[name])
        samples[row.id] = sample
    missing = [id for id in known if id not in samples]
    name = "ReasonEval's critiques"
    return ForeignRun(
        name, "processbench", source, list(samples.values()), missing, [meta_reasoning_published()]
    )


def _sample(row: Any, record: dict[str, Any]) -> Sample:  # noqa: ANN401
    sample = first_error_sample(row)
    sample.metadata = {**(sample.metadata or {}), "recorded": record}
    return sample


def file_stem(address: str) -> str:
    """Return the name of a file without its folder and extension, as the name of a model."""
    return re.sub(r"(_eval_results)?\.\w+$", "", address.rpartition("/")[2])
