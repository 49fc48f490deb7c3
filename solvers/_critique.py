"""The critics that read the whole solution at once, and their prompts.

A long solution or trajectory is fitted into the model's context by windows of whole steps. Steps
are read in order. Each window shows the task, one line about each step before the window (the
latest ones, in at most a quarter of the room), and as many whole steps as fit. Reading stops at the
first window with an error. A quarter of the context, or less if replies are shorter, is kept for
the reply. A step is never cut: if one does not fit, there is no verdict.
"""

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from inspect_ai.dataset import Dataset
from inspect_ai.model import ChatMessageUser, GenerateConfigArgs, get_model
from inspect_ai.solver import Generate, Solver, TaskState, solver

from misstep._inspect_private import active_generate_config
from misstep.loaders import published_wording
from misstep.providers import check_logprobs
from misstep.registry import (
    ANSWER,
    CHARACTERS_PER_TOKEN,
    PROBLEM,
    SECTIONS,
    SOLUTION,
    Domain,
    MisstepError,
    Tag,
    Wording,
    fill,
    find_domain,
    find_sections_prompt,
)
from misstep.samples import NumberedSolutionMetadata, SolutionMetadata
from misstep.scorers import judged_verdict, read_vote, tally
from misstep.solvers._calls import draw_votes, reply_to, with_max_tokens
from misstep.stores import VerdictRecord, leave_verdict, store_verdict
from misstep.verdicts import NO_ERROR, Unread

_LINE = 200
"""Characters about a step before the window."""
_DIGEST = "Earlier steps, one line each. They were judged before:"


@dataclass(frozen=True)
class Window:
    """Some steps of a solution, as text."""

    text: str
    """The steps in numbered tags, after one line about each earlier step."""
    first: int
    end: int
    """The number after the last step."""

    @property
    def numbers(self) -> range:
        """The numbers of the steps."""
        return range(self.first, self.end)


def tagged(steps: Sequence[str], tag: Tag, first: int = 0) -> str:
    """Return the steps, each in a numbered tag: `<paragraph_0>` and so on."""
    numbered = enumerate(steps, start=first)
    return "\n\n".join(f"<{tag}_{i}>\n{step}\n</{tag}_{i}>" for i, step in numbered)


def windows(
    steps: Sequence[str],
    tag: Tag,
    context: int | None = None,
    around: int = 0,
    reply_tokens: int = 0,
) -> list[Window] | None:
    """Return the steps in windows that fit a context; None if one step does not fit.

    Args:
        steps: The steps.
        tag: The word for a step in its tag.
        context: The model's context in tokens. Without it, one window has all steps.
        around: The characters of the prompt without the steps.
        reply_tokens: The most tokens of a reply.
    """
    if context is None:
        return [Window(tagged(steps, tag), 0, len(steps))]
    room = (context - min(reply_tokens, context // 4)) * CHARACTERS_PER_TOKEN - around
    tags = 2 * len(tagged([""], tag, len(steps)))
    found: list[Window] = []
    first = 0
    while first < len(steps):
        digest = _digest(steps[:first], room // 4)
        used, end = len(digest), first
        while end < len(steps) and used + len(steps[end]) + tags <= room:
            used += len(steps[end]) + tags
            end += 1
        if end == first:
            return None
        found.append(Window(digest + tagged(steps[first:end], tag, first), first, end))
        first = end
    return found


def _digest(steps: Sequence[str], room: int) -> str:
    """Return one line about each of the latest steps that fit, or nothing before the first step."""
    lines: list[str] = []
    for i in reversed(range(len(steps))):
        own = " ".join(steps[i][max(0, steps[i].rfind(f"[step {i}] ")) :].split())
        line = own if len(own) <= _LINE else f"{own[: _LINE - 1]}…"
        if sum(map(len, lines)) + len(line) + len(_DIGEST) > room:
            break
        lines.insert(0, line)
    return "\n".join([_DIGEST, *lines, "", ""]) if lines else ""


logger = logging.getLogger(__name__)


def critique_prompt(
    domain: Domain, problem: str, steps: Sequence[str], tag: Tag | None = None
) -> str:
    """Return the prompt for a critic of a whole solution."""
    return fill(domain.template, {PROBLEM: problem, SOLUTION: tagged(steps, tag or domain.tag)})


@solver
def critique(
    domain: str = "mathematics",
    tag: Tag | None = None,
    votes: int = 1,
    adaptive: bool = False,
    weighted: bool = False,
    context: int | None = None,
) -> Solver:
    r"""Ask for the index of the first wrong step, in a `\boxed{}`.

    The problem is the sample's input and the steps are `metadata["steps"]`. There is one user
    message and no system message. The votes are the choices of the output. Temperature, limits and
    seed are Inspect's options. The task sets the domain's values as defaults. Without a limit of
    tokens, a reply has at most those of the domain, or more if the model reasons.

    Args:
        domain: The prompt: a name in `registry/domains.yaml`.
        tag: The word for a step in its tag. Default: the domain's own word.
        votes: The number of answers to draw for one prompt.
        adaptive: Draw votes in rounds, and stop when no further vote can change the result.
        weighted: The scorer weights votes by their logprobs: refuse models that give none.
        context: The model's context in tokens. Longer solutions are read in windows of whole steps.
    """
    if not isinstance(votes, int) or votes < 1:
        raise MisstepError(f"votes={votes}: expected a whole number of at least 1.")
    prompt = find_domain(domain)
    warned = False

    async def solve(state: TaskState, generate: Generate) -> TaskState:
        nonlocal warned
        if votes > 1 and not warned and active_generate_config().temperature == 0:
            warned = True
            logger.warning(
                "At temperature 0 all %d votes are the same, or nearly. For votes that differ, use "
                "a higher one: --temperature 0.7.",
                votes,
            )
        if weighted:
            check_logprobs(get_model(), "weighted=true", "Leave it out: each vote then counts one.")
        steps = state.metadata_as(SolutionMetadata).steps
        around = len(prompt.template) + len(state.input_text)
        parts = windows(steps, tag or prompt.tag, context, around, prompt.max_tokens)
        if parts is None:
            leave_verdict(state, Unread.TOO_LONG, f"A step does not fit {context:,} tokens.")
            return state
        for part in parts:
            text = fill(prompt.template, {PROBLEM: state.input_text, SOLUTION: part.text})
            state.messages = [ChatMessageUser(content=text)]
            limit = with_max_tokens(prompt.max_tokens, prompt.reasoning_max_tokens)
            if votes == 1:
                state.output = await reply_to(state, generate, state.messages, limit)
            else:
                state.output = await draw_votes(
                    state, generate, state.messages, votes, adaptive, config=limit
                )
            state.messages.append(state.output.message)
            read = [read_vote(choice, "lenient") for choice in state.output.choices]
            if len(parts) > 1 and tally(read).verdict != NO_ERROR:
                break
        return state

    return solve


@solver
def index_only(domain: str = "mathematics", tag: Tag | None = None) -> Solver:
    r"""Ask as `critique` does, and allow only `\boxed{i}` with a valid index as the reply.

    A grammar of llama.cpp constrains the reply, so that even a small model gives a verdict. It
    works with `embedded/…` and with servers of llama.cpp.

    Args:
        domain: The prompt: a name in `registry/domains.yaml`.
        tag: The word for a step in its tag. Default: the domain's own word.
    """
    prompt = find_domain(domain)

    async def solve(state: TaskState, generate: Generate) -> TaskState:
        steps = state.metadata_as(SolutionMetadata).steps
        text = critique_prompt(prompt, state.input_text, steps, tag)
        state.messages = [ChatMessageUser(content=text)]
        allowed = " | ".join(f'"{index}"' for index in range(NO_ERROR, len(steps)))
        grammar = f'root ::= "\\\\boxed{{" ({allowed}) "}}"'
        config: GenerateConfigArgs = {"extra_body": {"grammar": grammar}}
        state.output = await reply_to(state, generate, state.messages, config)
        state.messages.append(state.output.message)
        return state

    return solve


def sections_prompt(
    problem: str, sections: Sequence[str], structured: bool = False, wording: Wording = "own"
) -> str:
    """Return the prompt for a critic of all sections, with the sections numbered from 1.

    The published prompt has the sections as the published rows join them (`sections_content`).
    """
    if wording == "published":
        joined = "\n\n\n".join(f"section{i}: {text}" for i, text in enumerate(sections, start=1))
        template = published_wording("deltabench").text("prompt")
        return fill(template, {"{{question}}": problem, "{{model_output}}": joined})
    prompt = find_sections_prompt()
    numbered = "\n\n".join(f"section{i}:\n{text}" for i, text in enumerate(sections, start=1))
    answer = prompt.structured if structured else prompt.text
    return fill(prompt.template, {ANSWER: answer, PROBLEM: problem, SECTIONS: numbered})


@solver
def sections_critique(structured: bool = False, wording: Wording = "own") -> Solver:
    """Ask for all erroneous sections, with one user message.

    The problem is the sample's input and the sections are `metadata["steps"]`. Temperature and
    top_p are Inspect's options. The task sets the registry's values as defaults.

    Args:
        structured: Ask for a JSON object.
        wording: Whose prompt: own, or published (read from the authors' repository).
    """
    if wording == "published":
        published_wording("deltabench")  # A missing file stops the run now.

    async def solve(state: TaskState, generate: Generate) -> TaskState:
        sections = state.metadata_as(SolutionMetadata).steps
        text = sections_prompt(state.input_text, sections, structured, wording)
        state.messages = [ChatMessageUser(content=text)]
        state.output = await reply_to(state, generate, state.messages)
        state.messages.append(state.output.message)
        return state

    return solve


def judging_prompt(problem: str, solution: str) -> str:
    """Return MathCheck's published prompt, without examples."""
    words = published_wording("mathcheck").text("prompt")
    return f"{words}\n\nQuestion: {problem}\nSolution: {solution}\nJudgement: "


@solver
def process_judging() -> Solver:
    """Ask for the step where the errors begin, as MathCheck does: every solution has one.

    The problem is the sample's input. `metadata` has the `solution` and the number that each of its
    steps prints.
    """
    published_wording("mathcheck")  # A missing file stops the run now.

    async def solve(state: TaskState, generate: Generate) -> TaskState:
        about = state.metadata_as(NumberedSolutionMetadata)
        text = judging_prompt(state.input_text, about.solution)
        state.messages = [ChatMessageUser(content=text)]
        state.output = await reply_to(state, generate, state.messages)
        state.messages.append(state.output.message)
        verdict = judged_verdict(state.output.completion, about.printed_numbers)
        if isinstance(verdict, Unread) and state.output.stop_reason == "max_tokens":
            verdict = Unread.TRUNCATED
        field = "unread" if isinstance(verdict, Unread) else "verdict"
        store_verdict(state.store, VerdictRecord.model_validate({field: verdict}))
        return state

    return solve


def warn_of_long_prompts(
    dataset: Dataset, context: int | None, prompt: Callable[[str, list[str]], str]
) -> None:
    """Warn if prompts, made of problem and steps, are estimated to exceed the context in tokens."""
    if context is None:
        return
    prompts = {
        sample.id: prompt(str(sample.input), sample.metadata_as(SolutionMetadata).steps)
        for sample in dataset
    }
    tokens = {id: -(-len(text) // CHARACTERS_PER_TOKEN) for id, text in prompts.items()}
    beyond = [id for id, count in tokens.items() if count > context]
    if beyond:
        longest = max(beyond, key=tokens.__getitem__)
        logger.warning(
            "%d of %d prompts are estimated to exceed the context of %s tokens. The longest is the "
            "prompt of %r with about %s tokens. If the model refuses a prompt for its length, the "
            "sample counts as truncated.",
            len(beyond),
            len(tokens),
            f"{context:,}",
            longest,
            f"{tokens[longest]:,}",
        )
