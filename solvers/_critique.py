"""The critic that reads the whole solution at once."""

from inspect_ai.model import ChatMessageUser
from inspect_ai.solver import Generate, Solver, TaskState, solver

from misstep.registry import Tag, find_domain
from misstep.solvers._prompts import critique_prompt


@solver
def critique(domain: str = "mathematics", tag: Tag | None = None) -> Solver:
    r"""Ask for the index of the first wrong step, to be put in a `\boxed{}`.

    The problem is the sample's input and the steps are `metadata["steps"]`. One user message, no
    system message. The settings that belong to the domain are the task's; this solver leaves them
    to Inspect's options.

    Args:
        domain: How to ask: a name in `registry/domains.yaml`.
        tag: What to call a step in its tag; the domain's own word where not given.
    """
    prompt = find_domain(domain)

    async def solve(state: TaskState, generate: Generate) -> TaskState:
        text = critique_prompt(prompt, state.input_text, state.metadata["steps"], tag)
        state.messages = [ChatMessageUser(content=text)]
        return await generate(state)

    return solve
