"""The critics that find the agent and the step to blame, in the three ways of Who&When."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from random import Random
from typing import Literal, TypeAlias, get_args

from inspect_ai.model import ChatMessage, ChatMessageSystem, ChatMessageUser, ModelOutput
from inspect_ai.solver import Generate, Solver, TaskState, solver

from misstep.loaders import published_wording
from misstep.registry import MisstepError, UnknownNameError, Wording, agent_prompts, fill
from misstep.samples import AttributionMetadata
from misstep.scorers import Blame, prediction_text, read_blame
from misstep.solvers._calls import SEED, ask
from misstep.stores import AttributionRecord, VerdictRecord, store_verdict
from misstep.verdicts import NO_ERROR, Unread, Verdict

Protocol: TypeAlias = Literal["all_at_once", "step_by_step", "binary_search"]
PROTOCOLS: tuple[Protocol, ...] = get_args(Protocol)

_PUBLISHED_ANSWER = "The Answer for the problem is: {answer}\n"
"""The sentence of the published prompts that is left out without the true answer."""
_YES = re.compile(r"^[\W_]*(?:1[\W_]*)?(yes|no)\b", re.IGNORECASE)
_KEPT = 300
"""Characters of a reply that the log keeps beside the transcript."""


@dataclass(frozen=True)
class Questions:
    """How a log is asked about."""

    problem: str
    about: AttributionMetadata
    wording: Wording
    ground_truth: bool

    def messages(self, protocol: Protocol, log: str, **values: str) -> list[ChatMessage]:
        """Return the messages of one call."""
        answer = self.about.ground_truth if self.ground_truth else None
        if self.wording == "published":
            wording = published_wording("who_and_when")
            filled = {"problem": self.problem, "answer": answer or "", "history": log, **values}
            text = wording.template(f"{protocol}.prompt").fill(**filled)
            if answer is None:
                text = text.replace(_PUBLISHED_ANSWER.format(answer=""), "", 1)
            system = wording.text(f"{protocol}.system")
        else:
            prompts = agent_prompts().attribution
            prompt = getattr(prompts, protocol)
            line = "" if answer is None else fill(prompts.answer, {"{answer}": answer})
            filled = {"problem": self.problem, "answer": line, "log": log, **values}
            text = fill(prompt.template, {f"{{{name}}}": value for name, value in filled.items()})
            system = prompt.system
        return [ChatMessageSystem(content=system), ChatMessageUser(content=text)]

    def lines(self, first: int, end: int, numbered: bool) -> str:
        """Return some entries of the log as lines, each with its speaker."""
        entries = zip(self.about.agents[first:end], self.about.contents[first:end], strict=True)
        return "\n".join(
            f"{f'Step {first + i} - ' if numbered else ''}{speaker}: {content}"
            for i, (speaker, content) in enumerate(entries)
        )


@solver
def attribute(
    protocol: Protocol = "all_at_once", ground_truth: bool = True, wording: Wording = "own"
) -> Solver:
    """Ask which agent made the decisive mistake, and at which step.

    Args:
        protocol: all_at_once (one call with the whole log), step_by_step (a call for each step, up
            to the first mistake), or binary_search (each call halves the log).
        ground_truth: Show the true answer to the critic.
        wording: The prompts: own, or published for those of the paper.
    """
    if protocol not in PROTOCOLS:
        raise UnknownNameError("protocol", protocol, PROTOCOLS)
    if wording == "published":
        published_wording("who_and_when")
    asks = {
        "all_at_once": _all_at_once,
        "step_by_step": _step_by_step,
        "binary_search": _binary_search,
    }[protocol]

    async def solve(state: TaskState, generate: Generate) -> TaskState:
        about = state.metadata_as(AttributionMetadata)
        if ground_truth and about.ground_truth is None:
            raise MisstepError(
                f"{state.sample_id}: the row has no ground_truth. Add -T ground_truth=false."
            )
        await asks(state, generate, Questions(state.input_text, about, wording, ground_truth))
        return state

    return solve


def _leave(state: TaskState, blame: Blame, prediction: str, outputs: Sequence[ModelOutput]) -> None:
    """Leave whom the critic blames: by our reading, and as the text of the published form."""
    left = state.store_as(AttributionRecord)
    left.agent, left.step, left.prediction = blame.agent, blame.step, prediction
    left.replies = [output.completion[:_KEPT] for output in outputs]
    unread = Unread.NO_CONCLUSION if blame.step is None else None
    store_verdict(state.store, VerdictRecord(verdict=blame.step, unread=unread))
    state.output = outputs[-1]


async def _all_at_once(state: TaskState, generate: Generate, questions: Questions) -> None:
    steps = len(questions.about.steps)
    # The published prompt has no numbers: the critic has to count.
    log = questions.lines(0, steps, numbered=questions.wording == "own")
    messages = questions.messages("all_at_once", log)
    output = await ask(state, generate, messages)
    _leave(state, read_blame(output.completion), output.completion, [output])
    state.messages = [*messages, output.message]


async def _step_by_step(state: TaskState, generate: Generate, questions: Questions) -> None:
    """Ask about each step up to the first yes.

    By the published rule only a reply that begins with "1. yes" is a yes, and any other is a no. By
    ours a reply without yes or no is unread. The calls follow the published rule.
    """
    outputs: list[ModelOutput] = []
    ours: Verdict | Unread | None = None
    published: int | None = None
    for step, agent in enumerate(questions.about.agents):
        log = questions.lines(0, step + 1, numbered=True)
        # The published log ends with a line break.
        log += "\n" if questions.wording == "published" else ""
        messages = questions.messages("step_by_step", log, number=str(step), agent=agent)
        outputs.append(await ask(state, generate, messages, step=step))
        text = outputs[-1].completion
        read = _YES.match(text)
        if ours is None and (read is None or read[1].lower() == "yes"):
            ours = Unread.NO_CONCLUSION if read is None else step
        if text.strip().lower().startswith("1. yes"):
            published = step
            break
    blamed = ours if isinstance(ours, int) and not isinstance(ours, Unread) else None
    blame = Blame() if blamed is None else Blame(questions.about.agents[blamed], blamed)
    prediction = (
        "" if published is None else prediction_text(questions.about.agents[published], published)
    )
    _leave(state, blame, prediction, outputs)
    if ours is None:
        # No step was called a mistake. Every log has one, so this is wrong, but it is a verdict.
        store_verdict(state.store, VerdictRecord(verdict=NO_ERROR))
    state.messages = [*messages, outputs[-1].message]


async def _binary_search(state: TaskState, generate: Generate, questions: Questions) -> None:
    """Halve the log until one step is left.

    "Upper half" anywhere in a reply counts first, as published. A reply with neither half is a coin
    toss by the published rule, and unread by ours.
    """
    random = Random(f"{SEED}/{state.sample_id}/{state.epoch}")  # noqa: S311 (not a secret)
    first, last = 0, len(questions.about.steps) - 1
    outputs: list[ModelOutput] = []
    messages: list[ChatMessage] = []
    unread = False
    while first < last:
        middle = first + (last - first) // 2
        messages = questions.messages(
            "binary_search",
            questions.lines(first, last + 1, numbered=questions.wording == "own"),
            range=_range(first, last),
            upper=_range(first, middle),
            lower=_range(middle + 1, last),
        )
        outputs.append(await ask(state, generate, messages, step=first))
        reply = outputs[-1].completion.lower()
        halves = [half for half in ("upper half", "lower half") if half in reply]
        unread = unread or not halves
        if (halves or [random.choice(["upper half", "lower half"])])[0] == "upper half":
            last = middle
        else:
            first = middle + 1
    agent = questions.about.agents[first]
    blame = Blame() if unread else Blame(agent, first)
    outputs = outputs or [ModelOutput.from_content(str(state.model), "There is one step.")]
    _leave(state, blame, prediction_text(agent, first), outputs)
    state.messages = [*messages, outputs[-1].message]


def _range(first: int, last: int) -> str:
    return f"from step {first} to step {last}"
