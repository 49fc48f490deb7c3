"""What the injector and the reviewer are asked."""

from collections.abc import Iterable

from inspect_ai.solver import TaskState

from misstep.forge._checks import late_start
from misstep.forge._record import Example
from misstep.forge._result import Reject
from misstep.registry import fill, injection_prompts, taxonomy
from misstep.solvers import tagged


def system_text(state: TaskState) -> str:
    """What the injector is told of its work."""
    kinds = taxonomy()
    told = [
        f"- {name}: {kinds[name].description} Example: {kinds[name].example}"
        for name in state.metadata["error_types"]
    ]
    return fill(injection_prompts().system, {"{taxonomy}": "\n".join(told)})


def request_text(state: TaskState, late_fraction: float) -> str:
    """What the injector is asked about one solution."""
    steps: list[str] = state.metadata["steps"]
    first = late_start(len(steps), late_fraction)
    return fill(
        injection_prompts().request,
        {
            "{problem}": state.input_text,
            "{count}": str(len(steps)),
            "{steps}": tagged(steps, "step"),
            "{answer}": state.metadata["answer"],
            "{first}": str(first),
            "{last}": str(len(steps) - 1),
            "{types}": " or ".join(state.metadata["error_types"]),
            "{remaining}": str(len(steps) - first),
        },
    )


def complaint_text(rejects: Iterable[Reject]) -> str:
    """What was wrong with a reply."""
    said = "\n".join(f"- {reject.stage}: {reject.detail}" for reject in rejects)
    return fill(injection_prompts().complaint, {"{complaints}": said})


def review_text(example: Example) -> str:
    """What the reviewer is asked about one example."""
    return fill(
        injection_prompts().review_request,
        {
            "{problem}": example.problem,
            "{original}": tagged(example.original_steps, "step"),
            "{modified}": tagged(example.steps, "step"),
            "{step}": str(example.label),
            "{type}": str(example.error_type),
        },
    )
