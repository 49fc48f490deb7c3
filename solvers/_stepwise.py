"""The critics that judge each step: by verdicts, by rewards, or as BIG-Bench Mistake asks."""

import re
from collections.abc import Awaitable, Callable, Sequence
from typing import Literal, TypeAlias, TypeVar

from inspect_ai.model import ChatMessage, ChatMessageAssistant, ChatMessageUser
from inspect_ai.solver import Generate, Solver, TaskState, solver

from misstep.loaders import published_wording
from misstep.providers import collect, short_errors
from misstep.registry import (
    STEPS,
    MisstepError,
    UnknownNameError,
    Wording,
    fill,
    find_judge,
    find_mistake_prompt,
)
from misstep.rewards import (
    RewardWatch,
    StepVerdict,
    find_reward_model,
    judge_messages,
    read_step_verdict,
    worded_judge,
)
from misstep.samples import GroupMetadata, SolutionMetadata
from misstep.solvers._calls import ask
from misstep.stores import StepRecord, VerdictRecord, leave_verdict, store_verdict
from misstep.verdicts import NO_ERROR, Reading, Unread, Verdict, unread_stop

T = TypeVar("T")
Calls = Literal["sequential", "parallel"]
CALLS: tuple[Calls, ...] = ("sequential", "parallel")


@solver
def stepwise(style: str = "plain", calls: Calls = "sequential", wording: Wording = "own") -> Solver:
    r"""Judge each step by itself. The verdict is the first step that is judged wrong.

    The conversation shows the judge's earlier verdicts as if all of them were the same. So both
    ways ask the same questions and give the same verdict: `sequential` stops at the first wrong
    step and makes the fewest calls, `parallel` takes one round trip.

    Args:
        style: The prompts: a name in `registry/judges.yaml`.
        calls: Judge the steps one after another (sequential) or all at once (parallel).
        wording: Whose prompts: own, or published: those of GroundedPRM, with the style `written`.
    """
    judge = worded_judge(style, wording)
    if calls not in CALLS:
        raise UnknownNameError("calls", calls, CALLS)

    async def solve(state: TaskState, generate: Generate) -> TaskState:
        async def judged(step: int) -> StepVerdict:
            messages = judge_messages(judge, state.input_text, steps, step)
            output = await ask(state, generate, messages, step=step)
            return read_step_verdict(output.choices[0], judge)

        steps = state.metadata_as(SolutionMetadata).steps
        verdicts = await _judge_steps(len(steps), judged, lambda one: one.right is True, calls)
        probabilities = [one.probability for one in verdicts]
        leave_verdict(
            state,
            *_first_wrong(verdicts),
            rewards=[*probabilities, *[None] * (len(steps) - len(verdicts))],
            steps=[_record(one.right, one.probability) for one in verdicts],
        )
        return state

    return solve


async def _judge_steps(
    count: int, judged: Callable[[int], Awaitable[T]], is_right: Callable[[T], bool], calls: Calls
) -> list[T]:
    """Judge the steps: all at once (parallel), or one by one up to the first that is not right."""
    if calls == "parallel":
        return await collect(*(judged(step) for step in range(count)))
    found: list[T] = []
    while len(found) < count and (not found or is_right(found[-1])):
        found.append(await judged(len(found)))
    return found


def _record(right: bool | Unread, probability: float | None = None) -> StepRecord:
    word = right.value if isinstance(right, Unread) else "right" if right else "wrong"
    return StepRecord(verdict=word, probability=probability)


def _first_wrong(verdicts: list[StepVerdict]) -> tuple[Verdict | Unread, str]:
    """Return the first step that was not judged right, and a text that says so."""
    for step, verdict in enumerate(verdicts):
        if isinstance(verdict.right, Unread):
            why = verdict.right
            return why, f"The verdict on step {step} could not be read ({why})."
        if not verdict.right:
            return step, f"Step {step} is the first that was judged wrong: \\boxed{{{step}}}"
    return NO_ERROR, f"No step was judged wrong: \\boxed{{{NO_ERROR}}}"


@solver
def reward(style: str = "plain", threshold: float | None = None) -> Solver:
    r"""Score each step with a reward model. The verdict is the first step under the threshold.

    All steps are scored, also those after the first wrong one. So the log holds every reward, and
    another threshold needs no further call. The reward model is the role `reward`, or else the
    model under test.

    Args:
        style: The prompts of a judge: a name in `registry/judges.yaml`. Models that score steps
            have their own format.
        threshold: A step with a smaller reward is wrong. Default: the reward model's own.
    """
    find_judge(style)
    if threshold is not None and not 0 <= threshold <= 1:
        raise MisstepError(f"threshold={threshold}: expected a number from 0 to 1.")
    watch = RewardWatch()

    async def solve(state: TaskState, generate: Generate) -> TaskState:
        model = find_reward_model(style)
        await watch.probe(model)
        steps = state.metadata_as(SolutionMetadata).steps
        rewards = await model.score_steps(state.input_text, steps)
        limit = model.threshold if threshold is None else threshold
        values = [reward.value for reward in rewards]
        missing = next((reward.missing for reward in rewards if reward.value is None), None)
        watch.add(values, missing)
        leave_verdict(
            state, *first_below(values, limit), rewards=values, missing=missing, threshold=limit
        )
        return state

    return solve


def first_below(
    rewards: Sequence[float | None], threshold: float, unknown: Unread = Unread.NO_REWARD
) -> tuple[Verdict | Unread, str]:
    """Return the first step under a threshold, or `unknown` if a reward is missing, and a text."""
    for step, reward in enumerate(rewards):
        if reward is None:
            return (
                unknown,
                f"Step {step} has no reward, and no step before it is under {threshold}.",
            )
        if reward < threshold:
            return (
                step,
                f"Step {step} scores {reward:.4g}, less than {threshold}: \\boxed{{{step}}}",
            )
    return NO_ERROR, f"No step scores less than {threshold}: \\boxed{{{NO_ERROR}}}"


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
            unread = unread_stop(state.output.stop_reason)
            verdict = unread or read_trace(state.output.completion, reading)
            record = VerdictRecord(
                verdict=None if isinstance(verdict, Unread) else verdict,
                unread=verdict if isinstance(verdict, Unread) else None,
            )
            store_verdict(state.store, record)
            return state

        async def judged(step: int) -> bool | Unread:
            output = await ask(state, generate, messages(step + 1), step=step)
            unread = unread_stop(output.stop_reason)
            return unread or read_step(output.completion, protocol, reading)

        found = await _judge_steps(len(steps), judged, lambda one: one is True, calls)
        leave_verdict(state, *_first_mistake(found), steps=[_record(one) for one in found])
        return state

    return solve


def _first_mistake(found: Sequence[bool | Unread]) -> tuple[Verdict | Unread, str]:
    for step, right in enumerate(found):
        if isinstance(right, Unread):
            return right, f"The verdict on Thought {step + 1} could not be read ({right})."
        if not right:
            return step, f"Thought {step + 1} was called wrong: \\boxed{{{step}}}"
    return NO_ERROR, f"No thought was called wrong: \\boxed{{{NO_ERROR}}}"
