"""A task with nothing of misstep in its run: the peer that ProcessBench is measured beside."""

from inspect_ai import Task, task
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.scorer import includes
from inspect_ai.solver import generate

from misstep.loaders import load_rows
from misstep.registry import find_domain
from misstep.solvers import critique_prompt


@task
def bare(source: str) -> Task:
    """The same prompts and targets, asked and scored by Inspect's own parts."""
    samples = [
        Sample(
            id=row.id,
            input=critique_prompt(find_domain("mathematics"), row.problem, row.steps, None),
            target=str(row.label),
        )
        for row in load_rows(source)
    ]
    return Task(dataset=MemoryDataset(samples), solver=generate(), scorer=includes())
