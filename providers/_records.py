"""Recorded outputs: JSON Lines, one object a line, read once and checked line by line."""

from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import Annotated, NamedTuple, Self

from inspect_ai.model import ModelUsage, StopReason
from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from misstep.registry import ModelError, did_you_mean

_MAX_LINE = 64 * 1024**2

_Score = Annotated[float, Field(allow_inf_nan=False)]
_Count = Annotated[int, Field(ge=0)]


class Usage(BaseModel):
    """The tokens that the recorded request took."""

    model_config = ConfigDict(extra="forbid", strict=True)

    input_tokens: _Count = 0
    output_tokens: _Count = 0


class Record(BaseModel):
    """One line: what was answered for a sample, or how its steps were scored."""

    model_config = ConfigDict(extra="forbid", strict=True)

    id: str | int
    """The sample's id, compared as text."""

    text: str | None = None
    """The one answer."""

    texts: list[str] | None = Field(default=None, min_length=1)
    """The votes, in the order of the choices."""

    scores: list[_Score] | None = None
    """A reward model's score of each step."""

    step: _Count | None = None
    """The step that the answer judges, where each step was asked about by itself."""

    stop_reason: StopReason = "stop"
    usage: Usage | None = None

    reasoning: str | list[str] | None = None
    """What was thought before `text`, or before each of `texts`."""

    @model_validator(mode="after")
    def _fits(self) -> Self:
        if sum(value is not None for value in (self.text, self.texts, self.scores)) != 1:
            raise ValueError("give one of 'text', 'texts' and 'scores'")
        if self.scores is not None and (self.step is not None or self.reasoning is not None):
            raise ValueError("'scores' cover all steps and go without 'step' and 'reasoning'")
        if self.text is not None and isinstance(self.reasoning, list):
            raise ValueError("'reasoning' is one string beside 'text'")
        if self.texts is not None and self.reasoning is not None:
            count = len(self.reasoning) if isinstance(self.reasoning, list) else None
            if count != len(self.texts):
                raise ValueError("'reasoning' is a list as long as 'texts' beside them")
        return self


class Answer(NamedTuple):
    """What was recorded for one call: a text and its reasoning for each choice."""

    line: int
    texts: list[str]
    reasoning: list[str] | None
    stop_reason: StopReason
    usage: ModelUsage
    chance: float | None = None
    """Of a recorded score: how probable it holds the step to be right."""


class Recording(NamedTuple):
    """A file of recorded outputs."""

    path: Path
    answers: dict[tuple[str, int | None], Answer]
    scores: dict[str, tuple[int, list[float]]]


def read_recording(path: Path) -> Recording:
    """Read a file of recorded outputs; once per process, unless the file changes.

    Raises:
        ModelError: There is no such file, or a line in it is not a record.
    """
    try:
        status = path.stat()
        return _read(path, status.st_mtime_ns, status.st_size)
    except OSError as problem:
        raise ModelError(
            f"Recorded outputs {path} cannot be read: {problem.strerror}. "
            "Give the path of a JSON Lines file: replay//path/to/outputs.jsonl."
        ) from None


@lru_cache(maxsize=8)
def _read(path: Path, _changed: int, _size: int) -> Recording:
    recording = Recording(path, {}, {})
    for number, line in _lines(path):
        try:
            record = Record.model_validate_json(line)
        except ValidationError as problem:
            raise ModelError(f"{path}, line {number}: {_explain(problem)}") from None
        _add(recording, number, record)
    if not recording.answers and not recording.scores:
        raise ModelError(f"{path} holds no records. One JSON object a line is wanted.")
    return recording


def _lines(path: Path) -> Iterator[tuple[int, bytes]]:
    with path.open("rb") as stream:
        for number, line in enumerate(iter(lambda: stream.readline(_MAX_LINE + 1), b""), start=1):
            if len(line) > _MAX_LINE:
                raise ModelError(
                    f"{path}, line {number}: longer than {_MAX_LINE} bytes. "
                    "One JSON object a line is wanted."
                )
            if line.strip():
                yield number, line


def _add(recording: Recording, number: int, record: Record) -> None:
    name = str(record.id)
    if record.scores is not None:
        what, earlier = f"scores of id {name!r}", recording.scores.get(name, (None,))[0]
        recording.scores[name] = (number, record.scores)
    else:
        step = "" if record.step is None else f", step {record.step}"
        key = (name, record.step)
        kept = recording.answers.get(key)
        what, earlier = f"id {name!r}{step}", kept.line if kept else None
        recording.answers[key] = _answer(number, record)
    if earlier is not None:
        raise ModelError(
            f"{recording.path}, line {number}: {what} stands on line {earlier} already. "
            "Keep one of them; several votes go into one record's 'texts'."
        )


def _answer(number: int, record: Record) -> Answer:
    usage = record.usage or Usage()
    return Answer(
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


def _explain(problem: ValidationError) -> str:
    error = problem.errors(include_url=False)[0]
    # pydantic also names the member of a union that it tried, which says nothing to a user.
    where = [part for part in error["loc"] if part not in ("str", "int", "list[str]")]
    match error["type"]:
        case "extra_forbidden":
            known = Usage.model_fields if len(where) > 1 else Record.model_fields
            return f"unknown key {where[-1]!r}.{did_you_mean(str(where[-1]), known)}"
        case "value_error":
            return f"{error['ctx']['error']}."
        case "json_invalid":
            cause = error["ctx"]["error"].replace(" at line 1 column", " at byte")
            return f"not valid JSON ({cause})."
        case _:
            return f"{'.'.join(map(str, where)) or 'the line'}: {error['msg']}."
