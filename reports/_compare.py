"""Is the difference real? Runs on the same samples, compared in pairs."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import combinations
from math import isnan
from typing import TYPE_CHECKING

from misstep.registry import MisstepError
from misstep.reports._compared_figures import OWN, figures_of
from misstep.reports._paired import RESAMPLES, Array, bootstrap, holm, mcnemar
from misstep.reports._runs import Run
from misstep.reports._scored_samples import Sample, Scored

if TYPE_CHECKING:
    import pandas

EXACT, BOOTSTRAP = "McNemar", "bootstrap"


@dataclass(frozen=True)
class Contrast:
    """One figure of two runs."""

    figure: str
    first: str
    second: str
    """The letters of the runs."""
    samples: int
    first_value: float
    second_value: float
    difference: float
    lower: float
    upper: float
    only_first: int | None
    """How many samples the first run alone has right; None where samples are not right or wrong."""
    only_second: int | None
    test: str
    p: float
    p_holm: float = 1.0


@dataclass(frozen=True)
class Differing:
    """A sample on which runs differ."""

    id: str
    subset: str
    target: str
    answers: tuple[str | None, ...]
    hits: tuple[float, ...]


@dataclass(frozen=True)
class Comparison:
    """Runs on the same samples, compared in pairs."""

    runs: dict[str, Run]
    """By letter."""
    reading: str
    samples: int
    left_out: int
    """Samples that not all of the runs have a score for."""
    resamples: int
    contrasts: list[Contrast]
    differing: list[Differing]

    def frame(self) -> "pandas.DataFrame":
        """The contrasts as a dataframe."""
        import pandas

        return pandas.DataFrame([asdict(contrast) for contrast in self.contrasts])


def compare(
    runs: Sequence[Run], reading: str = "strict", common: bool = False, resamples: int = RESAMPLES
) -> Comparison:
    """Compare runs on the samples that all of them have.

    Args:
        runs: Two or more.
        reading: Which of the scores: strict, lenient or published.
        common: Allow runs that share only some of their samples.
        resamples: Of the bootstrap.

    Raises:
        MisstepError: They are not of the same eval, version, data or reading.
    """
    if len(runs) < 2:
        raise MisstepError("One run cannot be compared: name two logs or more.")
    _refuse_unlike(runs)
    # Of one kind and reading, so one scorer; each of the runs must have it.
    [scorer] = {run.scorer(reading) for run in runs}
    _refuse_other_data(runs, common)
    tables = [{s.id: s for s in run.scored if _usable(s, scorer)} for run in runs]
    shared = [id for id in tables[0] if all(id in table for table in tables)]
    if not shared:
        raise MisstepError("The runs have no scored sample in common.")
    seen = {sample.id for run in runs for sample in run.samples}
    paired = [[table[id] for id in shared] for table in tables]
    letters = [chr(ord("A") + i) if i < 26 else f"R{i + 1}" for i in range(len(runs))]
    contrasts = [
        contrast
        for a, b in combinations(range(len(runs)), 2)
        for contrast in _contrasts(
            (letters[a], letters[b]), (paired[a], paired[b]), runs[0].kind, scorer, resamples
        )
    ]
    return Comparison(
        runs=dict(zip(letters, runs, strict=True)),
        reading=reading,
        samples=len(shared),
        left_out=len(seen) - len(shared),
        resamples=resamples,
        contrasts=list(_corrected(contrasts)),
        differing=list(_differing(paired, scorer)),
    )


def _refuse_unlike(runs: Sequence[Run]) -> None:
    first = runs[0]
    for run in runs[1:]:
        for what, one, other in (
            ("evals", first.eval, run.eval),
            ("versions", first.version, run.version),
            ("scores", first.kind, run.kind),
        ):
            if one != other:
                raise MisstepError(
                    f"Different {what}: {first.location} has {one!r}, {run.location} has "
                    f"{other!r}. Their figures are not comparable."
                )


def _refuse_other_data(runs: Sequence[Run], common: bool) -> None:
    first = {sample.id: sample for sample in runs[0].samples}
    for run in runs[1:]:
        ids = {sample.id for sample in run.samples}
        if ids != first.keys() and not common:
            raise MisstepError(
                f"Different data: {runs[0].location} has {len(first):,} samples, {run.location} "
                f"{len(ids):,}, and {len(ids & first.keys()):,} are in both. To compare on those "
                "alone: --common."
            )
        for sample in run.samples:
            other = first.get(sample.id)
            if other and (other.target, other.text) != (sample.target, sample.text):
                what = "target" if other.target != sample.target else "problem"
                raise MisstepError(
                    f"Different data: the sample {sample.id!r} has another {what} in "
                    f"{runs[0].location} than in {run.location}."
                )


def _contrasts(
    letters: tuple[str, str],
    pair: tuple[Sequence[Sample], Sequence[Sample]],
    kind: str,
    scorer: str,
    resamples: int,
) -> Iterator[Contrast]:
    rows, width = _rows(pair, scorer)
    subsets = len({sample.facets.get("subset", "") for sample in pair[0]})
    for spec in figures_of(kind, pair[0][0].scores[scorer], subsets):
        first, second = spec.make(OWN), spec.make(OWN + width)
        found = bootstrap(rows, first, second, rows[:, 0] if spec.stratified else None, resamples)
        among = rows if spec.among is None else rows[rows[:, 1] == spec.among]
        test = None
        if spec.column is not None and len(among):
            column = OWN + spec.column
            test = mcnemar(among[:, column].tolist(), among[:, column + width].tolist())
        yield Contrast(
            figure=spec.name,
            first=letters[0],
            second=letters[1],
            samples=len(among),
            first_value=found.first,
            second_value=found.second,
            difference=found.estimate.value,
            lower=found.estimate.lower,
            upper=found.estimate.upper,
            only_first=test.only_first if test else None,
            only_second=test.only_second if test else None,
            test=EXACT if test else BOOTSTRAP,
            p=test.p if test else found.p,
        )


def _rows(pair: tuple[Sequence[Sample], Sequence[Sample]], scorer: str) -> tuple[Array, int]:
    """A row a sample: its subset, whether it has an error, then each run's values."""
    import numpy as np

    subsets = sorted({sample.facets.get("subset", "") for sample in pair[0]})
    own = [[subsets.index(s.facets.get("subset", "")), float(s.has_error)] for s in pair[0]]
    values = [np.array([_values(sample.scores[scorer]) for sample in run]) for run in pair]
    return np.column_stack([np.array(own), *values]), values[0].shape[1]


def _values(score: Scored) -> list[float]:
    return list(score.value.values()) if isinstance(score.value, dict) else [score.value]


def _usable(sample: Sample, scorer: str) -> bool:
    """Whether a sample has a score by that scorer, and the rule has figures for it."""
    score = sample.scores.get(scorer)
    return score is not None and not score.left_out and not any(map(isnan, _values(score)))


def _corrected(contrasts: Sequence[Contrast]) -> Iterator[Contrast]:
    """The p-values corrected for the number of pairs, figure by figure."""
    by_figure: dict[str, list[Contrast]] = {}
    for contrast in contrasts:
        by_figure.setdefault(contrast.figure, []).append(contrast)
    holms = {name: iter(holm([c.p for c in group])) for name, group in by_figure.items()}
    for contrast in contrasts:
        yield replace(contrast, p_holm=next(holms[contrast.figure]))


def _differing(paired: Sequence[Sequence[Sample]], scorer: str) -> Iterator[Differing]:
    for same in zip(*paired, strict=True):
        scores = [sample.scores[scorer] for sample in same]
        if any(score.value != scores[0].value for score in scores):
            yield Differing(
                id=same[0].id,
                subset=same[0].facets.get("subset", ""),
                target=same[0].target,
                answers=tuple(score.answer for score in scores),
                hits=tuple(score.hit for score in scores),
            )
