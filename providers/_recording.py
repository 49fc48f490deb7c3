"""Recorded outputs: a file with one record on each line."""

from functools import lru_cache
from pathlib import Path
from typing import Annotated, NamedTuple, Self

from inspect_ai.model import ModelUsage, StopReason
from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from misstep.loaders import read_rows
from misstep.registry import ModelError, did_you_mean

_Score = Annotated[float, Field(allow_inf_nan=False)]
_Count = Annotated[int, Field(ge=0)]


class RecordedUsage(BaseModel):
    """The tokens of a recorded request."""

    model_config = ConfigDict(extra="forbid", strict=True)

    input_tokens: _Count = 0
    output_tokens: _Count = 0


class Record(BaseModel):
    """One line: the answers for a sample, or the scores of its steps."""

    model_config = ConfigDict(extra="forbid", strict=True)

    id: str | int
    """The id of the sample. It is compared as text."""

    text: str | None = None
    """The only answer."""

    texts: list[str] | None = Field(default=None, min_length=1)
    """The votes, in the order of the choices."""

    scores: list[_Score] | None = None
    """The score of a reward model for each step."""

    step: _Count | None = None
    """The step that the answer judges, if there was one call for each step."""

    stop_reason: StopReason = "stop"
    usage: RecordedUsage | None = None

    reasoning: str | list[str] | None = None
    """The model's reasoning before `text`, or before each of `texts`."""

    @model_validator(mode="after")
    def _check_keys(self) -> Self:
        if sum(value is not None for value in (self.text, self.texts, self.scores)) != 1:
            raise ValueError("give one of 'text', 'texts' and 'scores'")
        if self.scores is not None and (self.step is not None or self.reasoning is not None):
            raise ValueError("'scores' cover all steps: leave out 'step' and 'reasoning'")
        if self.text is not None and isinstance(self.reasoning, list):
            raise ValueError("with 'text', 'reasoning' is one string")
        if self.texts is not None and self.reasoning is not None:
            count = len(self.reasoning) if isinstance(self.reasoning, list) else None
            if count != len(self.texts):
                raise ValueError("with 'texts', 'reasoning' is a list of the same length")
        return self


class RecordedAnswer(NamedTuple):
    """The recorded answers to one call: a text and its reasoning for each choice."""

    line: int
    texts: list[str]
    reasoning: list[str] | None
    stop_reason: StopReason
    usage: ModelUsage
    right_probability: float | None = None
    """The score of the step, if the answer is made from a recorded score."""


class Recording(NamedTuple):
    """A file of recorded outputs."""

    path: Path
    answers: dict[tuple[str, int | None], RecordedAnswer]
    """By sample id and step."""
    scores: dict[str, tuple[int, list[float]]]
    """The line and the scores, by sample id."""


def read_recording(path: Path) -> Recording:
    """Read a file of recorded outputs. A file that has not changed is read once per process.

    Raises:
        DataError: The file cannot be read.
        ModelError: There is no such file, or a line is not a valid record.
    """
    try:
        status = path.stat()
    except OSError as error:
        raise ModelError(
            f"Recorded outputs {path} cannot be read: {error.strerror}. "
            "Give the path of a JSON Lines file: replay//path/to/outputs.jsonl."
        ) from None
    return _read(path, status.st_mtime_ns, status.st_size)


@lru_cache(maxsize=8)
def _read(path: Path, _changed: int, _size: int) -> Recording:
    recording = Recording(path, {}, {})
    lines: dict[str, int] = {}
    for number, row in read_rows(str(path)):
        try:
            record = Record.model_validate(row)
        except ValidationError as error:
            raise ModelError(f"{path}, line {number}: {_explanation(error)}") from None
        name, step = str(record.id), record.step
        if record.scores is not None:
            what = f"scores of id {name!r}"
            recording.scores[name] = (number, record.scores)
        else:
            what = f"id {name!r}" + ("" if step is None else f", step {step}")
            recording.answers[name, step] = _answer(number, record)
        if (earlier := lines.setdefault(what, number)) != number:
            raise ModelError(
                f"{path}, line {number}: {what}: already recorded on line {earlier}. "
                "Keep one of them. Several votes belong into the 'texts' of one record."
            )
    if not recording.answers and not recording.scores:
        raise ModelError(f"{path} holds no records. Write one JSON object on each line.")
    return recording


def _answer(number: int, record: Record) -> RecordedAnswer:
    usage = record.usage or RecordedUsage()
    return RecordedAnswer(
        line=number,
        texts=record.texts if record.texts is not None else [record.text or ""],
        reasoning=[record.reasoning] if isinstance(record.reasoning, str) else record.reasoning,
        stop_reason=record.stop_reason,
        usage=ModelUsage(
            input_tokens=usage.input_tokens,
            output_tokens=usage.output_tokens,
            total_tokens=usage.input_tokens + usage.output_tokens,
        ),
    )


def _explanation(problem: ValidationError) -> str:
    error = problem.errors(include_url=False)[0]
    # pydantic also names the member of a union that it tried. That does not help a user.
    where = [part for part in error["loc"] if part not in ("str", "int", "list[str]")]
    match error["type"]:
        case "extra_forbidden":
            known = RecordedUsage.model_fields if len(where) > 1 else Record.model_fields
            return f"unknown key {where[-1]!r}.{did_you_mean(str(where[-1]), known)}"
        case "value_error":
            return f"{error['ctx']['error']}."
        case "model_type":
            return f"{error['input']!r:.60} is not a JSON object."
        case _:
            return f"{'.'.join(map(str, where))}: {error['msg']}."
