"""The calls of a build: what is asked, how replies are read, and the file that keeps the answers.

The file is JSON Lines: one line for each answer, written as it arrives, so that a build can resume.
Lines are not trusted: an answer from the file is read and checked like any reply of a model. A line
that cannot be read counts as no answer, and its call is made again.
"""

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from typing import IO, TypeVar

from inspect_ai.log import transcript
from inspect_ai.model import ChatMessage, GenerateConfig, Model, ModelOutput
from inspect_ai.solver import TaskState
from pydantic import BaseModel, ConfigDict, Field, ValidationError
from pydantic_core import from_json, to_json

from misstep.forge._checks import Failure
from misstep.forge._example import SolutionToInject
from misstep.providers import short_errors
from misstep.registry import DataError, fill, injection_prompts, taxonomy
from misstep.solvers import tagged

T = TypeVar("T", bound=BaseModel)

_FENCED = re.compile(r"```(?:json)?[ \t]*\n(.*?)```", re.DOTALL)


class InjectionReply(BaseModel):
    """An injected error in the words of the injector."""

    model_config = ConfigDict(extra="ignore")

    error_step: int
    error_type: str
    rationale: str
    rewritten_steps: list[str] = Field(min_length=1)
    final_answer: str = Field(min_length=1)
    what_changed: str
    why_incorrect: str
    detection_difficulty: str


class ReviewReply(BaseModel):
    """The judgement of the reviewer."""

    model_config = ConfigDict(extra="ignore")

    first_wrong_step: int
    later_steps_follow: bool
    reason: str


def system_text(state: TaskState) -> str:
    """Return the system message for the injector."""
    kinds = taxonomy()
    descriptions = [
        f"- {name}: {kinds[name].description} Example: {kinds[name].example}"
        for name in state.metadata_as(SolutionToInject).error_types
    ]
    return fill(injection_prompts().system, {"{taxonomy}": "\n".join(descriptions)})


def request_text(state: TaskState) -> str:
    """Return the request to inject an error into one solution, at its target step."""
    about = state.metadata_as(SolutionToInject)
    steps, target = about.steps, about.target
    return fill(
        injection_prompts().request,
        {
            "{problem}": state.input_text,
            "{count}": str(len(steps)),
            "{steps}": tagged(steps, "step"),
            "{answer}": about.answer,
            "{step}": str(target),
            "{last}": str(len(steps) - 1),
            "{types}": " or ".join(about.error_types),
            "{remaining}": str(len(steps) - target),
        },
    )


def complaint_text(failures: Iterable[Failure]) -> str:
    """Return the message that lists the failures of a reply."""
    complaints = "\n".join(f"- {failure.stage}: {failure.detail}" for failure in failures)
    return fill(injection_prompts().complaint, {"{complaints}": complaints})


def review_text(problem: str, steps: Sequence[str]) -> str:
    """Return the request to review a solution. It does not tell what is claimed about it."""
    values = {"{problem}": problem, "{steps}": tagged(steps, "step")}
    return fill(injection_prompts().review_request, values)


def read_reply(text: str, kind: type[T]) -> T | Failure:
    """Return the JSON object in a reply, alone or in a code block, or why there is none."""
    fenced = _FENCED.search(text)
    body = (fenced[1] if fenced else text).strip()
    start, end = body.find("{"), body.rfind("}")
    try:
        content = json.loads(body[start : end + 1] if 0 <= start < end else body)
    except (ValueError, RecursionError) as problem:  # ValueError also for a number that is too long
        return Failure("reply", "not_json", f"the reply is not JSON: {problem}")
    try:
        return kind.model_validate(content)
    except ValidationError as problem:
        errors = problem.errors(include_url=False)
        missing = any(error["type"] == "missing" for error in errors)
        detail = "; ".join(f"{'.'.join(map(str, e['loc'])) or 'reply'}: {e['msg']}" for e in errors)
        reason = "missing_field" if missing else "malformed_field"
        return Failure("reply", reason, detail)


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
    with short_errors(model):
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
