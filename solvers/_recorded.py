"""The critic that repeats what a run made elsewhere said."""

from inspect_ai.model import ChatCompletionChoice, ChatMessageAssistant, ModelOutput, StopReason
from inspect_ai.solver import Generate, Solver, TaskState, solver

from misstep.registry import RECORDED
from misstep.scorers import unread_output
from misstep.solvers._threshold import first_below
from misstep.verdicts import Unread


@solver
def recorded(threshold: float = 0.5) -> Solver:
    """Leave the recorded verdict: of critiques, of step scores, or the bare prediction.

    Args:
        threshold: A step that scores less than this is wrong.
    """

    async def solve(state: TaskState, generate: Generate) -> TaskState:
        record = state.metadata[RECORDED]
        model = str(state.model)
        if critiques := record.get("critiques"):
            stops = record.get("stop_reasons") or ["stop"] * len(critiques)
            choices = [_choice(text, stop) for text, stop in zip(critiques, stops, strict=True)]
            state.output = ModelOutput(model=model, choices=choices)
            # What stands in the output is not kept twice: the texts would double the log.
            kept = record.keys() - {"critiques", "stop_reasons"}
            state.metadata[RECORDED] = {k: v for k, v in record.items() if k in kept}
        elif (scores := record.get("scores")) is not None:
            unknown = [None] * (len(state.metadata["steps"]) - len(scores))
            state.output = first_below(model, [*scores, *unknown], threshold, Unread.NOT_RECORDED)
        elif (prediction := record.get("prediction")) is not None:
            state.output = ModelOutput.from_content(model, f"\\boxed{{{prediction}}}")
        else:
            state.output = unread_output(model, Unread.EMPTY, "No prediction is recorded.")
        return state

    return solve


def _choice(text: str, stop: StopReason) -> ChatCompletionChoice:
    return ChatCompletionChoice(message=ChatMessageAssistant(content=text), stop_reason=stop)
