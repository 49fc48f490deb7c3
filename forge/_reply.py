"""What the injector and the reviewer reply, read out of their texts and checked."""

import json
import re
from typing import TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError

T = TypeVar("T", bound=BaseModel)

_FENCED = re.compile(r"```(?:json)?[ \t]*\n(.*?)```", re.DOTALL)


class InjectionReply(BaseModel):
    """An injected error, as the injector gives it."""

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
    """What a second model says of it."""

    model_config = ConfigDict(extra="ignore")

    first_wrong_step: int
    confirmed: bool
    reason: str


class UnreadableReplyError(Exception):
    """A reply that is not what was asked for."""

    def __init__(self, reason: str, detail: str) -> None:
        super().__init__(detail)
        self.reason = reason
        self.detail = detail


def read_reply(text: str, kind: type[T]) -> T:
    """The JSON object in a reply, alone or in a code block.

    Raises:
        UnreadableReplyError: There is none, or it lacks something; by a name of its own.
    """
    fenced = _FENCED.search(text)
    body = (fenced[1] if fenced else text).strip()
    start, end = body.find("{"), body.rfind("}")
    try:
        content = json.loads(body[start : end + 1] if 0 <= start < end else body)
    except (ValueError, RecursionError) as problem:  # a number of thousands of digits, too
        raise UnreadableReplyError("not_json", f"the reply is not JSON: {problem}") from None
    try:
        return kind.model_validate(content)
    except ValidationError as problem:
        errors = problem.errors(include_url=False)
        missing = any(error["type"] == "missing" for error in errors)
        said = "; ".join(f"{'.'.join(map(str, e['loc'])) or 'reply'}: {e['msg']}" for e in errors)
        reason = "missing_field" if missing else "malformed_field"
        raise UnreadableReplyError(reason, said) from None
