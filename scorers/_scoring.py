"""How the tasks are scored and shown."""

from typing import TypedDict

from inspect_ai.log import HeadlineMetric
from inspect_ai.scorer import Scorer
from inspect_ai.viewer import ViewerConfig

from misstep.scorers._answers import final_answer
from misstep.scorers._first_error import first_error, first_error_lenient, subset_column
from misstep.scorers._recovery import recovery, recovery_lenient
from misstep.scorers._sections import error_sections, error_sections_published
from misstep.scorers._view import (
    ERROR_SECTIONS_VIEW,
    FINAL_ANSWER_VIEW,
    FIRST_ERROR_VIEW,
    RECOVERY_VIEW,
)


class Scoring(TypedDict):
    """Arguments of a Task."""

    scorer: list[Scorer]
    headline_metric: HeadlineMetric
    viewer: ViewerConfig


def first_error_scoring(votes: int = 1, weighted: bool = False) -> Scoring:
    """Strict and lenient scores, the subset as a column, F1 as the headline.

    Args:
        votes: How many votes were asked for.
        weighted: Let votes weigh as much as the model was sure of them.
    """
    return Scoring(
        scorer=[
            first_error(votes, weighted),
            first_error_lenient(votes, weighted),
            subset_column(),
        ],
        headline_metric=HeadlineMetric(scorer="first_error", metric="f1_score"),
        viewer=FIRST_ERROR_VIEW,
    )


def error_sections_scoring(structured: bool = False) -> Scoring:
    """Strict and published scores, the subset as a column, the strict macro F1 as the headline.

    Macro, as in the paper, where each solution weighs the same however many sections it has;
    strict, since by the published rule a critic that flags all sections does well.

    Args:
        structured: The replies are JSON objects.
    """
    return Scoring(
        scorer=[error_sections(structured), error_sections_published(structured), subset_column()],
        headline_metric=HeadlineMetric(scorer="error_sections", metric="f1_macro"),
        viewer=ERROR_SECTIONS_VIEW,
    )


def recovery_scoring() -> Scoring:
    """Strict and lenient scores, the task as a column; the headline is the rate after a mistake."""
    return Scoring(
        scorer=[recovery(), recovery_lenient(), subset_column()],
        headline_metric=HeadlineMetric(scorer="recovery", metric="IR_correct_rate"),
        viewer=RECOVERY_VIEW,
    )


def answer_scoring() -> Scoring:
    """The final answer, the problem's set as a column, accuracy as the headline."""
    return Scoring(
        scorer=[final_answer(), subset_column()],
        headline_metric=HeadlineMetric(scorer="final_answer", metric="accuracy"),
        viewer=FINAL_ANSWER_VIEW,
    )
