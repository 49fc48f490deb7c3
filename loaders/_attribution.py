"""Logs of failed multi-agent systems as first-error rows: every entry of the log is a step."""

from pathlib import PurePosixPath
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from misstep.loaders._rows import NonEmpty, id_text, json_list, named, whole_number

_SETS = {"Algorithm-Generated": "algorithm", "Hand-Crafted": "hand"}
"""The folders of Who&When, and how the ids of their rows begin."""


class HistoryEntry(BaseModel):
    """One entry of a log. The speaker is its name, or else its role."""

    content: Annotated[str, BeforeValidator(lambda text: "" if text is None else text)] = ""
    role: str | None = None
    name: str | None = None

    @property
    def speaker(self) -> str:
        """Who wrote the entry."""
        return self.name or self.role or "unknown"


class FailureRow(BaseModel):
    """A row of Who&When, or of a user's own file."""

    model_config = ConfigDict(extra="allow", strict=True)

    id: Annotated[NonEmpty | None, BeforeValidator(id_text)] = None
    subset: NonEmpty | None = None
    question: NonEmpty
    history: Annotated[list[HistoryEntry], BeforeValidator(json_list), Field(min_length=1)]
    mistake_agent: NonEmpty
    mistake_step: Annotated[int, BeforeValidator(whole_number)]
    mistake_reason: str | None = None
    ground_truth: Annotated[str | None, BeforeValidator(id_text)] = named(
        "ground_truth", "groundtruth", default=None
    )
    level: Annotated[str | None, BeforeValidator(id_text)] = None
    file: str | None = None
    """The path of the row's own file, if each row has one."""


def attribution_fields(content: dict[str, Any]) -> dict[str, Any]:
    """Return the fields of a first-error row. The label is the step of the decisive mistake."""
    row = FailureRow.model_validate(content)
    agents = [entry.speaker for entry in row.history]
    path = PurePosixPath(row.file or "")
    subset = row.subset or (path.parent.name or None)
    name = row.id or (f"{_SETS.get(str(subset), subset)}-{path.stem}" if row.file else None)
    fields = {
        "id": name,
        "subset": subset,
        "problem": row.question,
        "steps": [
            f"[step {i}] {entry.speaker}\n{entry.content}" for i, entry in enumerate(row.history)
        ],
        "label": row.mistake_step,
        "agents": agents,
        "mistake_agent": row.mistake_agent,
        "mistake_reason": row.mistake_reason,
        "ground_truth": row.ground_truth,
        "level": row.level,
    }
    return {name: value for name, value in fields.items() if value is not None}
