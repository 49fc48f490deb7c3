"""Sampled solutions with the scores of their steps, recorded elsewhere."""

from collections.abc import Iterable
from typing import Annotated, Any

from inspect_ai.dataset import MemoryDataset, Sample
from pydantic import AliasChoices, BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from misstep.loaders._fields import NonEmpty, id_text, json_list
from misstep.loaders._files import parse_rows, read_file
from misstep.loaders._problems import answer_text
from misstep.loaders._rows import explain
from misstep.registry import RECORDED, DataError

UNNAMED = "rewards"
"""The reward model of scores that name none."""

_Scores = list[float | None]


def _by_model(value: object) -> object:
    value = json_list(value)
    return {UNNAMED: value} if isinstance(value, list) else value


class RecordedSolution(BaseModel):
    """One of several solutions of a problem, with the scores that reward models gave its steps."""

    model_config = ConfigDict(extra="ignore", strict=True)

    problem_id: Annotated[NonEmpty, BeforeValidator(id_text)] = Field(
        validation_alias=AliasChoices("problem_id", "id")
    )
    problem: NonEmpty = Field(validation_alias=AliasChoices("problem", "question"))
    target: Annotated[NonEmpty, BeforeValidator(answer_text)] = Field(
        validation_alias=AliasChoices("target", "gt_answer", "ground_truth_as_recorded")
    )
    answer: Annotated[str | None, BeforeValidator(answer_text)] = Field(
        default=None, validation_alias=AliasChoices("answer", "pred_answer", "extracted_answer")
    )
    steps: Annotated[list[str], BeforeValidator(json_list), Field(min_length=1)]
    scores: Annotated[dict[str, _Scores], BeforeValidator(_by_model)] = Field(
        validation_alias=AliasChoices("scores", "step_scores", "prm_step_scores")
    )
    correct: bool | None = Field(
        default=None, validation_alias=AliasChoices("correct", "is_correct_as_recorded")
    )
    """As recorded; the answers are compared again all the same."""


def recorded_solutions(files: Iterable[str]) -> dict[str, list[RecordedSolution]]:
    """The solutions of each problem, in the order of the files.

    Raises:
        DataError: A malformed row, another number of scores than steps, a score that is no number
            from 0 to 1, or a problem whose rows do not agree.
    """
    problems: dict[str, list[RecordedSolution]] = {}
    for address in files:
        for number, content in parse_rows(read_file(address), address):
            solution = _solution(content, f"{address}: row {number}")
            others = problems.setdefault(solution.problem_id, [])
            _check_fit(solution, others, f"{address}: row {number}")
            others.append(solution)
    if not problems:
        raise DataError("The files hold no solutions.")
    return problems


def solution_datasets(files: Iterable[str]) -> dict[str, MemoryDataset]:
    """The problems as samples, with the recorded solutions as metadata, by reward model."""
    problems = recorded_solutions(files)
    models = dict.fromkeys(model for [first, *_] in problems.values() for model in first.scores)
    return {
        model: MemoryDataset(
            [_sample(solutions, model) for solutions in problems.values()], name="solutions"
        )
        for model in models
    }


def _sample(solutions: list[RecordedSolution], model: str) -> Sample:
    first = solutions[0]
    recorded = [
        {"steps": one.steps, "answer": one.answer, "scores": one.scores[model]} for one in solutions
    ]
    return Sample(
        id=first.problem_id,
        input=first.problem,
        target=first.target,
        metadata={"subset": None, RECORDED: recorded},
    )


def holds_solutions(address: str) -> bool:
    """Whether a file holds sampled solutions, by its first row."""
    first: Any = next(iter(parse_rows(read_file(address), address)), (0, None))[1]
    return (
        isinstance(first, dict)
        and "steps" in first
        and "label" not in first
        and bool(first.keys() & {"prm_step_scores", "step_scores", "scores"})
    )


def _solution(content: object, where: str) -> RecordedSolution:
    if not isinstance(content, dict):
        raise DataError(f"{where}: a {type(content).__name__}, not an object.")
    try:
        return RecordedSolution.model_validate(content)
    except ValidationError as problem:
        field, account = explain(problem.errors(include_url=False)[0])
        raise DataError(f"{where}: {field}: {account}") from None


def _check_fit(solution: RecordedSolution, others: list[RecordedSolution], where: str) -> None:
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
