"""Critics that call no model: the baselines, and critiques and scores that a run recorded."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from random import Random

from inspect_ai.model import ChatCompletionChoice, ChatMessageAssistant, ModelOutput
from inspect_ai.solver import Generate, Solver, TaskState, solver

from misstep.arithmetic import false_equations
from misstep.registry import MisstepError
from misstep.samples import RecordedCritiqueMetadata, SolutionMetadata
from misstep.solvers._step_labels import leave_labels
from misstep.solvers._stepwise import first_below
from misstep.stores import StepRecord, leave_verdict
from misstep.verdicts import NO_ERROR, Unread, Verdict

_MODEL = "none"

Guess = Callable[[Sequence[str], Random], int]
"""A function from the steps of a solution to a verdict."""


@solver
def no_error() -> Solver:
    """Always answer that there is no error."""
    return _guessing(lambda steps, random: NO_ERROR)


@solver
def last_step() -> Solver:
    """Always answer with the last step."""
    return _guessing(lambda steps, random: len(steps) - 1)


@solver
def late_window() -> Solver:
    """Always answer with the step at 3/4 of the solution, floor(0.75 n): errors are often late."""
    return _guessing(lambda steps, random: 3 * len(steps) // 4)


@solver
def arithmetic() -> Solver:
    """Answer with the first step that contains an equation that does not hold, else -1.

    This is what a calculator can do: numbers and like terms. Other equations are ignored.
    """

    def first_false(steps: Sequence[str], random: Random) -> int:
        return next((i for i, step in enumerate(steps) if false_equations(step)), NO_ERROR)

    return _guessing(first_false)


@solver
def uniform(seed: int = 42) -> Solver:
    """Draw one of the verdicts that a solution allows, each with the same probability.

    Args:
        seed: The seed of the draw, together with the sample's id and epoch.
    """
    return _guessing(lambda steps, random: random.randrange(NO_ERROR, len(steps)), seed)


@solver
def label_distribution(labels: Mapping[str, int], seed: int = 42) -> Solver:
    """Draw a label by its frequency in the data, among the labels that a solution allows.

    Args:
        labels: The number of rows with each label.
        seed: The seed of the draw, together with the sample's id and epoch.
    """
    counts = {int(label): count for label, count in labels.items()}

    def guess(steps: Sequence[str], random: Random) -> int:
        allowed = {label: count for label, count in counts.items() if label < len(steps)}
        return random.choices(list(allowed), weights=list(allowed.values()))[0]

    return _guessing(guess, seed)


def _guessing(guess: Guess, seed: int = 0) -> Solver:
    async def solve(state: TaskState, generate: Generate) -> TaskState:
        random = Random(f"{seed}/{state.sample_id}/{state.epoch}")  # noqa: S311 (not a secret)
        verdict = guess(state.metadata_as(SolutionMetadata).steps, random)
        leave_verdict(state, verdict, f"\\boxed{{{verdict}}}", model=_MODEL)
        return state

    return solve


@solver
def no_section() -> Solver:
    """Flag no section."""
    return _flagging(lambda sections: ())


@solver
def all_sections() -> Solver:
    """Flag every section."""
    return _flagging(lambda sections: range(1, sections + 1))


@solver
def section_range(first: int = 3, last: int = 36) -> Solver:
    """Flag the same range of sections in every solution.

    The sections 3 to 36 are known to beat many models of the leaderboard under the published rule.

    Args:
        first: The first section to flag, from 1.
        last: The last section to flag.
    """
    if not 1 <= first <= last:
        raise MisstepError(f"first={first}, last={last}: expected 1 <= first <= last.")
    return _flagging(lambda sections: range(first, min(last, sections) + 1))


def _flagging(flagged: Callable[[int], Iterable[int]]) -> Solver:
    async def solve(state: TaskState, generate: Generate) -> TaskState:
        numbers = list(flagged(len(state.metadata_as(SolutionMetadata).steps)))
        lines = [f"Conclusion: {'yes' if numbers else 'no'}"]
        lines += [f"Error Section Number: {number}" for number in numbers]
        state.output = ModelOutput.from_content(_MODEL, "\n".join(lines))
        return state

    return solve


_RECORDED = "recorded"


@solver
def recorded(threshold: float = 0.5) -> Solver:
    """Leave the recorded verdict: from critiques, from scores of steps, or the bare prediction.

    Args:
        threshold: A step with a smaller score is wrong.
    """

    async def solve(state: TaskState, generate: Generate) -> TaskState:
        about = state.metadata_as(RecordedCritiqueMetadata)
        record = about.recorded
        if record.critiques:
            stops = record.stop_reasons or ["stop"] * len(record.critiques)
            choices = [
                ChatCompletionChoice(message=ChatMessageAssistant(content=text), stop_reason=stop)
                for text, stop in zip(record.critiques, stops, strict=True)
            ]
            state.output = ModelOutput(model=str(state.model), choices=choices)
            # The output has the texts, so the metadata drops them: they would double the log.
            kept = state.metadata[_RECORDED].keys() - {"critiques", "stop_reasons"}
            state.metadata[_RECORDED] = {
                k: v for k, v in state.metadata[_RECORDED].items() if k in kept
            }
        elif record.valid is not None:
            rewards = record.scores or []
            steps = [StepRecord(verdict="right" if x else "wrong") for x in record.valid]
            verdict: Verdict | Unread = NO_ERROR
            if len(record.valid) != len(about.steps):
                verdict = Unread.WRONG_LENGTH
            elif False in record.valid:
                verdict = record.valid.index(False)
            read = "No verdict." if isinstance(verdict, Unread) else f"\\boxed{{{verdict}}}"
            text = record.text or read
            leave_verdict(state, verdict, text, rewards=rewards, steps=steps)
        elif record.scores is not None:
            unknown = [None] * (len(about.steps) - len(record.scores))
            rewards = [*record.scores, *unknown]
            first = first_below(rewards, threshold, Unread.NOT_RECORDED)
            leave_verdict(state, *first, rewards=rewards, threshold=threshold)
        elif record.labels is not None:
            shown = " ".join("?" if one is None else f"{one:+d}" for one in record.labels)
            output = ModelOutput.from_content(str(state.model), f"Recorded labels: {shown}")
            leave_labels(state, record.labels, None, output)
        elif record.prediction is not None:
            text = record.text or f"\\boxed{{{record.prediction}}}"
            leave_verdict(state, record.prediction, text)
        else:
            text = "No prediction is recorded." if record.text is None else record.text
            leave_verdict(state, record.unread or Unread.EMPTY, text)
        return state

    return solve
