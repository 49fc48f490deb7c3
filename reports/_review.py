"""People review labels: items in the order of doubt, their decisions, agreement and export.

Decisions are kept in a file of JSON Lines. A decision is on disk before it counts. The last
decision of an annotator on an item counts; earlier ones stay in the file.
"""

import os
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import combinations
from pathlib import Path
from typing import Any, Literal, cast

from inspect_ai.scorer import SampleScore, Score, krippendorff_alpha
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from misstep.forge import DATA_NAME
from misstep.loaders import json_lines, load_rows
from misstep.registry import DataError, MisstepError
from misstep.reports._read_runs import read_log, read_run
from misstep.scorers import Estimate, from_draws
from misstep.verdicts import NO_ERROR

REJECTED = "rejected"
"""The rating of an item that cannot be used."""
ADJUDICATOR = "adjudicator"
"""The name under which disagreements are decided."""
_SCORERS = ("first_error", "detections")
_RESAMPLES = 1000


@dataclass
class ReviewItem:
    """A solution whose label people review."""

    id: str
    problem: str
    steps: list[str]
    label: int
    row: dict[str, Any]
    """The row as it was read. The export keeps it."""
    error_type: str | None = None
    original_steps: list[str] = field(default_factory=list)
    why: str = ""
    votes: list[int | None] = field(default_factory=list)
    """The verdicts of the forge's blind review."""
    critics: dict[str, int | None] = field(default_factory=dict)
    """The verdict of each critic, from logs."""

    @property
    def against(self) -> int:
        """The largest number of critics and reviewers that agree on another verdict."""
        verdicts = [*self.critics.values(), *self.votes]
        others = Counter(one for one in verdicts if one is not None and one != self.label)
        return max(others.values(), default=0)

    @property
    def doubt(self) -> tuple[int, float]:
        """The order of review: several that agree against the label first, then any others."""
        verdicts = [one for one in (*self.critics.values(), *self.votes) if one is not None]
        differing = sum(one != self.label for one in verdicts)
        several = self.against if self.against > 1 else 0
        return several, differing / len(verdicts) if verdicts else 0.0


def review_items(sources: Sequence[str]) -> list[ReviewItem]:
    """Return the items of a build folder, of a file of first-error rows, or of logs of critics.

    Logs beside a folder or file add the verdicts of critics. Items come in the order of doubt.
    """
    logs = [source for source in sources if source.endswith((".eval", ".json")) and _is_log(source)]
    rest = [source for source in sources if source not in logs]
    if len(rest) > 1:
        raise MisstepError(
            f"{', '.join(rest)}: review one folder or file at a time; logs add to it."
        )
    items: dict[str, ReviewItem] = {}
    if rest:
        folder = Path(rest[0])
        source = str(folder / f"{DATA_NAME}.jsonl") if folder.is_dir() else rest[0]
        for row in load_rows(source):
            content = {**row.model_dump(), **row.extra}
            items[row.id] = _item(row.id, row.problem, row.steps, row.label, content)
    for log in logs:
        _add_log(log, items, complete=bool(rest))
    if not items:
        raise DataError(f"{', '.join(sources)}: nothing to review.")
    return sorted(items.values(), key=lambda item: item.doubt, reverse=True)


def _is_log(source: str) -> bool:
    if source.endswith(".eval"):
        return True
    try:
        with open(source, "rb") as stream:
            return b'"eval"' in stream.read(4096)
    except OSError:
        return False


def _item(
    name: str, problem: str, steps: list[str], label: int, content: dict[str, Any]
) -> ReviewItem:
    original = content.get("original_steps")
    votes = content.get("review_votes")
    return ReviewItem(
        name,
        problem,
        steps,
        label,
        content,
        str(content["error_type"]) if content.get("error_type") else None,
        [str(step) for step in original] if isinstance(original, list) else [],
        str(content.get("why_incorrect") or ""),
        [one if isinstance(one, int) else None for one in votes] if isinstance(votes, list) else [],
    )


def _add_log(location: str, items: dict[str, ReviewItem], complete: bool) -> None:
    """Add the verdicts of a log. Without a file of rows, its samples are the items."""
    run = read_run(location)
    scorer = next((name for name in _SCORERS if name in run.metrics), None)
    if scorer is None:
        raise MisstepError(
            f"{location}: not a log of first errors: it has no {' or '.join(_SCORERS)}."
        )
    critic, number = run.name, 2
    while any(critic in item.critics for item in items.values()):
        critic, number = f"{run.name} ({number})", number + 1
    for sample in read_log(location).samples or []:
        about = sample.metadata
        name, steps, label = str(sample.id), about.get("steps"), about.get("label")
        if not isinstance(steps, list) or not isinstance(label, int):
            raise MisstepError(f"{location}: sample {name} has no steps and label.")
        if name not in items and not complete:
            problem = sample.input if isinstance(sample.input, str) else sample.input[-1].text
            row = {"id": name, "problem": problem, "steps": steps, "label": label}
            row |= {
                key: about[key] for key in ("subset", "generator", "error_type") if about.get(key)
            }
            items[name] = _item(name, problem, [str(step) for step in steps], label, row)
        score = (sample.scores or {}).get(scorer)
        if name in items and score is not None and items[name].steps == steps:
            items[name].critics[critic] = _verdict(score)
    if not any(critic in item.critics for item in items.values()):
        raise MisstepError(f"{location}: it judges none of these rows. Leave it out.")


def _verdict(score: Score) -> int | None:
    try:
        return int(score.answer) if score.answer is not None else None
    except ValueError:
        return None


class Decision(BaseModel):
    """What one annotator decided about one item."""

    model_config = ConfigDict(extra="forbid")

    item: str = Field(min_length=1, max_length=1000)
    annotator: str = Field(min_length=1, max_length=100, pattern=r"^[^\x00-\x1f\x7f]+$")
    decision: Literal["accept", "correct", "reject"]
    label: int = Field(ge=NO_ERROR)
    """The first wrong step, or -1. Of a rejected item it is the label that was shown."""
    error_type: str | None = Field(default=None, max_length=100)
    note: str = Field(default="", max_length=10_000)
    blind: bool = False
    at: str = Field(default_factory=lambda: datetime.now(UTC).isoformat(timespec="seconds"))

    @property
    def rating(self) -> str:
        """The decision as one category, for agreement."""
        return REJECTED if self.decision == "reject" else str(self.label)


class DecisionFile:
    """The decisions on disk. Several processes may write to the file."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._size = -1
        self._decisions: dict[tuple[str, str], Decision] = {}
        self.unread = 0
        """Lines that are not decisions. A crash can leave half a line at the end."""

    def add(self, decision: Decision) -> None:
        """Write a decision, and return when it is on disk."""
        try:
            with open(self._path, "a+b") as stream:
                if stream.tell():
                    stream.seek(-1, os.SEEK_END)
                    if stream.read(1) != b"\n":  # A crash cut off the last line.
                        stream.write(b"\n")
                stream.write(decision.model_dump_json().encode() + b"\n")
                stream.flush()
                os.fsync(stream.fileno())
        except OSError as problem:
            raise DataError(f"{self._path}: cannot be written ({problem.strerror}).") from None

    @property
    def decisions(self) -> dict[tuple[str, str], Decision]:
        """The last decision of each annotator on each item, by item and annotator."""
        size = self._path.stat().st_size if self._path.is_file() else 0
        if size != self._size:
            self._decisions, self.unread, self._size = {}, 0, size
            for line in self._path.read_bytes().splitlines() if size else []:
                try:
                    decision = Decision.model_validate_json(line)
                except ValidationError:
                    self.unread += bool(line.strip())
                    continue
                self._decisions[decision.item, decision.annotator] = decision
        return self._decisions

    def by_item(self) -> dict[str, dict[str, Decision]]:
        """Return the decisions of all annotators on each item, without adjudications."""
        found: dict[str, dict[str, Decision]] = defaultdict(dict)
        for (item, annotator), decision in self.decisions.items():
            if annotator != ADJUDICATOR:
                found[item][annotator] = decision
        return found

    def disagreements(self) -> set[str]:
        """Return the items that annotators rate differently."""
        rated = self.by_item().items()
        return {item for item, found in rated if len({one.rating for one in found.values()}) > 1}


def default_review_file(sources: Sequence[str]) -> Path:
    """Return the file of decisions: in the build folder, or beside the file or log."""
    first = Path(sources[0])
    return first / "reviews.jsonl" if first.is_dir() else Path(f"{first.name}.reviews.jsonl")


@dataclass(frozen=True)
class Agreement:
    """How far annotators agree, beyond chance. 1 is full agreement, 0 is chance."""

    name: str
    items: int
    same: int
    estimate: Estimate


def agreements(decisions: DecisionFile) -> list[Agreement]:
    """Return Cohen's kappa of each pair of annotators, and Krippendorff's alpha of all.

    Ratings are nominal: the label, or rejected. Intervals are those of a bootstrap over items.
    """
    rated = {item: found for item, found in decisions.by_item().items() if len(found) > 1}
    found = []
    for pair in combinations(sorted({name for one in rated.values() for name in one}), 2):
        both = [
            (one[pair[0]].rating, one[pair[1]].rating)
            for one in rated.values()
            if set(pair) <= set(one)
        ]
        if both:
            found.append(_agreement(f"Cohen's kappa: {pair[0]}, {pair[1]}", both, cohen_kappa))
    if rated:
        units = [tuple(one.rating for one in ratings.values()) for ratings in rated.values()]
        found.append(_agreement("Krippendorff's alpha: all", units, _alpha))
    return found


def _agreement(name: str, units: Sequence[tuple[str, ...]], statistic: Any) -> Agreement:  # noqa: ANN401
    import numpy as np

    random = np.random.default_rng(0)
    draws = [
        statistic([units[place] for place in random.integers(0, len(units), len(units))])
        for _ in range(_RESAMPLES)
    ]
    same = sum(len(set(unit)) == 1 for unit in units)
    return Agreement(name, len(units), same, from_draws(statistic(units), np.array(draws)))


def cohen_kappa(pairs: Sequence[tuple[str, ...]]) -> float:
    """Return Cohen's kappa of two annotators. It is 1 if both give one rating to all items."""
    total = len(pairs)
    first, second = (Counter(pair[place] for pair in pairs) for place in (0, 1))
    chance = sum(first[rating] * second[rating] for rating in first) / total**2
    same = sum(pair[0] == pair[1] for pair in pairs) / total
    return 1.0 if chance == 1 else (same - chance) / (1 - chance)


def _alpha(units: Sequence[tuple[str, ...]]) -> float:
    scores = [SampleScore(score=Score(value=list(unit))) for unit in units]
    metric: Any = krippendorff_alpha()
    return cast(float, metric(scores))


def review_lines(items: Iterable[ReviewItem], decisions: DecisionFile) -> bytes:
    """Return the reviewed items as JSON Lines."""
    return json_lines(reviewed_rows(items, decisions)).encode()


def reviewed_rows(items: Iterable[ReviewItem], decisions: DecisionFile) -> Iterator[dict[str, Any]]:
    """Yield the reviewed items as rows with their final labels and provenance.

    An adjudication decides; else all annotators must agree. Rejected items and open disagreements
    are left out.
    """
    rated = decisions.by_item()
    for item in items:
        found = rated.get(item.id, {})
        judged = decisions.decisions.get((item.id, ADJUDICATOR))
        ratings = {one.rating for one in found.values()}
        final = judged or (next(iter(found.values())) if len(ratings) == 1 else None)
        if final is None or final.decision == "reject":
            continue
        row = {name: value for name, value in item.row.items() if value is not None}
        yield row | {
            "label": final.label,
            "error_type": final.error_type if final.label != NO_ERROR else None,
            "review": {
                "original_label": item.label,
                "annotators": sorted(found),
                "adjudicated": judged is not None,
                "decisions": [one.model_dump() for _, one in sorted(found.items())],
            },
        }


def review_counts(items: Sequence[ReviewItem], decisions: DecisionFile) -> dict[str, Any]:
    """Return how far the review is: items, decisions of each annotator, open disagreements."""
    known = {item.id for item in items}
    rated = {name: found for name, found in decisions.by_item().items() if name in known}
    judged = {item for item, name in decisions.decisions if name == ADJUDICATOR}
    by_annotator = Counter(name for found in rated.values() for name in found)
    kinds = Counter(one.decision for found in rated.values() for one in found.values())
    return {
        "items": len(items),
        "reviewed": len(rated),
        "by_two_or_more": sum(len(found) > 1 for found in rated.values()),
        "annotators": dict(sorted(by_annotator.items())),
        "decisions": dict(sorted(kinds.items())),
        "disagreements": len(decisions.disagreements() & known),
        "adjudicated": len(judged & known),
    }
