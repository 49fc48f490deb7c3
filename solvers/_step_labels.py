"""The critic that labels every step of a trajectory in one reply."""

import json
from collections.abc import Sequence

from inspect_ai.model import ChatMessage, ChatMessageSystem, ChatMessageUser, ModelOutput
from inspect_ai.solver import Generate, Solver, TaskState, solver

from misstep.loaders import published_wording
from misstep.registry import (
    NUMBERS,
    PROBLEM,
    SOLUTION,
    LabelsPrompt,
    MisstepError,
    Tag,
    Wording,
    agent_prompts,
    fill,
)
from misstep.samples import SolutionMetadata, TrajectoryMetadata
from misstep.scorers import (
    StepLabels,
    first_wrong_label,
    read_reason,
    read_step_labels,
    read_step_labels_published,
)
from misstep.solvers._calls import ask
from misstep.solvers._verdicts import leave_verdict
from misstep.solvers._windows import Window, windows
from misstep.stores import VerdictRecord, store_verdict
from misstep.verdicts import Unread

_TAG: Tag = "step"


def labels_messages(prompt: LabelsPrompt, problem: str, window: Window) -> list[ChatMessage]:
    """Return the messages that ask for the labels of all steps of a window."""
    numbers = ", ".join(map(str, window.numbers))
    values = {PROBLEM: problem, SOLUTION: window.text, NUMBERS: numbers}
    return [
        ChatMessageSystem(content=prompt.system),
        ChatMessageUser(content=fill(prompt.template, values)),
    ]


def published_messages(about: TrajectoryMetadata) -> list[ChatMessage]:
    """Return the messages of AgentProcessBench's own script, in its own wording."""
    wording = published_wording("agentprocessbench")
    original = about.trajectory
    payload = {
        "question": original.get("question"),
        "task_description": original.get("task_description"),
        "tools": original.get("tools"),
        "messages": list(enumerate(original["messages"])),
        "assistant_message_indices": about.message_index,
        "notes": wording.value("notes"),
    }
    user = wording.template("user").fill(
        instructions=wording.text("instructions"), payload=json.dumps(payload, ensure_ascii=False)
    )
    return [ChatMessageSystem(content=wording.text("rubric")), ChatMessageUser(content=user)]


@solver
def label_steps(context: int | None = None, wording: Wording = "own") -> Solver:
    """Ask for a label for every step: -1 wrong, 0 neutral, 1 right. The first -1 is the verdict.

    The task is the sample's input and the steps are `metadata["steps"]`.

    Args:
        context: The model's context in tokens. Longer trajectories are read in windows.
        wording: The prompt: own, or published for that of AgentProcessBench, which needs the
            original messages in `metadata["trajectory"]`.
    """
    prompt = agent_prompts().labels
    if wording == "published":
        if context is not None:
            raise MisstepError(f"context={context}: windows go with wording=own, not published.")
        published_wording("agentprocessbench")

    async def solve(state: TaskState, generate: Generate) -> TaskState:
        if wording == "published":
            about = state.metadata_as(TrajectoryMetadata)
            messages = published_messages(about)
            output = await ask(state, generate, messages)
            leave_labels(state, *read_labels(output, list(map(str, about.message_index))), output)
            state.messages = [*messages, output.message]
            return state
        steps = state.metadata_as(SolutionMetadata).steps
        around = len(prompt.system) + len(prompt.template) + len(state.input_text)
        parts = windows(steps, _TAG, context, around, prompt.max_tokens)
        if parts is None:
            leave_verdict(state, Unread.TOO_LONG, f"A step does not fit {context:,} tokens.")
            return state
        labels: StepLabels = []
        for part in parts:
            messages = labels_messages(prompt, state.input_text, part)
            output = await ask(state, generate, messages, step=part.first)
            ours, published = read_labels(output, list(map(str, part.numbers)))
            labels += ours
        leave_labels(state, labels, published if len(parts) == 1 else None, output)
        state.messages = [*messages, output.message]
        return state

    return solve


def read_labels(output: ModelOutput, names: Sequence[str]) -> tuple[StepLabels, StepLabels]:
    """Return the labels in a reply by our rule and by the published one; None if unread."""
    text = output.completion
    published = read_step_labels_published(text, names)
    if output.stop_reason in ("max_tokens", "model_length", "content_filter"):
        return [None] * len(names), published
    found = read_step_labels(text, names)
    return ([None] * len(names) if isinstance(found, Unread) else found), published


def leave_labels(
    state: TaskState, labels: StepLabels, published: StepLabels | None, output: ModelOutput
) -> None:
    """Leave the labels of all steps, and the verdict that follows from them."""
    verdict = first_wrong_label(labels)
    if verdict is Unread.NOT_LABELLED and all(label is None for label in labels):
        verdict = _reason_unread(output)
    unread = verdict if isinstance(verdict, Unread) else None
    record = VerdictRecord(
        verdict=None if isinstance(verdict, Unread) else verdict,
        unread=unread,
        labels=labels,
        labels_published=None if published == labels else published,
        reason=read_reason(output.completion),
    )
    store_verdict(state.store, record)
    state.output = output


def _reason_unread(output: ModelOutput) -> Unread:
    if output.stop_reason in ("max_tokens", "model_length"):
        return Unread.TRUNCATED
    if output.stop_reason == "content_filter":
        return Unread.REFUSED
    return Unread.NOT_STRUCTURED if output.completion.strip() else Unread.EMPTY
