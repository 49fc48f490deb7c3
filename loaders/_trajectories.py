"""Rows about agents as first-error rows: labelled trajectories, and logs of teams that failed.

In a trajectory, assistant messages are the steps. In the log of a team, every entry is a step.
"""

import json
from collections.abc import Mapping, Sequence
from pathlib import PurePosixPath
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from misstep.loaders._rows import (
    Index,
    NonEmpty,
    id_text,
    json_list,
    named,
    printed_list,
    whole_number,
)
from misstep.trajectories import ERROR_KINDS, NO_TEXT, Message, Rendering, read_message, render
from misstep.verdicts import NO_ERROR

TRAJECTORY = "trajectory"
"""The metadata key with the original messages and tools."""

_SHOWN = 60
"""Characters of a bad value that a message quotes."""

StepLabel = Literal[-1, 0, 1]
STEP_LABELS: tuple[StepLabel, ...] = (-1, 0, 1)
"""Wrong or harmful; neutral; right and useful."""

_Label = Annotated[StepLabel, BeforeValidator(whole_number)]
SETS = ("hotpotqa", "gaia_dev", "bfcl", "tau2")
"""The sets of AgentProcessBench in the order of `total_index`."""
SET_ROWS = 250
RUNS_PER_QUERY = 5


class TrajectoryRow(BaseModel):
    """A row of AgentProcessBench, or of a user's own file of labelled trajectories.

    The keys of `step_labels` are places among the messages. A user's own row may have `label`
    instead, the index of the first wrong step. A row without messages has the labels alone: it is
    enough to score recorded judgements.
    """

    model_config = ConfigDict(extra="allow", strict=True)

    id: Annotated[NonEmpty | None, BeforeValidator(id_text)] = None
    subset: NonEmpty | None = None
    dataset: str | None = None
    total_index: Index = None
    query_index: Index = None
    sample_index: Index = None
    # Mostly a text. A task of several turns may be a list of messages.
    question: Any = None
    task_description: Any = None
    messages: Annotated[list[Any] | None, BeforeValidator(json_list)] = None
    tools: Annotated[list[Any], BeforeValidator(lambda x: printed_list(x or []))] = []
    step_labels: dict[str, _Label] | None = None
    label: Index = None
    final_label: Any = None
    cluster: str | None = None


def trajectory_fields(content: dict[str, Any]) -> dict[str, Any]:
    """Return the fields of a first-error row. The label is the first step that is labelled -1."""
    row = TrajectoryRow.model_validate(content)
    if row.messages is None:
        rendering = _without_text(row)
    else:
        rendering = render(read_messages(row.messages))
        if not rendering.steps:
            raise ValueError("messages: no assistant message, so there is no step to judge")
    labels = _labels(row, rendering)
    name = _name(row)
    wrong = [step for step, label in enumerate(labels or ()) if label == -1]
    label = row.label if labels is None else wrong[0] if wrong else NO_ERROR
    kinds = rendering.kinds
    wrong_kind = kinds[label] if label is not None and 0 <= label < len(kinds) else None
    fields = {
        "problem": _problem(row),
        "steps": rendering.steps,
        "label": label,
        "subset": row.subset or row.dataset or (_set(row) if row.id is None else None),
        "step_labels": labels,
        "message_index": rendering.message_index,
        "step_kinds": kinds or None,
        "error_kind": None if wrong_kind is None else ERROR_KINDS[wrong_kind],
        "final_label": row.final_label,
        "cluster": row.cluster or _query(row),
        "media": rendering.media or None,
        TRAJECTORY: None
        if row.messages is None
        else {
            "question": row.question,
            "task_description": row.task_description,
            # As given: the published prompt shows it in JSON.
            "tools": content.get("tools"),
            "messages": row.messages,
        },
    }
    found = {name: value for name, value in fields.items() if value is not None}
    return found if name is None else {"id": name, **found}


def read_messages(raw: Sequence[object]) -> list[Message]:
    messages = []
    for index, content in enumerate(raw):
        try:
            messages.append(read_message(content))
        except ValidationError as problem:
            reason = _message_problem(content, problem)
            raise ValueError(f"messages[{index}] is not a chat message: {reason}") from None
        except ValueError as problem:
            raise ValueError(f"messages[{index}] is not a chat message: {problem}") from None
    return messages


def _message_problem(content: object, problem: ValidationError) -> str:
    """Return what is wrong with a message, in one line: the field, its value, and what is allowed.

    Pydantic names every type that a field may have.
    """
    if not isinstance(content, dict):
        return f"{_shown(content)} is no object with `role` and `content`"
    first = problem.errors()[0]
    field = str(first["loc"][0])
    if field not in content:
        return f"it has no `{field}`"
    allowed = {
        "role": "one of system, developer, user, assistant, tool, function",
        "tool_calls": "a list of calls, each with a function",
    }.get(field, "a text")
    return f"`{field}` is {_shown(content[field])}; it must be {allowed}"


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"


def _without_text(row: TrajectoryRow) -> Rendering:
    if not row.step_labels:
        raise ValueError("neither messages nor step_labels: one of them is needed")
    places = sorted(_places(row.step_labels))
    return Rendering([NO_TEXT] * len(places), places, [])


def _places(labels: Mapping[str, int]) -> list[int]:
    try:
        return [int(place) for place in labels]
    except ValueError:
        raise ValueError("step_labels: the keys must be places among the messages") from None


def _labels(row: TrajectoryRow, rendering: Rendering) -> list[StepLabel] | None:
    """Return the labels in the order of steps; raise ValueError if they belong to other messages.

    They are None if the row has only the index of the first wrong step.
    """
    if row.step_labels is None:
        if row.label is None:
            raise ValueError("step_labels: missing; or give `label`, the first wrong step")
        return None
    places = set(_places(row.step_labels))
    steps = set(rendering.message_index)
    if places - steps:
        raise ValueError(
            f"step_labels: message {min(places - steps)} is no assistant message of this row; "
            f"those are {', '.join(map(str, rendering.message_index))}"
        )
    if steps - places:
        raise ValueError(f"step_labels: the assistant message {min(steps - places)} has no label")
    return [row.step_labels[str(place)] for place in rendering.message_index]


def _set(row: TrajectoryRow) -> str | None:
    if row.total_index is None or not 0 <= row.total_index < SET_ROWS * len(SETS):
        return None
    return SETS[row.total_index // SET_ROWS]


def _name(row: TrajectoryRow) -> str | None:
    if row.id is not None:
        return row.id
    return None if _set(row) is None else f"{_set(row)}-{row.total_index}"


def _query(row: TrajectoryRow) -> str | None:
    """Return the query that a trajectory answers. Five trajectories of one query are a cluster."""
    if row.id is not None or row.query_index is None:
        return None
    return f"{_set(row)}-{row.query_index}"


def _problem(row: TrajectoryRow) -> str:
    """Return the task of the agent, with its tools."""
    asked = (read_message(one).text for one in row.messages or () if one.get("role") == "user")
    given = row.question or row.task_description
    if given and not isinstance(given, str):
        given = json.dumps(given, ensure_ascii=False)
    task = given or next(asked, "") or "(no task is given)"
    lines = [line for tool in row.tools if (line := _tool_line(tool))]
    return "\n".join([task, "", "Tools of the agent:", *lines]) if lines else task


def _tool_line(tool: object) -> str:
    about = tool.get("function", tool) if isinstance(tool, dict) else {}
    if not isinstance(about, dict) or not isinstance(about.get("name"), str):
        return ""
    description = " ".join(str(about.get("description") or "").split())
    return f"- {about['name']}: {description}" if description else f"- {about['name']}"


_FOLDERS = {"Algorithm-Generated": "algorithm", "Hand-Crafted": "hand"}
"""The folders of Who&When, and how the ids of their rows begin."""


def printed(value: object) -> object:
    """Return anything but nothing as text, as Python prints it: the published prompts do so."""
    return None if value is None else str(value)


class HistoryEntry(BaseModel):
    """One entry of a log. The speaker is its name, or else its role."""

    content: Annotated[str, BeforeValidator(lambda value: printed(value) or "")] = ""
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
    ground_truth: Annotated[str | None, BeforeValidator(printed)] = named(
        "ground_truth", "groundtruth", default=None
    )
    level: Annotated[str | None, BeforeValidator(printed)] = None
    file: str | None = None
    """The path of the row's own file, if each row has one."""


def attribution_fields(content: dict[str, Any]) -> dict[str, Any]:
    """Return the fields of a first-error row. The label is the step of the decisive mistake."""
    row = FailureRow.model_validate(content)
    agents = [entry.speaker for entry in row.history]
    path = PurePosixPath(row.file or "")
    subset = row.subset or (path.parent.name or None)
    name = row.id or (f"{_FOLDERS.get(str(subset), subset)}-{path.stem}" if row.file else None)
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
