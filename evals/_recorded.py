"""Tasks for results that were recorded elsewhere. Their logs compare with those of real runs."""

from inspect_ai import Task
from inspect_ai.dataset import Dataset
from inspect_ai.log import HeadlineMetric

from misstep.evals._views import FINAL_ANSWER_VIEW, FIRST_ERROR_VIEW
from misstep.registry import evals
from misstep.samples import RecordedCritiqueMetadata
from misstep.scorers import final_answer, first_error, first_error_lenient, subset_column
from misstep.solvers import recorded, recorded_best_of_n


def recorded_results(dataset: Dataset, threshold: float = 0.5) -> Task:
    """Return a ProcessBench task that repeats recorded critiques, scores or predictions.

    Args:
        dataset: Samples with recorded results.
        threshold: A step with a smaller score is wrong.
    """
    votes = max(
        1,
        *(
            len(sample.metadata_as(RecordedCritiqueMetadata).recorded.critiques)
            for sample in dataset
        ),
    )
    return Task(
        dataset=dataset,
        solver=recorded(threshold),
        scorer=[first_error(votes), first_error_lenient(votes), subset_column()],
        viewer=FIRST_ERROR_VIEW,
        headline_metric=HeadlineMetric(scorer="first_error", metric="f1_score"),
        name="misstep/processbench",
        version=evals()["processbench"].version,
        metadata={"imported": True},
    )


def recorded_solutions(dataset: Dataset) -> Task:
    """Return a guided search task that chooses among recorded solutions by their rewards.

    Args:
        dataset: Problems with recorded solutions.
    """
    return Task(
        dataset=dataset,
        solver=recorded_best_of_n(),
        scorer=[final_answer(), subset_column()],
        viewer=FINAL_ANSWER_VIEW,
        headline_metric=HeadlineMetric(scorer="final_answer", metric="accuracy"),
        name="misstep/guided_search",
        version=evals()["guided_search"].version,
        metadata={"imported": True},
    )
