"""The critic that marks a solution like a teacher, and the grader of its reason."""

from inspect_ai.dataset import Dataset
from inspect_ai.model import ChatMessageUser, GenerateConfig, Model, get_model
from inspect_ai.solver import Generate, Solver, TaskState, solver

from misstep._inspect_private import PrerequisiteError
from misstep.loaders import published_wording
from misstep.providers import short_errors
from misstep.registry import PROBLEM, STEP, STEPS, Wording, fill, find_marking_prompt
from misstep.samples import MarkedMetadata
from misstep.scorers import needs_grade
from misstep.stores import ReasonGrade

GRADER = "grader"
"""The model role that judges reasons."""


def marking_prompt(about: MarkedMetadata, problem: str, wording: Wording = "own") -> str:
    """Return the prompt that asks for a mark.

    MR-Ben's published prompt shows the solution as Python prints the list of its lines.
    """
    if wording == "own":
        prompt = find_marking_prompt()
        step = prompt.code_step if about.code else prompt.step
        values = {PROBLEM: problem, STEPS: _shown(about), STEP: step}
        return fill(prompt.template, values)
    words = published_wording(about.rule)
    if about.rule == "mr_gsm8k":
        return words.template("prompt").fill(question=problem, solution="\n".join(about.steps))
    common = {
        "question": about.question or problem,
        "solution": str(about.solution),
        "demonstrations": "",
    }
    if about.code:
        return words.template("coding").fill(**common)
    return words.template("prompt").fill(
        **common, subject=about.subject or "", options=str(about.options)
    )


def grading_prompt(
    about: MarkedMetadata, problem: str, step: str, reason: str, wording: Wording = "own"
) -> str:
    """Return the prompt that asks a grader whether a critic's reason is right."""
    if wording == "own":
        values = {
            PROBLEM: problem,
            STEPS: _shown(about),
            "{error_step}": about.error_step or "",
            "{error_reason}": _text(about.error_reason),
            "{critic_reason}": reason,
        }
        return fill(find_marking_prompt().grader, values)
    words = published_wording(about.rule)
    common = {
        "question": about.question or problem,
        "error_step": about.error_step or "",
        "error_reason": str(about.error_reason),
        "critic_reason": reason,
    }
    if about.rule == "mr_gsm8k":
        return words.template("grader").fill(**common, solution=str(about.steps))
    common |= {"solution": str(about.solution), "rectified_step": str(about.rectified_step)}
    if about.code:
        return words.template("grader_coding").fill(**common, critic_step=step)
    return words.template("grader").fill(**common, subject=about.subject or "")


def _shown(about: MarkedMetadata) -> str:
    """Return the solution for our prompt; steps that print no number get one."""
    if about.code or about.printed_numbers is not None:
        return "\n".join(about.steps)
    return "\n".join(f"Step {i}: {step}" for i, step in enumerate(about.steps, start=1))


def _text(value: str | list[str | None] | None) -> str:
    return value if isinstance(value, str) else "\n".join(filter(None, value or []))


def require_wording(dataset: Dataset, wording: Wording) -> None:
    """Read the published prompts that the rows need, so that a missing file stops the run now."""
    if wording == "published":
        for rule in sorted({sample.metadata_as(MarkedMetadata).rule for sample in dataset}):
            published_wording(rule)


def find_grader() -> Model | None:
    """Return the model of the role `grader`, or None if the run has none."""
    try:
        return get_model(role=GRADER, required=True)
    except PrerequisiteError:
        return None


@solver
def mark_solution(wording: Wording = "own") -> Solver:
    """Ask whether a solution is correct, for its first wrong step, and why it is wrong.

    If the run has a model role `grader`, it judges the reasons of rows whose first wrong step was
    found. The problem is the sample's input. Temperature and limits are Inspect's options.

    Args:
        wording: Whose prompts: own, or published (read from the authors' repositories).
    """

    async def solve(state: TaskState, generate: Generate) -> TaskState:
        about = state.metadata_as(MarkedMetadata)
        prompt = marking_prompt(about, state.input_text, wording)
        state.messages = [ChatMessageUser(content=prompt)]
        with short_errors():
            state = await generate(state, tool_calls="none")
        grader = find_grader()
        left = state.store_as(ReasonGrade)
        left.grader = None if grader is None else str(grader)
        left.decision = None
        asked = needs_grade(state.output.completion, about)
        if grader is not None and asked is not None:
            text = grading_prompt(about, state.input_text, asked.step, asked.reason, wording)
            # Inspect's options of the task do not reach roles, so the published ones are set here.
            with short_errors():
                output = await grader.generate(text, config=GenerateConfig(temperature=0.0))
            left.decision = output.completion
        return state

    return solve
