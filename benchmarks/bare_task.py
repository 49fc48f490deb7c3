"""Tasks that run without misstep: the peers that evals are compared with."""

import json
from pathlib import Path
from typing import Any

from inspect_ai import Task, task
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.model import ChatMessageAssistant, ChatMessageSystem, ChatMessageUser
from inspect_ai.scorer import includes
from inspect_ai.solver import Generate, Solver, TaskState, generate, solver

from misstep.loaders import load_rows
from misstep.registry import find_domain
from misstep.solvers import critique_prompt

_MESSAGES = {
    "system": ChatMessageSystem,
    "user": ChatMessageUser,
    "assistant": ChatMessageAssistant,
}
_OPTIONS = {"n": "num_choices", "stop": "stop_seqs"} | {
    name: name for name in ("seed", "temperature", "max_tokens", "logprobs", "top_logprobs")
}
"""Inspect's names of the fields of a request."""


@task
def bare(source: str) -> Task:
    """Ask the prompts of first-error rows with Inspect's own solver and scorer."""
    samples = [
        Sample(
            id=row.id,
            input=critique_prompt(find_domain("mathematics"), row.problem, row.steps, None),
            target=str(row.label),
        )
        for row in load_rows(source)
    ]
    return Task(dataset=MemoryDataset(samples), solver=generate(), scorer=includes())


@task
def bare_requests(requests: str) -> Task:
    """Ask recorded requests, one per sample."""
    bodies = map(json.loads, Path(requests).read_text(encoding="utf-8").splitlines())
    samples = [
        Sample(
            id=number,
            input=[_MESSAGES[m["role"]](content=m["content"]) for m in body["messages"]],
            target="0",
            metadata={_OPTIONS[name]: body[name] for name in _OPTIONS if name in body},
        )
        for number, body in enumerate(bodies)
    ]
    return Task(dataset=MemoryDataset(samples), solver=as_recorded(), scorer=includes())


@solver
def as_recorded() -> Solver:
    """Make one call with the options of the request."""

    async def solve(state: TaskState, generate: Generate) -> TaskState:
        options: dict[str, Any] = state.metadata
        return await generate(state, **options)

    return solve
