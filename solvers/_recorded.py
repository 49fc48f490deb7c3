"""Solvers that repeat recorded results: critiques and scores, or sampled solutions."""

from random import Random

from inspect_ai.model import ChatCompletionChoice, ChatMessageAssistant, ModelOutput
from inspect_ai.solver import Generate, Solver, TaskState, solver

from misstep.rewards import Aggregation, Reward
from misstep.samples import RecordedCritiqueMetadata, RecordedSolutionsMetadata
from misstep.solvers._calls import SEED
from misstep.solvers._policy import BLANK_LINE
from misstep.solvers._sampling import SampledSolution, choose_solution, record_solutions
from misstep.solvers._step_labels import leave_labels
from misstep.solvers._verdicts import first_below, leave_verdict
from misstep.stores import SearchRecord, StepRecord
from misstep.verdicts import NO_ERROR, Unread, Verdict

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


@solver
def recorded_best_of_n(aggregation: Aggregation = "last") -> Solver:
    """Choose the best of the recorded solutions by the recorded scores of their steps.

    Args:
        aggregation: How to combine the rewards of a solution: last, min, product or mean.
    """

    async def solve(state: TaskState, generate: Generate) -> TaskState:
        solutions = [
            SampledSolution(
                text=BLANK_LINE.join(one.steps),
                answer=one.answer,
                cut=False,
                rewards=[Reward(score) for score in one.scores],
            )
            for one in state.metadata_as(RecordedSolutionsMetadata).recorded
        ]
        # The store keeps the solutions, so the metadata drops them.
        del state.metadata[_RECORDED]
        random = Random(f"{SEED}/{state.sample_id}/{state.epoch}")  # noqa: S311 (not a secret)
        left = state.store_as(SearchRecord)
        left.solutions = record_solutions(solutions)
        text, left.result = await choose_solution(solutions, aggregation, random)
        state.output = ModelOutput.from_content(str(state.model), text)
        return state

    return solve
