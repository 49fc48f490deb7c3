"""Runs made elsewhere: recorded critiques, step scores and predictions, and sampled solutions.

FoVer's own files hold step scores of verifiers on ProcessBench. They are
`processbench_<subset>/<mode>/verification=<model>/test.json`, and they name no rows: the rows are
the first ones of the subset after a shuffle with a fixed seed. The recorded labels of all steps are
compared with those of these rows, so that other rows are an error.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import PurePosixPath
from typing import Annotated, Any

from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.model import StopReason
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from misstep.loaders._files import RawRow, read_object, read_rows
from misstep.loaders._first_error import FirstErrorRow, first_error_sample, load_rows
from misstep.loaders._rows import (
    Answer,
    Id,
    NonEmpty,
    Steps,
    answer_text,
    json_list,
    named,
    validate_row,
    whole_number,
)
from misstep.registry import DataError, UnknownNameError
from misstep.samples import (
    GroupMetadata,
    RecordedCritique,
    RecordedSolution,
    RecordedSolutionsMetadata,
    problem_cluster,
)
from misstep.verdicts import NO_ERROR

_Score = Annotated[float, Field(allow_inf_nan=False)]


def _text_list(value: object) -> object:
    return [value] if isinstance(value, str) else value


def _optional_whole_number(value: object) -> object:
    return None if value in (None, "") else whole_number(value)


class RecordedResult(BaseModel):
    """What a run recorded for one sample."""

    model_config = ConfigDict(extra="allow", strict=True)

    id: Id
    model: str | None = None
    subset: str | None = named("subset", "config", default=None)
    critiques: Annotated[list[str] | None, BeforeValidator(_text_list)] = named(
        "generated_critique", default=None, min_length=1
    )
    stop_reasons: list[StopReason] | None = None
    """Why each critique ended. If it is not recorded, each critique counts as complete."""
    scores: list[_Score] | None = named(
        "scores", "step_scores", "step_scores_up_to_first_error", default=None
    )
    prediction: Annotated[int | None, BeforeValidator(_optional_whole_number)] = None

    @property
    def decides_by_scores(self) -> bool:
        """Whether the verdict comes from the scores. Critiques override scores."""
        return self.scores is not None and not self.critiques

    @property
    def record(self) -> dict[str, Any]:
        """The recorded fields, which the `recorded` solver replays."""
        kept = self.model_dump(include=set(RecordedCritique.model_fields), exclude_none=True)
        return RecordedCritique.model_validate(kept).model_dump(exclude_unset=True)


@dataclass(frozen=True)
class RecordedRun:
    """The results that one model has for the rows of a source."""

    samples: dict[str, Sample] = field(default_factory=dict)
    """By id. The metadata holds the record."""
    partial: list[str] = field(default_factory=list)
    """Ids of samples whose scores end before the last step."""
    missing: list[str] = field(default_factory=list)
    """Ids of rows of the source that have no result."""


def recorded_runs(
    files: Iterable[str],
    source: str,
    subset: str | None = None,
    by_folder: bool = False,
    compare: bool = False,
) -> dict[str | None, RecordedRun]:
    """Return the rows that have a recorded result, with the record as metadata, by model.

    With `by_folder`, rows of ProcessBench's own files that name no model get that of their folder.
    Rows with problem, steps and label, as in ProcessBench's result files, are used as they are.
    Other rows are looked up in the source by their id, in the subset that the record names, else in
    the given one. Rows of the source without a result are `missing` of a model whose rows were
    looked up, with `compare` of every model.
    """

    @cache
    def rows_by_id(chosen: str | None) -> dict[str, FirstErrorRow]:
        return {row.id: row for row in load_rows(source, chosen)}

    def ids_of(chosen: str | None) -> Iterable[str]:
        try:
            return rows_by_id(chosen)
        except UnknownNameError:
            # Included rows may name a subset that the source does not have.
            return rows_by_id(subset)

    runs: dict[str | None, RecordedRun] = {}
    # The subsets in which each model's rows were looked up, in their order.
    looked_up: dict[str | None, dict[str | None, None]] = {}
    for address in files:
        fields: set[str] = set()
        folder = _model_of(address) if by_folder else None
        by_path = holds_verifier_scores(address)
        records = verifier_records(address, source) if by_path else read_rows(address)
        for number, content in records:
            where = f"{address}: row {number}"
            result = validate_row(content, RecordedResult, where)
            fields |= result.model_fields_set
            model = result.model or folder
            row = _included_row(content, address, where)
            chosen = (row.subset if row else None) or result.subset or subset
            if row is None or compare:
                looked_up.setdefault(model, {})[chosen] = None
            if row is None:
                row = rows_by_id(chosen).get(result.id)
                if row is None:
                    place = f"{source!r}" + (f", subset {chosen!r}" if chosen else "")
                    raise DataError(f"{where}: the id {result.id!r} is not a row of {place}.")
            run = runs.setdefault(model, RecordedRun())
            if row.id in run.samples:
                raise DataError(f"{where}: the id {row.id!r} is recorded twice for this model.")
            run.samples[row.id] = _result_sample(row, result, where)
            if result.decides_by_scores and len(result.scores or []) < len(row.steps):
                run.partial.append(row.id)
        if fields and not fields & {"critiques", "scores", "prediction"}:
            raise DataError(
                f"{address}: no row has a result. A result is generated_critique, scores or "
                "prediction."
            )
    if not runs:
        raise DataError("The files hold no results.")
    for model, subsets in looked_up.items():
        expected = dict.fromkeys(id for name in subsets for id in ids_of(name))
        runs[model].missing.extend(id for id in expected if id not in runs[model].samples)
    return runs


def _model_of(address: str) -> str | None:
    """Return the model that the folder of one of ProcessBench's own files is named after.

    These are `<model>/<subset>_error.jsonl` and `<model>/<subset>_correct.jsonl`.
    """
    path = PurePosixPath(address)
    return (path.parent.name or None) if _PUBLISHED_NAME.fullmatch(path.name) else None


def _included_row(content: dict[str, Any], address: str, where: str) -> FirstErrorRow | None:
    """Return the row, if the file includes it; the subset is in the name `math_error.jsonl`."""
    if not {"problem", "steps", "label"} <= content.keys():
        return None
    published = _PUBLISHED_NAME.fullmatch(PurePosixPath(address).name)
    subset = published[1] if published else None
    fields = {key: content[key] for key in FirstErrorRow.model_fields if key in content}
    return validate_row({"subset": subset} | fields, FirstErrorRow, where)


def _result_sample(row: FirstErrorRow, result: RecordedResult, where: str) -> Sample:
    if result.scores is not None and len(result.scores) > len(row.steps):
        raise DataError(
            f"{where}: {len(result.scores)} scores for the {len(row.steps)} steps of {row.id!r}."
        )
    for step, score in enumerate(result.scores or []):
        if not 0 <= score <= 1:
            raise DataError(
                f"{where}: the score {score:g} of step {step} of {row.id!r} is not from 0 to 1. "
                "Write probabilities, for example the sigmoid of a logit."
            )
    if result.stop_reasons is not None and len(result.stop_reasons) != len(result.critiques or []):
        raise DataError(
            f"{where}: {len(result.stop_reasons)} stop_reasons for "
            f"{len(result.critiques or [])} critiques of {row.id!r}."
        )
    sample = first_error_sample(row)
    sample.metadata = {**(sample.metadata or {}), "recorded": result.record}
    return sample


_PUBLISHED_NAME = re.compile(r"(.+)_(?:error|correct)\.[a-z]+(?:\.gz)?")
"""The names of ProcessBench's own files; the first part is the subset."""

UNNAMED = "rewards"
"""The name of the reward model if the scores name none."""


def _scores_by_model(value: object) -> object:
    value = json_list(value)
    return {UNNAMED: value} if isinstance(value, list) else value


class RecordedSolutionRow(BaseModel):
    """One of several sampled solutions of a problem, with its step scores by reward model."""

    model_config = ConfigDict(extra="ignore", strict=True)

    problem_id: Id = named("problem_id", "id")
    problem: NonEmpty = named("problem", "question")
    target: Answer = named("target", "gt_answer", "ground_truth_as_recorded")
    answer: Annotated[str | None, BeforeValidator(answer_text)] = named(
        "answer", "pred_answer", "extracted_answer", default=None
    )
    steps: Steps
    scores: Annotated[dict[str, list[float | None]], BeforeValidator(_scores_by_model)] = named(
        "scores", "step_scores", "prm_step_scores"
    )
    correct: bool | None = named("correct", "is_correct", "is_correct_as_recorded", default=None)
    """As recorded. The answers are compared again anyway."""


def recorded_solutions(files: Iterable[str]) -> dict[str, list[RecordedSolutionRow]]:
    """Return the solutions of each problem, in the order of the files."""
    problems: dict[str, list[RecordedSolutionRow]] = {}
    for address in files:
        for number, content in read_rows(address):
            where = f"{address}: row {number}"
            solution = validate_row(content, RecordedSolutionRow, where)
            others = problems.setdefault(solution.problem_id, [])
            _check_solution(solution, others, where)
            others.append(solution)
    if not problems:
        raise DataError("The files hold no solutions.")
    return problems


def solution_datasets(files: Iterable[str]) -> dict[str, MemoryDataset]:
    """Return the problems as samples, with the recorded solutions as metadata, by reward model."""
    problems = recorded_solutions(files)
    models = dict.fromkeys(model for [first, *_] in problems.values() for model in first.scores)
    return {
        model: MemoryDataset(
            [
                _solutions_sample(solutions, model)
                for solutions in problems.values()
                # A reward model may have scored only some of the sets of problems.
                if model in solutions[0].scores
            ],
            name="solutions",
        )
        for model in models
    }


def _solutions_sample(solutions: list[RecordedSolutionRow], model: str) -> Sample:
    first = solutions[0]
    recorded = [
        RecordedSolution(steps=one.steps, answer=one.answer, scores=one.scores[model])
        for one in solutions
    ]
    return Sample(
        id=first.problem_id,
        input=first.problem,
        target=first.target,
        metadata={
            **GroupMetadata(cluster=problem_cluster(first.problem)).model_dump(),
            **RecordedSolutionsMetadata(recorded=recorded).model_dump(),
        },
    )


def holds_solutions(address: str) -> bool:
    """Return whether the first row of a file is a sampled solution."""
    first: Any = next(read_rows(address), (0, None))[1]
    return (
        isinstance(first, dict)
        and "steps" in first
        and "label" not in first
        and bool(first.keys() & {"prm_step_scores", "step_scores", "scores"})
    )


def _check_solution(
    solution: RecordedSolutionRow, others: list[RecordedSolutionRow], where: str
) -> None:
    for model, scores in solution.scores.items():
        if len(scores) != len(solution.steps):
            raise DataError(
                f"{where}: {len(scores)} scores of {model!r} for {len(solution.steps)} steps."
            )
        odd = [score for score in scores if score is not None and not 0 <= score <= 1]
        if odd:
            raise DataError(f"{where}: the score {odd[0]} of {model!r} is not from 0 to 1.")
    if others and others[0].target != solution.target:
        raise DataError(
            f"{where}: the answer to {solution.problem_id!r} is {solution.target!r} here and "
            f"{others[0].target!r} in an earlier row."
        )
    if others and others[0].scores.keys() != solution.scores.keys():
        raise DataError(
            f"{where}: scored by {', '.join(sorted(solution.scores))}; an earlier row of "
            f"{solution.problem_id!r} by {', '.join(sorted(others[0].scores))}."
        )


_PATH = re.compile(r"processbench_(\w+)/[^/]+/verification=([^/]+)/[^/]+\.json$")
_SEED = 68
"""The seed of the published shuffle."""


def holds_verifier_scores(address: str) -> bool:
    """Return whether a file is one of FoVer's, by its path."""
    return _PATH.search(address) is not None


def verifier_records(address: str, source: str) -> Iterator[RawRow]:
    """Yield the step scores in a file as records with the ids of their rows.

    The scores end at the first step that is labelled wrong.
    """
    import numpy as np

    found = _PATH.search(address)
    assert found is not None  # noqa: S101 (the caller asked)
    subset, model = found.groups()
    content = read_object(address)
    scores, labels, count = (
        content.get(name) for name in ("y_pred_step_level", "y_true_step_level", "num_instances")
    )
    if not isinstance(scores, list) or not isinstance(labels, list) or not isinstance(count, int):
        raise DataError(
            f"{address}: FoVer's files have y_pred_step_level, y_true_step_level and num_instances."
        )
    rows = load_rows(source, subset)
    order = np.random.default_rng(_SEED).permutation(len(rows))[:count]
    chosen = [rows[place] for place in order.tolist()]
    expected = [label for row in chosen for label in _right_steps(row)]
    if labels != expected or len(scores) != len(expected):
        raise DataError(
            f"{address}: {len(scores)} scores whose labels are not those of the {count} rows of "
            f"{subset!r} that FoVer drew. Use the published order of rows in {source!r}."
        )
    start = 0
    for number, row in enumerate(chosen, start=1):
        end = start + len(_right_steps(row))
        yield number, {"id": row.id, "subset": subset, "model": model, "scores": scores[start:end]}
        start = end


def _right_steps(row: FirstErrorRow) -> list[bool]:
    """Return whether each step is right, up to the first wrong one."""
    return [True] * len(row.steps) if row.label == NO_ERROR else [True] * row.label + [False]
