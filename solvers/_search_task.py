"""What the guided search task is made of, once its problems are loaded."""

from inspect_ai.dataset import Dataset

from misstep.scorers import answer_scoring
from misstep.solvers._first_error_task import TaskArguments
from misstep.solvers._guided_search import guided_search
from misstep.solvers._search_settings import SearchSettings


def search_task(dataset: Dataset, settings: SearchSettings) -> TaskArguments:
    """The arguments of a Task that solves problems by a method.

    Args:
        dataset: The problems.
        settings: The method and what it works with.
    """
    return TaskArguments(
        dataset=dataset,
        solver=guided_search(
            settings.method,
            settings.n,
            settings.width,
            settings.aggregation,
            settings.max_steps,
            settings.style,
            settings.continuation,
            settings.budget,
        ),
        config=settings.config,
        **answer_scoring(),
    )
