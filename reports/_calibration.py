"""How difficult rows are and how able critics are, on one scale; and a short set of rows.

The Rasch model: a critic of ability t gets a row of difficulty b right with the probability
1 / (1 + exp(-(t - b))). The 2PL model has a discrimination a for every row: exp(-a (t - b)).
Both are fitted by maximum a posteriori, jointly for critics and rows: abilities have the prior
N(0, 1), difficulties N(0, 2), logarithms of discriminations N(0, 0.5).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import nan
from typing import TYPE_CHECKING, Literal

from misstep.registry import MisstepError
from misstep.reports._runs import Run
from misstep.reports._text import percent

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Model = Literal["rasch", "2pl"]
ABILITY_SD, DIFFICULTY_SD, DISCRIMINATION_SD = 1.0, 2.0, 0.5
"""The standard deviations of the priors."""
ROUNDS, PRECISION = 5000, 1e-8
"""The most rounds of a fit, and the change below which it ends."""
GRID = (-2.0, 2.0, 21)
"""The abilities for which a short set is chosen: from, to, number; wider if critics are outside."""


@dataclass(frozen=True)
class Responses:
    """Which critics got which rows right."""

    critics: tuple[str, ...]
    rows: tuple[str, ...]
    groups: tuple[str, ...]
    """What the rows of a short set are balanced by: with an error or without."""
    right: "NDArray[np.float64]"
    """A line for each critic: 1 if it got a row right, 0 if not, nan if it has no score."""


@dataclass(frozen=True)
class Calibration:
    """Fitted abilities of critics, and difficulties and discriminations of rows."""

    model: Model
    abilities: "NDArray[np.float64]"
    errors: "NDArray[np.float64]"
    """The standard errors of the abilities."""
    difficulties: "NDArray[np.float64]"
    discriminations: "NDArray[np.float64]"


def responses_of(runs: Sequence[Run], reading: str = "strict") -> Responses:
    """Return the responses of runs on the same rows."""
    import numpy as np

    if len(runs) < 2:
        raise MisstepError("A calibration needs the logs of at least two critics on the same rows.")
    found: dict[str, dict[str, float]] = {}
    groups: dict[str, str] = {}
    for run in runs:
        name = _new_name(run, found)
        found[name] = {}
        for sample, score in run.scored_pairs(reading):
            found[name][sample.id] = float(sample.finding(score) in ("exact", "right"))
            groups[sample.id] = "error" if sample.has_error else "correct"
    common = set.intersection(*(set(own) for own in found.values()))
    if not common:
        raise MisstepError(
            "The logs have no row in common. Run all critics on the same data, seed and arguments."
        )
    rows = sorted(groups)
    right = [[own.get(row, np.nan) for row in rows] for own in found.values()]
    return Responses(tuple(found), tuple(rows), tuple(groups[r] for r in rows), np.array(right))


def _new_name(run: Run, names: dict[str, dict[str, float]]) -> str:
    name, count = run.name, 2
    while name in names:
        name, count = f"{run.name} ({count})", count + 1
    return name


def calibrate(right: "NDArray[np.float64]", model: Model = "rasch") -> Calibration:
    """Fit abilities, difficulties and, for 2PL, discriminations.

    Newton's method for abilities, difficulties and logarithms of discriminations in turn, until
    none of them changes.
    """
    import numpy as np

    critics, rows = right.shape
    known = ~np.isnan(right)
    given = np.where(known, right, 0.0)
    ability, difficulty, logs = np.zeros(critics), np.zeros(rows), np.zeros(rows)

    def off() -> tuple["NDArray[np.float64]", "NDArray[np.float64]"]:
        """Return how far the chances are from the responses, and the variances."""
        chance = _chance(np.exp(logs) * (ability[:, None] - difficulty))
        return np.where(known, chance - given, 0.0), np.where(known, chance * (1 - chance), 0.0)

    for _ in range(ROUNDS):
        before = np.concatenate([ability, difficulty, logs])
        slope = np.exp(logs)
        rest, spread = off()
        gradient = rest @ slope + ability / ABILITY_SD**2
        ability = ability - gradient / (spread @ slope**2 + 1 / ABILITY_SD**2)
        rest, spread = off()
        gradient = -slope * rest.sum(axis=0) + difficulty / DIFFICULTY_SD**2
        difficulty = difficulty - gradient / (slope**2 * spread.sum(axis=0) + 1 / DIFFICULTY_SD**2)
        if model == "2pl":
            logit = slope * (ability[:, None] - difficulty)
            rest, spread = off()
            gradient = (rest * logit).sum(axis=0) + logs / DISCRIMINATION_SD**2
            # The expected second derivative is always positive.
            logs = logs - gradient / ((spread * logit**2).sum(axis=0) + 1 / DISCRIMINATION_SD**2)
        if np.abs(np.concatenate([ability, difficulty, logs]) - before).max() < PRECISION:
            break
    slope = np.exp(logs)
    _, spread = off()
    errors = 1 / np.sqrt(spread @ slope**2 + 1 / ABILITY_SD**2)
    return Calibration(model, ability, errors, difficulty, slope)


def _chance(logit: "NDArray[np.float64]") -> "NDArray[np.float64]":
    import numpy as np

    return 1 / (1 + np.exp(-np.clip(logit, -30, 30)))


def ability_on(
    calibration: Calibration, right: "NDArray[np.float64]", rows: Sequence[int]
) -> "NDArray[np.float64]":
    """Return the abilities of critics by some rows alone, whose difficulties are known."""
    import numpy as np

    slope = calibration.discriminations[list(rows)]
    difficulty = calibration.difficulties[list(rows)]
    own = right[:, list(rows)]
    known = ~np.isnan(own)
    given = np.where(known, own, 0.0)
    ability = np.zeros(len(own))
    for _ in range(ROUNDS):
        chance = _chance(slope * (ability[:, None] - difficulty))
        gradient = np.where(known, chance - given, 0.0) @ slope + ability / ABILITY_SD**2
        spread = np.where(known, chance * (1 - chance), 0.0) @ slope**2 + 1 / ABILITY_SD**2
        step = gradient / spread
        ability = ability - step
        if np.abs(step).max() < PRECISION:
            break
    return ability


def short_set(calibration: Calibration, groups: Sequence[str], count: int) -> list[int]:
    """Return the rows of a short set: those that tell most about abilities, over their whole range.

    Every row adds its Fisher information at each ability of a grid. Rows are chosen one by one, so
    that the sum of the logarithms of the information grows most. Each group keeps its share.
    """
    import numpy as np

    if count > len(groups):
        raise MisstepError(
            f"--rows {count}: the logs have {len(groups)} rows. Give a smaller number."
        )
    low, high, points = GRID
    ability = calibration.abilities
    grid = np.linspace(min(low, ability.min()), max(high, ability.max()), points)
    slope = calibration.discriminations
    chance = _chance(slope * (grid[:, None] - calibration.difficulties))
    information = slope**2 * chance * (1 - chance)
    left = _shares(groups, count)
    total = np.full(len(grid), 1 / ABILITY_SD**2)
    allowed = np.ones(len(groups), bool)
    chosen: list[int] = []
    names = np.array(groups)
    for _ in range(count):
        for name, places in left.items():
            if places == 0:
                allowed &= names != name
        gain = np.log(total[:, None] + information).sum(axis=0)
        best = int(np.argmax(np.where(allowed, gain, -np.inf)))
        chosen.append(best)
        allowed[best] = False
        left[groups[best]] -= 1
        total = total + information[:, best]
    return chosen


def _shares(groups: Sequence[str], count: int) -> dict[str, int]:
    """Return how many rows of each group a set of that size has."""
    names = sorted(set(groups))
    exact = {name: count * groups.count(name) / len(groups) for name in names}
    shares = {name: int(exact[name]) for name in names}
    for name in sorted(names, key=lambda name: shares[name] - exact[name]):
        if sum(shares.values()) < count:
            shares[name] += 1
    return shares


def critic_records(
    found: Responses, fitted: Calibration, chosen: Sequence[int]
) -> list[dict[str, object]]:
    """Return a record of each critic, the ablest first."""
    on_set = ability_on(fitted, found.right, chosen)
    order = sorted(range(len(found.critics)), key=lambda place: -fitted.abilities[place])
    return [
        {
            "critic": found.critics[place],
            "rows": int((found.right[place] >= 0).sum()),
            "right": percent(_mean(found.right[place])),
            "ability": f"{fitted.abilities[place]:.2f}",
            "standard error": f"{fitted.errors[place]:.2f}",
            "ability on the set": f"{on_set[place]:.2f}",
        }
        for place in order
    ]


def row_records(
    found: Responses, fitted: Calibration, chosen: Sequence[int]
) -> list[dict[str, object]]:
    """Return a record of each row: its difficulty, its discrimination, and who got it right."""
    return [
        {
            "id": row,
            "group": found.groups[place],
            "difficulty": float(fitted.difficulties[place]),
            "discrimination": float(fitted.discriminations[place]),
            "right": _mean(found.right[:, place]),
            "in_set": place in chosen,
        }
        for place, row in enumerate(found.rows)
    ]


def _mean(values: "NDArray[np.float64]") -> float:
    import numpy as np

    return float(np.nanmean(values))


def rank_agreement(first: "NDArray[np.float64]", second: "NDArray[np.float64]") -> float:
    """Return Kendall's rank correlation (tau-b); nan if all values of one are equal."""
    import numpy as np

    pairs = np.triu_indices(len(first), 1)
    # Abilities that differ by less than the precision of the fit are equal.
    ups, downs = (np.sign(np.round(each[:, None] - each, 6))[pairs] for each in (first, second))
    size = np.sqrt((ups**2).sum() * (downs**2).sum())
    return float((ups * downs).sum() / size) if size else nan
