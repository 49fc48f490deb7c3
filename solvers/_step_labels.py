"""The critics that label every step: in one reply, by labels or by scores; or by a constant."""

import json
import re
from collections.abc import Sequence

from inspect_ai.model import (
    ChatMessage,
    ChatMessageAssistant,
    ChatMessageSystem,
    ChatMessageUser,
    ModelOutput,
)
from inspect_ai.solver import Generate, Solver, TaskState, solver

from misstep.loaders import published_wording
from misstep.providers import short_errors
from misstep.registry import (
    NUMBERS,
    PROBLEM,
    SOLUTION,
    STEPS,
    LabelsPrompt,
    MisstepError,
    Tag,
    Wording,
    agent_prompts,
    fill,
    find_step_scores_prompt,
)
from misstep.samples import GroupMetadata, SolutionMetadata, TrajectoryMetadata
from misstep.scorers import (
    StepLabels,
    first_invalid,
    first_wrong_label,
    read_reason,
    read_step_labels,
    read_step_labels_published,
    read_step_scores,
    validity_of,
)
from misstep.solvers._calls import ask
from misstep.solvers._critique import Window, windows
from misstep.stores import CriticVerdict, StepValidity, VerdictRecord, leave_verdict, store_verdict
from misstep.verdicts import Unread, unread_stop

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
    if unread_stop(output.stop_reason) is not None:
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
    silent = Unread.NOT_STRUCTURED if output.completion.strip() else Unread.EMPTY
    return unread_stop(output.stop_reason) or silent


_OWN_NUMBER = re.compile(r"^(Step\s*\d+\.\s*|\d+\.\s*)", re.IGNORECASE)


def step_scores_messages(
    problem: str, steps: Sequence[str], wording: Wording = "own"
) -> list[ChatMessage]:
    """Return the messages that ask for the scores of all steps.

    The published wording has two worked examples before the question.
    """
    if wording == "published":
        words = published_wording("prmbench")
        plain = (_OWN_NUMBER.sub("", step.strip()) for step in steps)
        listed = "".join(f"Step {i}: {step} \n\n" for i, step in enumerate(plain, start=1))
        messages: list[ChatMessage] = [ChatMessageSystem(content=words.text("system"))]
        for question, answer in words.value("examples"):
            messages += [ChatMessageUser(content=question), ChatMessageAssistant(content=answer)]
        query = f"Question: {problem}\n\n Solutions: {listed}"
        return [*messages, ChatMessageUser(content=query)]
    prompt = find_step_scores_prompt()
    listed = "\n\n".join(f"Step {i}: {step}" for i, step in enumerate(steps, start=1))
    query = fill(prompt.user, {PROBLEM: problem, STEPS: listed})
    return [ChatMessageSystem(content=prompt.system), ChatMessageUser(content=query)]


@solver
def step_scores(wording: Wording = "own") -> Solver:
    """Ask for the validity and the redundancy of every step, as a JSON object.

    The problem is the sample's input and the steps are `metadata["steps"]`. Temperature and limits
    are Inspect's options. The task sets the registry's values as defaults.

    Args:
        wording: Whose prompt: own, or published (read from the authors' repository).
    """
    if wording == "published":
        published_wording("prmbench")  # a missing file stops the run before the first call

    async def solve(state: TaskState, generate: Generate) -> TaskState:
        steps = state.metadata_as(SolutionMetadata).steps
        state.messages = step_scores_messages(state.input_text, steps, wording)
        with short_errors():
            state = await generate(state, tool_calls="none")
        _leave_scores(state)
        return state

    return solve


def _leave_scores(state: TaskState) -> None:
    """Leave the labels that a reply gives, and the first invalid step as the verdict."""
    unread = unread_stop(state.output.stop_reason)
    scores = unread or read_step_scores(state.output.completion)
    left = state.store_as(StepValidity)
    left.valid = None if isinstance(scores, Unread) else scores.valid
    left.redundant = None if isinstance(scores, Unread) else scores.redundant
    left.unread = scores if isinstance(scores, Unread) else None
    _leave_first_invalid(state)


def _leave_first_invalid(state: TaskState) -> None:
    """Leave the first invalid step as a verdict; the output stays as it is."""
    steps = len(state.metadata_as(SolutionMetadata).steps)
    subset = state.metadata_as(GroupMetadata).subset
    labels = validity_of(state.store, state.output, steps, subset)
    if not isinstance(labels, Unread) and len(labels) != steps:
        labels = Unread.WRONG_LENGTH
    verdict = state.store_as(CriticVerdict)
    verdict.unread = labels if isinstance(labels, Unread) else None
    verdict.verdict = None if isinstance(labels, Unread) else first_invalid(labels)


@solver
def all_valid() -> Solver:
    """Call every step valid."""
    return _constant(True)


@solver
def all_invalid() -> Solver:
    """Call every step invalid."""
    return _constant(False)


def _constant(valid: bool) -> Solver:
    async def solve(state: TaskState, generate: Generate) -> TaskState:
        left = state.store_as(StepValidity)
        left.valid = [valid] * len(state.metadata_as(SolutionMetadata).steps)
        state.output = ModelOutput.from_content("none", f"Every step: valid is {valid}.")
        _leave_first_invalid(state)
        return state

    return solve
