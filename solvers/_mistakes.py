"""The critics of BIG-Bench Mistake: asked about the whole trace, or about one step at a time."""

import re
from collections.abc import Sequence
from typing import Literal, TypeAlias

from inspect_ai.model import ChatMessage, ChatMessageAssistant, ChatMessageUser, ModelOutput
from inspect_ai.solver import Generate, Solver, TaskState, solver

from misstep.concurrency import collect
from misstep.loaders import published_wording
from misstep.providers import short_errors
from misstep.registry import STEPS, Wording, fill, find_mistake_prompt
from misstep.samples import GroupMetadata, SolutionMetadata
from misstep.solvers._calls import ask
from misstep.solvers._stepwise import Calls
from misstep.solvers._verdicts import leave_verdict
from misstep.stores import StepRecord, VerdictRecord, store_verdict
from misstep.verdicts import NO_ERROR, Reading, Unread, Verdict

MistakeProtocol: TypeAlias = Literal["trace", "step", "step_cot"]
"""The paper's three ways of asking: the whole trace, each step, or each step with reasoning."""

_WORD = re.compile(r"\b(yes|no)\b", re.IGNORECASE)


def mistake_messages(
    protocol: MistakeProtocol,
    task: str | None,
    problem: str,
    steps: Sequence[str],
    wording: Wording = "own",
) -> list[ChatMessage]:
    """Return the messages that ask about steps; by step, the last one is asked about.

    The published messages have an instruction and three worked examples before the question.
    """
    listed = "\n".join(f"Thought {i}: {step}" for i, step in enumerate(steps, start=1))
    values = {"{input}": problem, STEPS: listed, "{current_step}": str(len(steps))}
    if wording == "own":
        return [ChatMessageUser(content=fill(find_mistake_prompt(protocol).template, values))]
    words = published_wording("big_bench_mistake")
    kinds = {"user": ChatMessageUser, "assistant": ChatMessageAssistant}
    examples = words.value(f"{task}.{protocol}.messages")
    question = fill(words.text(f"{task}.{protocol}.template"), values)
    return [
        *(kinds[one["role"]](content=one["content"]) for one in examples),
        ChatMessageUser(content=question),
    ]


def read_trace(text: str, reading: Reading) -> Verdict | Unread:
    """Return the first mistake that a reply about a whole trace names; thoughts count from 1."""
    plain = text.strip()
    if not plain:
        return Unread.EMPTY
    if reading == "strict":
        if re.fullmatch(r"no\.?", plain, re.IGNORECASE):
            return NO_ERROR
        number = re.fullmatch(r"[1-9]\d{0,8}", plain)
        return int(number[0]) - 1 if number else Unread.NOT_AN_INDEX
    line = plain.partition("\n")[0]
    numbers = {int(number) for number in re.findall(r"\b\d{1,9}\b", line)} - {0}
    if len(numbers) == 1:
        return numbers.pop() - 1
    said = {word.lower() for word in _WORD.findall(line)}
    return NO_ERROR if not numbers and said == {"no"} else Unread.NOT_AN_INDEX


def read_step(text: str, protocol: MistakeProtocol, reading: Reading) -> bool | Unread:
    """Return whether a reply calls a step correct."""
    plain = text.strip()
    if not plain:
        return Unread.EMPTY
    if protocol == "step_cot":
        place = plain if reading == "strict" else plain.rpartition("\n")[2]
        words = re.findall(r"\w+", place) if reading == "strict" else _WORD.findall(place)
        said = words[-1].lower() if words else ""
    else:
        pattern = r"(yes|no)\.?" if reading == "strict" else r"(yes|no)\b.*"
        found = re.fullmatch(pattern, plain, re.IGNORECASE | re.DOTALL)
        said = found[1].lower() if found else ""
    return said == "yes" if said in ("yes", "no") else Unread.NOT_AN_INDEX


@solver
def find_mistake(
    protocol: MistakeProtocol = "trace",
    wording: Wording = "own",
    reading: Reading = "strict",
    calls: Calls = "sequential",
) -> Solver:
    """Ask for the first mistake in a chain of thought, in one of the paper's three ways.

    Args:
        protocol: trace (one question about all steps), step, or step_cot (with reasoning).
        wording: Whose prompts: own, or published (with three worked examples).
        reading: How replies are read: strict, or lenient.
        calls: Judge steps one after another until the first mistake, or all at once.
    """
    if wording == "published":
        published_wording("big_bench_mistake")  # a missing file stops the run before the first call

    async def solve(state: TaskState, generate: Generate) -> TaskState:
        steps = state.metadata_as(SolutionMetadata).steps
        task = state.metadata_as(GroupMetadata).subset

        def messages(last: int) -> list[ChatMessage]:
            return mistake_messages(protocol, task, state.input_text, steps[:last], wording)

        if protocol == "trace":
            state.messages = messages(len(steps))
            with short_errors():
                state = await generate(state, tool_calls="none")
            cut = _cut(state.output)
            verdict = cut or read_trace(state.output.completion, reading)
            record = VerdictRecord(
                verdict=None if isinstance(verdict, Unread) else verdict,
                unread=verdict if isinstance(verdict, Unread) else None,
            )
            store_verdict(state.store, record)
            return state

        async def judged(step: int) -> bool | Unread:
            output = await ask(state, generate, messages(step + 1), step=step)
            return _cut(output) or read_step(output.completion, protocol, reading)

        found: list[bool | Unread] = []
        if calls == "parallel":
            found = list(await collect(*(judged(step) for step in range(len(steps)))))
        else:
            while len(found) < len(steps) and (not found or found[-1] is True):
                found.append(await judged(len(found)))
        leave_verdict(state, *_first_mistake(found), steps=[_record(one) for one in found])
        return state

    return solve


def _cut(output: ModelOutput) -> Unread | None:
    if output.stop_reason in ("max_tokens", "model_length"):
        return Unread.TRUNCATED
    return Unread.REFUSED if output.stop_reason == "content_filter" else None


def _record(right: bool | Unread) -> StepRecord:
    word = right.value if isinstance(right, Unread) else "right" if right else "wrong"
    return StepRecord(verdict=word)


def _first_mistake(found: Sequence[bool | Unread]) -> tuple[Verdict | Unread, str]:
    for step, right in enumerate(found):
        if isinstance(right, Unread):
            return right, f"The verdict on Thought {step + 1} could not be read ({right})."
        if not right:
            return step, f"Thought {step + 1} was called wrong: \\boxed{{{step}}}"
    return NO_ERROR, f"No thought was called wrong: \\boxed{{{NO_ERROR}}}"
