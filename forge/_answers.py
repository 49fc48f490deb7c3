"""The answers of a build, kept in a file as they arrive, so that a build can resume.

The file is JSON Lines: one line for each answer. A line is data, whoever wrote it: an answer from
the file is read and checked like any reply of a model. A line that cannot be read counts as no
answer, and its call is made again.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from typing import IO

from inspect_ai.log import transcript
from inspect_ai.model import ChatMessage, GenerateConfig, Model, ModelOutput
from pydantic import BaseModel, ValidationError
from pydantic_core import from_json, to_json

from misstep.providers import short_errors
from misstep.registry import DataError


class _Answer(BaseModel):
    key: str
    output: ModelOutput


class _AnswerFile:
    """Answers by key. Only their places in the file are in memory."""

    def __init__(self, path: Path, stream: IO[bytes]) -> None:
        self._path = path
        self._stream = stream
        self._places: dict[str, int] = {}
        place, line = 0, b"\n"
        stream.seek(0)
        for line in stream:
            if key := _key_in(line):
                self._places[key] = place
            place += len(line)
        if not line.endswith(b"\n"):  # A kill cut off the last line.
            stream.write(b"\n")
            stream.flush()

    def read(self, key: str) -> ModelOutput | None:
        if key not in self._places:
            return None
        self._stream.seek(self._places[key])
        try:
            return _Answer.model_validate_json(self._stream.readline()).output
        except ValidationError:
            return None

    def add(self, key: str, output: ModelOutput) -> None:
        try:
            # The stream appends, wherever the last answer was read.
            self._stream.write(to_json(_Answer(key=key, output=output)) + b"\n")
            self._stream.flush()
        except OSError as problem:
            raise DataError(f"{self._path}: cannot be written ({problem.strerror}).") from None


def _key_in(line: bytes) -> str | None:
    try:
        content = from_json(line)
    except ValueError:
        return None
    key = content.get("key") if isinstance(content, dict) else None
    return key if isinstance(key, str) else None


_open_files: list[_AnswerFile] = []


@contextmanager
def keep_answers(path: Path) -> Iterator[None]:
    """Keep the answers to `ask_once` in a file inside the `with` block, and use those in it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with open(path, "a+b") as stream:
        _open_files.append(_AnswerFile(path, stream))
        try:
            yield
        finally:
            _open_files.pop()


async def ask_once(
    model: Model, messages: Sequence[ChatMessage], config: GenerateConfig, sample_id: str
) -> ModelOutput:
    """Return the answer to a call: from the file of `keep_answers`, else from the model.

    Refusals are not kept: the next run of the build asks again.
    """
    kept = _open_files[-1] if _open_files else None
    key = _key(model, messages, config, sample_id)
    if kept is not None and (known := kept.read(key)) is not None:
        transcript().info({"answer of an earlier run": known.completion}, source="misstep")
        return known
    with short_errors():
        output = await model.generate(list(messages), config=config)
    if kept is not None and output.stop_reason != "content_filter":
        kept.add(key, output)
    return output


def _key(
    model: Model, messages: Sequence[ChatMessage], config: GenerateConfig, sample_id: str
) -> str:
    asked = {
        "model": str(model),
        "sample": sample_id,
        "messages": [[message.role, message.text] for message in messages],
        "config": config.model_dump(exclude_none=True),
    }
    return sha256(to_json(asked)).hexdigest()
