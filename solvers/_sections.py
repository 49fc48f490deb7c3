"""The critic that names every erroneous section."""

from collections.abc import Sequence

from inspect_ai.model import ChatMessageUser
from inspect_ai.solver import Generate, Solver, TaskState, solver

from misstep.registry import ANSWER, PROBLEM, SECTIONS, fill, find_sections_prompt


def sections_prompt(problem: str, sections: Sequence[str], structured: bool = False) -> str:
    """The prompt, with the sections numbered from 1.

    Args:
        problem: The problem.
        sections: The texts of the solution's sections.
        structured: Ask for a JSON object.
    """
    prompt = find_sections_prompt()
    numbered = "\n\n".join(f"section{i}:\n{text}" for i, text in enumerate(sections, start=1))
    answer = prompt.structured if structured else prompt.text
    return fill(prompt.template, {ANSWER: answer, PROBLEM: problem, SECTIONS: numbered})


@solver
def sections_critique(structured: bool = False) -> Solver:
    """Ask for all erroneous sections: one user message, one critique.

    The problem is the sample's input and the sections are `metadata["steps"]`. Temperature and
    top_p are Inspect's options, with the registry's values as the task's defaults.

    Args:
        structured: Ask for a JSON object.
    """

    async def solve(state: TaskState, generate: Generate) -> TaskState:
        text = sections_prompt(state.input_text, state.metadata["steps"], structured)
        state.messages = [ChatMessageUser(content=text)]
        return await generate(state, tool_calls="none")

    return solve
