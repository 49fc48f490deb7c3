"""Best-of-n over recorded solutions: reward models beside majority voting and the oracle."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from misstep.loaders import RecordedSolution
from misstep.registry import MisstepError
from misstep.reports._charts import chart_library
from misstep.reports._subsets import expected_best, expected_majority, expected_oracle
from misstep.rewards import AGGREGATIONS, aggregate
from misstep.scorers import Estimate, compare_texts, share

if TYPE_CHECKING:
    from misstep.reports._charts import Chart

Draws: TypeAlias = Literal["all", "first"]
"""Which n of the N solutions of a problem: all subsets on average, or the first in the file."""

MAJORITY = "majority"
ORACLE = "oracle"


@dataclass(frozen=True)
class JudgedSolutions:
    """The solutions of one problem, each known to be right or wrong."""

    solutions: list[RecordedSolution]
    right: list[bool]
    group: list[int | None]
    """Which answer each gives: equal ones have the same number, None has none."""


@dataclass(frozen=True)
class Accuracy:
    """The accuracy of one way to choose among n solutions."""

    method: str
    """A reward model, majority or oracle."""
    aggregation: str | None
    n: int
    accuracy: Estimate


def judge_solutions(problems: Mapping[str, Sequence[RecordedSolution]]) -> list[JudgedSolutions]:
    """Tell right solutions from wrong ones, and which give the same answer.

    Raises:
        MisstepError: Problems have different numbers of solutions.
    """
    counts = sorted({len(solutions) for solutions in problems.values()})
    if len(counts) > 1:
        raise MisstepError(
            f"Problems have from {counts[0]} to {counts[-1]} solutions; best-of-n wants as many of "
            "each. Leave out the problems that have fewer."
        )
    return [_judged(list(solutions)) for solutions in problems.values()]


def differing(judged: Sequence[JudgedSolutions]) -> list[str]:
    """The problems with a solution that was recorded to be right or wrong and is not."""
    return [
        one.solutions[0].problem_id
        for one in judged
        if any(
            solution.correct not in (None, right)
            for solution, right in zip(one.solutions, one.right, strict=True)
        )
    ]


def best_of_n(
    judged: Sequence[JudgedSolutions], ns: Sequence[int], draws: Draws = "all"
) -> list[Accuracy]:
    """Every reward model by every aggregation at every n, majority voting and the oracle.

    Args:
        judged: The problems.
        ns: How many solutions are chosen from.
        draws: `all` averages over all subsets of n solutions, exactly; `first` takes the first n
            in the order of the file.

    Raises:
        MisstepError: There are fewer solutions than n.
    """
    most = len(judged[0].solutions)
    if too_many := [n for n in ns if not 1 <= n <= most]:
        raise MisstepError(f"n={too_many[0]}: there are {most} solutions of each problem.")
    cut = {n: [one if draws == "all" else _first(one, n) for one in judged] for n in ns}
    found = []
    for model in judged[0].solutions[0].scores:
        for aggregation in AGGREGATIONS:
            worths = [
                [aggregate(solution.scores[model], aggregation) for solution in one.solutions]
                for one in judged
            ]
            for n in ns:
                hits = [
                    expected_best(of_one[: len(one.right)], one.right, n)
                    for one, of_one in zip(cut[n], worths, strict=True)
                ]
                found.append(Accuracy(model, aggregation, n, share(hits)))
    others: dict[str, Callable[[JudgedSolutions, int], float]] = {
        MAJORITY: _majority,
        ORACLE: _oracle,
    }
    for name, chance in others.items():
        for n in ns:
            found.append(Accuracy(name, None, n, share([chance(one, n) for one in cut[n]])))
    return found


def best_of_n_records(accuracies: Sequence[Accuracy]) -> list[dict[str, Any]]:
    """One row for each."""
    return [
        {
            "method": one.method,
            "aggregation": one.aggregation or "",
            "n": one.n,
            "accuracy": one.accuracy.value,
            "lower": one.accuracy.lower,
            "upper": one.accuracy.upper,
        }
        for one in accuracies
    ]


def best_of_n_chart(accuracies: Sequence[Accuracy], title: str) -> "Chart":
    """Accuracy by n: a panel for each aggregation, majority and oracle in all of them."""
    alt = chart_library()
    records = []
    for record in best_of_n_records(accuracies):
        panels = [record["aggregation"]] if record["aggregation"] else list(AGGREGATIONS)
        records += [record | {"panel": panel} for panel in panels]
    models = list(dict.fromkeys(one.method for one in accuracies))
    models.sort(key=lambda name: (name in (MAJORITY, ORACLE), name))
    base = alt.Chart(alt.Data(values=records)).encode(
        x=alt.X("n:Q", scale=alt.Scale(type="log", base=2), title="solutions"),
        y=alt.Y("accuracy:Q", scale=alt.Scale(zero=False), axis=alt.Axis(format="%")),
        color=alt.Color("method:N", sort=models, title=None),
        strokeDash=alt.StrokeDash(
            "baseline:N", legend=None, scale=alt.Scale(domain=[False, True], range=[[1, 0], [5, 4]])
        ),
        tooltip=["method:N", "panel:N", "n:Q", alt.Tooltip("accuracy:Q", format=".1%")],
    )
    named = f"datum.method === '{MAJORITY}' || datum.method === '{ORACLE}'"
    lines = base.transform_calculate(baseline=named).mark_line(point=True)
    panels = lines.properties(width=260, height=220).facet(
        facet=alt.Facet("panel:N", sort=list(AGGREGATIONS), title=None), columns=2
    )
    return panels.properties(title=title)  # type: ignore[no-any-return]


def _judged(solutions: list[RecordedSolution]) -> JudgedSolutions:
    answers: list[str] = []
    group: list[int | None] = []
    for solution in solutions:
        if solution.answer is None:
            group.append(None)
            continue
        same = (i for i, answer in enumerate(answers) if _same(solution.answer, answer))
        place = next(same, len(answers))
        if place == len(answers):
            answers.append(solution.answer)
        group.append(place)
    rights = [_same(answer, solutions[0].target) for answer in answers]
    return JudgedSolutions(
        solutions, [place is not None and rights[place] for place in group], group
    )


@cache
def _same(answer: str, target: str) -> bool:
    return answer == target or compare_texts(answer, target).same


def _first(one: JudgedSolutions, n: int) -> JudgedSolutions:
    return JudgedSolutions(one.solutions[:n], one.right[:n], one.group[:n])


def _majority(one: JudgedSolutions, n: int) -> float:
    places = list(dict.fromkeys(place for place in one.group if place is not None))
    sizes = [one.group.count(place) for place in places]
    right = [one.right[one.group.index(place)] for place in places]
    return expected_majority(sizes, right, one.group.count(None), n)


def _oracle(one: JudgedSolutions, n: int) -> float:
    return expected_oracle(one.right, n)
