"""The injection of errors as an Inspect task."""

from inspect_ai import Task, task
from inspect_ai.dataset import MemoryDataset
from inspect_ai.viewer import TaskSamplesColumn, TaskSamplesSort, TaskSamplesView, ViewerConfig

from misstep.forge._accepted import accepted
from misstep.forge._inject import inject
from misstep.forge._order import Order, draw_solutions, read_mix, samples_of
from misstep.forge._sources import source_rows

VERSION = 1

VIEW = ViewerConfig(
    task_samples_view=TaskSamplesView(
        name="Injections",
        columns=[
            TaskSamplesColumn(id="sampleId"),
            TaskSamplesColumn(id="answer"),
            TaskSamplesColumn.score("accepted"),
            TaskSamplesColumn(id="tokens"),
            TaskSamplesColumn(id="error"),
        ],
        sort=[TaskSamplesSort.score("accepted", dir="desc")],
        score_labels={"accepted": "Accepted"},
        multiline=False,
    )
)


def injection_task(dataset: MemoryDataset, order: Order) -> Task:
    """The task that builds examples of samples.

    Args:
        dataset: What to inject errors into.
        order: The settings.
    """
    return Task(
        name="injection",
        dataset=dataset,
        solver=inject(
            order.max_attempts,
            order.temperature,
            order.max_tokens,
            order.seed,
            order.late_fraction,
            order.reviewed,
        ),
        scorer=accepted(),
        viewer=VIEW,
        version=VERSION,
    )


@task
def injection(
    source: str = "numinamath",
    num_examples: int = 1000,
    min_steps: int = 8,
    injection_rate: float = 1.0,
    late_fraction: float = 0.25,
    temperature: float = 0.7,
    seed: int = 42,
    error_types: str | None = None,
    max_tokens: int = 8192,
    max_attempts: int = 3,
    reviewed: bool = False,
) -> Task:
    """Inject late logical errors into worked solutions; needs the model role `injector`.

    `misstep forge build` runs it, and writes the files.

    Args:
        source: A registered corpus, or a file of problem and solution.
        num_examples: How many solutions to draw.
        min_steps: The fewest steps that a solution must have.
        injection_rate: The share that gets an error; the rest is left untouched.
        late_fraction: The part, from the end, in which errors are injected.
        temperature: Of the injector.
        seed: Of the draw and of the injector.
        error_types: Only these, with commas; with weights, `a=2,b=1`, one is drawn for each.
        max_tokens: Of a reply.
        max_attempts: How often the injector is asked about a solution.
        reviewed: Have the model role `reviewer` confirm each error.
    """
    order = Order(
        num_examples=num_examples,
        min_steps=min_steps,
        injection_rate=injection_rate,
        late_fraction=late_fraction,
        seed=seed,
        error_types=read_mix(error_types),
        temperature=temperature,
        max_tokens=max_tokens,
        max_attempts=max_attempts,
        reviewed=reviewed,
    )
    return injection_task(
        samples_of(draw_solutions(source_rows(source, order), order).chosen, order), order
    )
