"""The critic that repeats what a run made elsewhere said."""

from inspect_ai.model import ChatCompletionChoice, ChatMessageAssistant, ModelOutput, StopReason
from inspect_ai.solver import Generate, Solver, TaskState, solver

from misstep.registry import NO_ERROR, RECORDED
from misstep.scorers import Unread, unread_output


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
            state.output = below(model, scores, len(state.metadata["steps"]), threshold)
        elif (prediction := record.get("prediction")) is not None:
            state.output = ModelOutput.from_content(model, f"\\boxed{{{prediction}}}")
        else:
            state.output = unread_output(model, Unread.EMPTY, "No prediction is recorded.")
        return state

    return solve


def below(model: str, scores: list[float], steps: int, threshold: float) -> ModelOutput:
    """The first step under the threshold, as a critic would write it.

    Scores may end early. If none of them is under the threshold, what comes later is not known,
    and the verdict is neither a step nor that there is no error.
    """
    for step, score in enumerate(scores):
        if score < threshold:
            text = f"Step {step} scores {score:.4g}, less than {threshold}: \\boxed{{{step}}}"
            return ModelOutput.from_content(model, text)
    if len(scores) < steps:
        text = f"None of the {len(scores)} recorded scores of {steps} steps is under {threshold}."
        return unread_output(model, Unread.NOT_RECORDED, text)
    text = f"No step scores less than {threshold}: \\boxed{{{NO_ERROR}}}"
    return ModelOutput.from_content(model, text)


def _choice(text: str, stop: StopReason) -> ChatCompletionChoice:
    return ChatCompletionChoice(message=ChatMessageAssistant(content=text), stop_reason=stop)
