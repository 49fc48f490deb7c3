"""Messages to the injector and the reviewer, and their replies."""

import json
import re
from collections.abc import Iterable, Sequence
from typing import TypeVar

from inspect_ai.solver import TaskState
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from misstep.forge._checks import Failure
from misstep.registry import fill, injection_prompts, taxonomy
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
        for name in state.metadata["error_types"]
    ]
    return fill(injection_prompts().system, {"{taxonomy}": "\n".join(descriptions)})


def request_text(state: TaskState) -> str:
    """Return the request to inject an error into one solution, at its target step."""
    steps: list[str] = state.metadata["steps"]
    target: int = state.metadata["target"]
    return fill(
        injection_prompts().request,
        {
            "{problem}": state.input_text,
            "{count}": str(len(steps)),
            "{steps}": tagged(steps, "step"),
            "{answer}": state.metadata["answer"],
            "{step}": str(target),
            "{last}": str(len(steps) - 1),
            "{types}": " or ".join(state.metadata["error_types"]),
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
