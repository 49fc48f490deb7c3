"""The critics that score every step of a solution: by one reply, or by a constant."""

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
from misstep.registry import PROBLEM, STEPS, Wording, fill, find_step_scores_prompt
from misstep.samples import GroupMetadata, SolutionMetadata
from misstep.scorers import StepScores, first_invalid, read_step_scores, validity_of
from misstep.stores import CriticVerdict, StepValidity
from misstep.verdicts import Unread

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
        _leave_labels(state)
        return state

    return solve


def _leave_labels(state: TaskState) -> None:
    """Leave the labels that a reply gives, and the first invalid step as the verdict."""
    stop, text = state.output.stop_reason, state.output.completion
    if stop in ("max_tokens", "model_length"):
        scores: StepScores | Unread = Unread.TRUNCATED
    else:
        scores = Unread.REFUSED if stop == "content_filter" else read_step_scores(text)
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
