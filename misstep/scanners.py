"""Scanners for Inspect Scout: `from misstep.scanners import first_error`.

Scout is an extra: `pip install misstep[scout]`. The scanner asks the same question in the same
words as the critic `critique` of `misstep/agent_process`, so what that critic scored there holds
here too.

    scan([first_error()], transcripts=transcripts_from("logs"), model_roles={"critic": "openai/…"})
"""

from inspect_ai import Task, eval as run_eval
from inspect_ai.log import EvalLog
from inspect_ai.model import ChatMessageUser, GenerateConfig, get_model
from inspect_ai.solver import Generate, Solver, TaskState, solver
from inspect_scout import (
    Reference,
    Result,
    Scanner,
    Transcript,
    ValidationCase,
    ValidationSet,
    scanner,
)

from misstep.boxes import without_last_box
from misstep.loaders import trajectory_dataset
from misstep.providers import short_errors
from misstep.registry import PROBLEM, SOLUTION, fill, find_domain
from misstep.scorers import read_vote
from misstep.solvers import windows
from misstep.trajectories import from_inspect, read_message, render, to_inspect
from misstep.verdicts import NO_ERROR, Unread

DOMAIN = "agent"


@scanner(messages="all", version=1)
def first_error(
    context: int | None = None, tool_result_chars: int | None = None
) -> Scanner[Transcript]:
    """Name the first wrong step of a transcript. Steps are assistant messages.

    The model is the role `critic`, or else the model of the scan. The value is the number of the
    step counted from 1, because Scout takes 0 for "nothing found"; the answer is the index from 0,
    or -1. A reply without a verdict is an error, and `scout scan resume` asks again.

    Args:
        context: The model's context in tokens. Longer transcripts are read in windows.
        tool_result_chars: Cut the middle out of longer tool results.
    """
    prompt = find_domain(DOMAIN)

    async def scan(transcript: Transcript) -> Result:
        messages = [from_inspect(message) for message in transcript.messages]
        rendering = render(messages, tool_result_chars)
        if not rendering.steps:
            raise ValueError(
                "the transcript has no assistant message, so there is no step to judge"
            )
        task = next((one.text for one in messages if one.role == "user"), "")
        around = len(prompt.template) + len(task)
        parts = windows(rendering.steps, prompt.tag, context, around, prompt.max_tokens)
        if parts is None:
            raise ValueError(f"a step does not fit the context of {context} tokens")
        critic = get_model(role="critic")
        config = GenerateConfig(temperature=prompt.temperature, max_tokens=prompt.max_tokens)
        known = {"n_steps": len(rendering.steps), "windows": len(parts)}
        text = ""
        for part in parts:
            asked = fill(prompt.template, {PROBLEM: task, SOLUTION: part.text})
            with short_errors():
                output = await critic.generate([ChatMessageUser(content=asked)], config=config)
            text = output.completion
            step = read_vote(output.choices[0], "lenient").verdict
            if isinstance(step, Unread) or not NO_ERROR <= step < len(rendering.steps):
                raise ValueError(f"no verdict was read: {text[-80:]!r}")
            if step == NO_ERROR:
                continue
            index = rendering.message_index[step]
            cite, last = f"[M{index + 1}]", len(rendering.steps) - 1
            return Result(
                value=step + 1,
                answer=str(step),
                explanation=_explanation(
                    f"Step {step} (of 0 to {last}), message {cite}, is the first wrong one.", text
                ),
                label="error",
                references=_references(messages[index].id, cite),
                metadata={"step": step, "message_index": index, **known},
            )
        return Result(
            value=False,
            answer=str(NO_ERROR),
            explanation=_explanation("No step is wrong.", text),
            label="none",
            metadata={"step": NO_ERROR, "message_index": None, **known},
        )

    return scan


def _explanation(verdict: str, reply: str) -> str:
    """Return a verdict and its reason. Scout's viewer makes `[M5]` in it a link to the message."""
    return f"{verdict}\n\n{without_last_box(reply)}".strip()


def _references(id: str | None, cite: str) -> list[Reference]:
    return [] if id is None else [Reference(type="message", cite=cite, id=id)]


def replay_labelled(
    source: str = "agent_sample", subset: str | None = None, log_dir: str = "logs"
) -> EvalLog:
    """Write labelled trajectories as a log of transcripts, without a model; return the log."""
    rows = trajectory_dataset(source, subset, keep_messages=True)
    task = Task(dataset=rows, solver=_replay(), scorer=[], name="replay")
    [log] = run_eval(task, model="none/none", log_dir=log_dir, display="none")
    return log


@solver
def _replay() -> Solver:
    async def solve(state: TaskState, generate: Generate) -> TaskState:
        original = state.metadata.pop("trajectory")["messages"]
        state.messages = [to_inspect(read_message(one), i) for i, one in enumerate(original)]
        return state

    return solve


def validation_set(log: EvalLog) -> ValidationSet:
    """Return the labels of a log of `replay_labelled` as cases for Scout.

    Scout's recall then is error_accuracy, and its specificity is correct_accuracy. Its F1 is that
    of precision and recall, so it is not ours.
    """
    cases = [
        ValidationCase(
            id=str(sample.uuid),
            # Scout takes 0 for "nothing found", so steps are counted from 1.
            target=sample.metadata["label"] + 1 if sample.metadata["has_error"] else False,
        )
        for sample in log.samples or []
    ]
    return ValidationSet(cases=cases, predicate="eq")
