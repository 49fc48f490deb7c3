"""Best-of-n over recorded solutions: reward models beside majority voting and the oracle.

Accuracies are averaged exactly over all ways to draw n of N solutions, by counting the draws. At
n = N there is one draw.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import groupby
from math import comb
from operator import itemgetter
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from misstep.loaders import RecordedSolutionRow
from misstep.registry import MisstepError
from misstep.reports._charts import chart_library
from misstep.reports._text import TextTable, cluster_note, one_line, percent
from misstep.rewards import AGGREGATIONS, aggregate
from misstep.samples import problem_cluster
from misstep.scorers import Estimate, compare_texts, share

if TYPE_CHECKING:
    from misstep.reports._charts import Chart

Draws: TypeAlias = Literal["all", "first"]
"""Which n of the N solutions: the average over all subsets, or the first n in the file."""

MAJORITY = "majority"
ORACLE = "oracle"
_COLUMNS = 7
"""Numbers that fit beside the name of a reward model."""


@dataclass(frozen=True)
class JudgedProblem:
    """The recorded solutions of one problem, each known to be right or wrong."""

    solutions: list[RecordedSolutionRow]
    right: list[bool]
    group: list[int | None]
    """The answer of each solution: equal answers have the same number, no answer is None."""

    def first(self, n: int) -> "JudgedProblem":
        """The problem with its first n solutions."""
        return JudgedProblem(self.solutions[:n], self.right[:n], self.group[:n])


@dataclass(frozen=True)
class BestOfNAccuracy:
    """The accuracy of one way to choose among n solutions."""

    method: str
    """The name of a reward model, MAJORITY or ORACLE."""
    aggregation: str | None
    n: int
    accuracy: Estimate
    """Problems with the same text under several ids are one cluster."""
    independent: Estimate
    """The same with the interval of independent problems."""


def judge_solutions(problems: Mapping[str, Sequence[RecordedSolutionRow]]) -> list[JudgedProblem]:
    """Judge which solutions are right, and which give the same answer."""
    counts = sorted({len(solutions) for solutions in problems.values()})
    if len(counts) > 1:
        raise MisstepError(
            f"Problems have from {counts[0]} to {counts[-1]} solutions. Best-of-n needs the same "
            "number for each problem. Leave out the problems that have fewer."
        )
    return [_judged_problem(list(solutions)) for solutions in problems.values()]


def _judged_problem(solutions: list[RecordedSolutionRow]) -> JudgedProblem:
    answers: list[str] = []
    group: list[int | None] = []
    for solution in solutions:
        if solution.answer is None:
            group.append(None)
            continue
        same = (i for i, answer in enumerate(answers) if _same_answer(solution.answer, answer))
        place = next(same, len(answers))
        if place == len(answers):
            answers.append(solution.answer)
        group.append(place)
    rights = [_same_answer(answer, solutions[0].target) for answer in answers]
    right = [place is not None and rights[place] for place in group]
    return JudgedProblem(solutions, right, group)


@cache
def _same_answer(answer: str, target: str) -> bool:
    return answer == target or compare_texts(answer, target).same


def label_conflicts(judged: Sequence[JudgedProblem]) -> dict[str, int]:
    """The number of solutions whose recorded label differs from the judged one, by problem."""
    counts = {
        problem.solutions[0].problem_id: sum(
            solution.correct not in (None, right)
            for solution, right in zip(problem.solutions, problem.right, strict=True)
        )
        for problem in judged
    }
    return {problem: count for problem, count in counts.items() if count}


def best_of_n(
    judged: Sequence[JudgedProblem], ns: Sequence[int], draws: Draws = "all"
) -> list[BestOfNAccuracy]:
    """The accuracy of every reward model and aggregation, majority voting and oracle at every n."""
    most = len(judged[0].solutions)
    if too_many := [n for n in ns if not 1 <= n <= most]:
        raise MisstepError(f"n={too_many[0]}: there are {most} solutions of each problem.")
    cut = {n: [one if draws == "all" else one.first(n) for one in judged] for n in ns}
    clusters = [problem_cluster(problem.solutions[0].problem) for problem in judged]

    def accuracy(
        method: str, aggregation: str | None, n: int, hits: list[float]
    ) -> BestOfNAccuracy:
        return BestOfNAccuracy(method, aggregation, n, share(hits, clusters), share(hits))

    accuracies = []
    for model in judged[0].solutions[0].scores:
        for aggregation in AGGREGATIONS:
            values = [
                [aggregate(solution.scores[model], aggregation) for solution in problem.solutions]
                for problem in judged
            ]
            for n in ns:
                hits = [
                    expected_best(of_problem[: len(problem.right)], problem.right, n)
                    for problem, of_problem in zip(cut[n], values, strict=True)
                ]
                accuracies.append(accuracy(model, aggregation, n, hits))
    others: dict[str, Callable[[JudgedProblem, int], float]] = {
        MAJORITY: _majority,
        ORACLE: lambda problem, n: expected_oracle(problem.right, n),
    }
    for name, chance in others.items():
        for n in ns:
            hits = [chance(problem, n) for problem in cut[n]]
            accuracies.append(accuracy(name, None, n, hits))
    return accuracies


def _majority(problem: JudgedProblem, n: int) -> float:
    group = problem.group
    places = list(dict.fromkeys(place for place in group if place is not None))
    sizes = [group.count(place) for place in places]
    right = [problem.right[group.index(place)] for place in places]
    return expected_majority(sizes, right, group.count(None), n)


def expected_best(values: Sequence[float | None], right: Sequence[bool], n: int) -> float:
    """The probability that the best of n drawn solutions is right.

    Ties are broken at random. A solution without a value is never chosen. If no drawn solution has
    a value, there is no answer, and that counts as wrong.
    """
    draws = comb(len(values), n)
    ranked = sorted(
        (value, ok) for value, ok in zip(values, right, strict=True) if value is not None
    )
    below = len(values) - len(ranked)
    chance = 0.0
    for _, equals in groupby(ranked, key=itemgetter(0)):
        group = [ok for _, ok in equals]
        # Draws whose best solution is in this group: none above it, and not all below it.
        of_group = comb(below + len(group), n) - comb(below, n)
        chance += of_group / draws * sum(group) / len(group)
        below += len(group)
    return chance


def expected_oracle(right: Sequence[bool], n: int) -> float:
    """The probability that any of n drawn solutions is right."""
    return 1 - comb(right.count(False), n) / comb(len(right), n)


def expected_majority(sizes: Sequence[int], right: Sequence[bool], none: int, n: int) -> float:
    """The probability that the most frequent answer of n drawn solutions is right.

    On ties the answer that comes first wins. In a random order, each leader has the same chance.
    `sizes` has the number of solutions that give each answer. `none` solutions have no answer and
    no vote.
    """
    total = 0.0
    for j in (j for j, ok in enumerate(right) if ok):
        others = [size for i, size in enumerate(sizes) if i != j]
        for lead in range(1, min(sizes[j], n) + 1):
            rest = _draws_below(others, none, lead, n - lead)
            wins = sum(count / (ties + 1) for ties, count in enumerate(rest))
            total += comb(sizes[j], lead) * wins
    return total / comb(sum(sizes) + none, n)


def _draws_below(sizes: Sequence[int], none: int, lead: int, draw: int) -> list[int]:
    """Count the ways to draw votes so that no answer beats the leader, by number of ties."""
    # ways[ties][k]: the number of ways to draw k votes so far.
    ways = [[comb(none, k) for k in range(draw + 1)]]
    for size in sizes:
        most_ties = len(ways) + (size >= lead)
        grown = [[0] * (draw + 1) for _ in range(most_ties)]
        for ties, row in enumerate(ways):
            for k, count in enumerate(row):
                if count:
                    for votes in range(min(size, lead, draw - k) + 1):
                        tied = ties + (votes == lead)
                        grown[tied][k + votes] += count * comb(size, votes)
        ways = grown
    return [row[draw] for row in ways]


def best_of_n_records(accuracies: Sequence[BestOfNAccuracy]) -> list[dict[str, Any]]:
    """One row per accuracy."""
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


def best_of_n_notes(accuracies: Sequence[BestOfNAccuracy]) -> Iterator[str]:
    """Name the intervals at the last n whose width clusters change by more than a tenth."""
    last = max(one.n for one in accuracies)
    for one in accuracies:
        if one.n == last:
            name = f"{one.method}, {one.aggregation}" if one.aggregation else one.method
            if note := cluster_note(name, one.accuracy, one.independent):
                yield note


def best_of_n_tables(accuracies: Sequence[BestOfNAccuracy]) -> list[TextTable]:
    """One table per aggregation: accuracies in percent by n, and the interval at the last n.

    Majority and oracle are in all tables. Many numbers n are split into several tables.
    """
    ns = list(dict.fromkeys(one.n for one in accuracies))
    headings = [*map(str, ns), "95% interval"]
    tables = []
    for aggregation in dict.fromkeys(one.aggregation for one in accuracies if one.aggregation):
        rows: dict[str, list[str]] = {}
        for one in accuracies:
            if one.aggregation in (aggregation, None):
                cells = rows.setdefault(one_line(one.method), [])
                cells.append(percent(one.accuracy.value))
                if one.n == ns[-1]:
                    cells.append(f"{percent(one.accuracy.lower)}–{percent(one.accuracy.upper)}")
        for start in range(0, len(headings), _COLUMNS):
            shown = slice(start, start + _COLUMNS)
            cut = [[name, *cells[shown]] for name, cells in rows.items()]
            tables.append(TextTable([aggregation, *headings[shown]], cut))
    return tables


def best_of_n_chart(accuracies: Sequence[BestOfNAccuracy], title: str) -> "Chart":
    """Accuracy by n: one panel per aggregation; majority and oracle are in all panels."""
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
    is_baseline = f"datum.method === '{MAJORITY}' || datum.method === '{ORACLE}'"
    lines = base.transform_calculate(baseline=is_baseline).mark_line(point=True)
    panels = lines.properties(width=260, height=220).facet(
        facet=alt.Facet("panel:N", sort=list(AGGREGATIONS), title=None), columns=2
    )
    return panels.properties(title=title)  # type: ignore[no-any-return]
