"""Which figures of two runs are compared, by what is scored."""

from collections.abc import Callable
from dataclasses import dataclass

from misstep.reports._paired import Figure, average, harmonic, mean_of, ratio
from misstep.reports._scored_samples import Scored

OWN = 2
"""A sample's own columns, before those of the runs: its subset, and whether it has an error."""
_SUBSET, _HAS_ERROR = 0, 1


@dataclass(frozen=True)
class Spec:
    """A figure that is compared."""

    name: str
    make: Callable[[int], Figure]
    """From the place of a run's first column."""
    column: int | None = None
    """Which of a run's columns is right or wrong, if the figure is a share of them."""
    among: bool | None = None
    """Only samples with an error, or without one."""
    stratified: bool = False
    """Whether samples are drawn within their subset."""


def figures_of(kind: str, score: Scored, subsets: int) -> list[Spec]:
    """The figures of a kind of score.

    Args:
        kind: What is scored.
        score: Any of the scores, for the names of their values.
        subsets: How many subsets there are.
    """
    if kind == "first_error":
        return _first_error(subsets)
    if kind == "error_sections":
        return _error_sections()
    if isinstance(score.value, dict):
        return [_share(f"{name}_correct_rate", i) for i, name in enumerate(score.value)]
    return [_share("accuracy", 0)]


def _share(name: str, column: int, among: bool | None = None) -> Spec:
    where = {} if among is None else {_HAS_ERROR: float(among)}
    return Spec(name, lambda place: mean_of(place + column, where), column, among)


def _f1(place: int, subset: int | None = None) -> Figure:
    within = {} if subset is None else {_SUBSET: float(subset)}
    with_error, without = ({**within, _HAS_ERROR: float(which)} for which in (True, False))
    return harmonic(mean_of(place, with_error), mean_of(place, without))


def _first_error(subsets: int) -> list[Spec]:
    figures = [
        Spec("f1_score", _f1),
        _share("error_accuracy", 0, True),
        _share("correct_accuracy", 0, False),
        _share("accuracy", 0),
    ]
    if subsets > 1:

        def mean_subset(place: int) -> Figure:
            return average([_f1(place, subset) for subset in range(subsets)])

        figures.append(Spec("mean_subset_f1_score", mean_subset, stratified=True))
    return figures


def _error_sections() -> list[Spec]:
    # The values of a sample: f1, precision, recall, hits, false_alarms, missed.
    def macro(name: str, column: int) -> Spec:
        return Spec(name, lambda place: mean_of(place + column))

    def micro(place: int) -> Figure:
        return harmonic(
            ratio(place + 3, [place + 4], 0.0), ratio(place + 3, [place + 5], float("nan"))
        )

    return [
        macro("f1_macro", 0),
        macro("precision_macro", 1),
        macro("recall_macro", 2),
        Spec("f1_micro", micro),
    ]
