"""The critic that reads the whole solution at once."""

from inspect_ai.model import ChatMessageUser
from inspect_ai.solver import Generate, Solver, TaskState, solver

from misstep.registry import MisstepError, Tag, find_domain
from misstep.solvers._prompts import critique_prompt
from misstep.solvers._voting import draw_votes


@solver
def critique(
    domain: str = "mathematics",
    tag: Tag | None = None,
    votes: int = 1,
    adaptive: bool = False,
) -> Solver:
    r"""Ask for the index of the first wrong step, to be put in a `\boxed{}`.

    The problem is the sample's input and the steps are `metadata["steps"]`. One user message, no
    system message. The votes are the choices of the output. Temperature, limits and seed are
    Inspect's options, with the domain's values as the task's defaults.

    Args:
        domain: How to ask: a name in `registry/domains.yaml`.
        tag: What to call a step in its tag; the domain's own word where not given.
        votes: How many answers to draw for one prompt.
        adaptive: Draw votes in rounds, and stop when the lead can no longer be lost.
    """
    if not isinstance(votes, int) or votes < 1:
        raise MisstepError(f"votes={votes}: a whole number of at least 1 is needed.")
    prompt = find_domain(domain)

    async def solve(state: TaskState, generate: Generate) -> TaskState:
        text = critique_prompt(prompt, state.input_text, state.metadata["steps"], tag)
        state.messages = [ChatMessageUser(content=text)]
        if votes == 1:
            return await generate(state, tool_calls="none")
        state.output = await draw_votes(state, generate, state.messages, votes, adaptive)
        state.messages.append(state.output.message)
        return state

    return solve
