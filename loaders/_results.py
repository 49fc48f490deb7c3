"""Results of runs made elsewhere: ProcessBench's own files, step scores, plain predictions."""

from collections.abc import Iterable
from pathlib import PurePosixPath
from typing import Annotated, Any

from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.model import StopReason
from pydantic import AliasChoices, BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from misstep.loaders._fields import id_text, whole_number
from misstep.loaders._files import parse_rows, read_file
from misstep.loaders._first_error import load_rows, sample_of
from misstep.loaders._rows import Row, explain
from misstep.registry import RECORDED, DataError

_Score = Annotated[float, Field(allow_inf_nan=False)]


def _text_list(value: object) -> object:
    return [value] if isinstance(value, str) else value


def _maybe_whole_number(value: object) -> object:
    return None if value in (None, "") else whole_number(value)


class Result(BaseModel):
    """What a run left for one sample."""

    model_config = ConfigDict(extra="allow", strict=True)

    id: Annotated[str, BeforeValidator(id_text)]
    model: str | None = None
    subset: str | None = Field(default=None, validation_alias=AliasChoices("subset", "config"))
    critiques: Annotated[list[str] | None, BeforeValidator(_text_list)] = Field(
        default=None, validation_alias="generated_critique", min_length=1
    )
    stop_reasons: list[StopReason] | None = None
    """Why each critique ended, where that is recorded; otherwise each came to its end."""
    scores: list[_Score] | None = Field(
        default=None,
        validation_alias=AliasChoices("scores", "step_scores", "step_scores_up_to_first_error"),
    )
    prediction: Annotated[int | None, BeforeValidator(_maybe_whole_number)] = None

    @property
    def record(self) -> dict[str, Any]:
        """What a critic can be made of again."""
        kept = {
            "critiques": self.critiques,
            "stop_reasons": self.stop_reasons,
            "scores": self.scores,
            "prediction": self.prediction,
        }
        return {name: value for name, value in kept.items() if value is not None}


def recorded_datasets(
    files: Iterable[str], source: str, subset: str | None = None
) -> dict[str | None, MemoryDataset]:
    """The rows that results are recorded for, with the records as metadata, by model.

    Args:
        files: JSON, JSONL, CSV or Parquet files. Rows that hold problem, steps and label, as
            ProcessBench's result files do, are used as they are; others are found by their id.
        source: Where the rows of the others are.
        subset: The subset of the others, where the records do not name it.

    Raises:
        DataError: A malformed record, an id that is unknown or recorded twice, more scores than
            steps, or nothing at all.
    """
    rows = _Rows(source, subset)
    samples: dict[str | None, dict[str, Sample]] = {}
    for address in files:
        for number, content in parse_rows(read_file(address), address):
            where = f"{address}: row {number}"
            result = _result(content, where)
            row = _own_row(content, address) or rows.find(result, where)
            of_model = samples.setdefault(result.model, {})
            if row.id in of_model:
                raise DataError(f"{where}: the id {row.id!r} is recorded twice for this model.")
            of_model[row.id] = _sample(row, result, where)
    if not samples:
        raise DataError("The files hold no results.")
    return {
        model: MemoryDataset(list(found.values()), name=source) for model, found in samples.items()
    }


def _result(content: object, where: str) -> Result:
    if not isinstance(content, dict):
        raise DataError(f"{where}: a {type(content).__name__}, not an object.")
    try:
        return Result.model_validate(content)
    except ValidationError as problem:
        field, account = explain(problem.errors(include_url=False)[0])
        raise DataError(f"{where}: {field}: {account}") from None


def _own_row(content: dict[str, Any], address: str) -> Row | None:
    """The row itself, where the file holds it; its subset is in the name, as `math_error.jsonl`."""
    if not {"problem", "steps", "label"} <= content.keys():
        return None
    name = PurePosixPath(address).stem
    subset = name.removesuffix("_error").removesuffix("_correct")
    fields = {key: content[key] for key in Row.model_fields if key in content}
    try:
        return Row.model_validate({"subset": subset if subset != name else None} | fields)
    except ValidationError as problem:
        field, account = explain(problem.errors(include_url=False)[0])
        raise DataError(f"{address}: id {content.get('id')!r}: {field}: {account}") from None


class _Rows:
    """The rows of a source by their id, loaded when they are asked for."""

    def __init__(self, source: str, subset: str | None) -> None:
        self._source = source
        self._subset = subset
        self._known: dict[str | None, dict[str, Row]] = {}

    def find(self, result: Result, where: str) -> Row:
        subset = result.subset or self._subset
        if subset not in self._known:
            rows = load_rows(self._source, subset)
            self._known[subset] = {row.id: row for row in rows}
        if result.id not in self._known[subset]:
            place = f"{self._source!r}" + (f", subset {subset!r}" if subset else "")
            raise DataError(f"{where}: the id {result.id!r} is not among the rows of {place}.")
        return self._known[subset][result.id]


def _sample(row: Row, result: Result, where: str) -> Sample:
    if result.scores is not None and len(result.scores) > len(row.steps):
        raise DataError(
            f"{where}: {len(result.scores)} scores for the {len(row.steps)} steps of {row.id!r}."
        )
    if result.stop_reasons is not None and len(result.stop_reasons) != len(result.critiques or []):
        raise DataError(
            f"{where}: {len(result.stop_reasons)} stop_reasons for "
            f"{len(result.critiques or [])} critiques of {row.id!r}."
        )
    sample = sample_of(row)
    sample.metadata = {**(sample.metadata or {}), RECORDED: result.record}
    return sample
