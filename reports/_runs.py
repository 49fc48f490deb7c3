"""A finished run: what ran, how the model was asked, and every sample with its scores.

Runs and their samples are also made into dataframes.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from math import nan
from typing import TYPE_CHECKING, Any

from misstep.registry import MisstepError, price_of
from misstep.reports._samples import FACETS, SampleRecord, ScoreRecord
from misstep.scorers import Estimate
from misstep.verdicts import Unread

if TYPE_CHECKING:
    import pandas

SCORERS = {
    "mistake_location": {"strict": "mistake_location"},
    "marking": {"strict": "marking", "published": "marking_published"},
    "step_validity": {"strict": "step_validity", "published": "step_validity_published"},
    "first_error": {"strict": "first_error", "lenient": "first_error_lenient"},
    "error_sections": {"strict": "error_sections", "published": "error_sections_published"},
    "recovery": {"strict": "recovery", "lenient": "recovery_lenient"},
    "attribution": {"strict": "attribution"},
}
"""The scorers of misstep by kind of run, then by reading."""

DETECTIONS = "detections"
"""The scorer that stands for `first_error` in runs on injected errors."""

WEIGHTS = "weights_sha256"
"""The key of a log's metadata with the checksum of the weights of an embedded model."""

ANSWERS = "answers"
"""The kind of a run whose samples are right or wrong."""

IMPORTED, REWARD_MODEL, REDUCER, EPOCHS = "imported", "reward_model", "reducer", "epochs"
_DATA_ARGUMENTS = ("source", "subset", "accept", "per_task", "seed", "order", "limit", "grader")
"""Task arguments that select the data or a second model. All others are traits of a run."""
_PLAIN_WORDS = ("critic", "method", "wording", "calls", "domain", "aggregation", REDUCER)
"""Traits whose values say by themselves what they are. Others are written with their names."""
_COUNTS = {"votes": "vote", EPOCHS: "epoch"}
_ONLY_WITH: dict[str, tuple[str, tuple[str, ...]]] = {
    "width": ("method", ("beam",)),
    "n": ("method", ("greedy", "beam", "best_of_n", "majority")),
    "aggregation": ("method", ("beam", "best_of_n")),
    "max_steps": ("method", ("greedy", "beam")),
    "style": ("critic", ("stepwise", "reward")),
    "calls": ("critic", ("stepwise",)),
    "threshold": ("critic", ("reward",)),
}
"""Task arguments that have an effect only with some values of another argument."""

FrameRow = dict[str, Any]


@dataclass(frozen=True)
class Run:
    """A finished run: one eval of one model."""

    location: str
    file: str
    """The path of the log in its folder, as the log viewer shows it."""
    id: str
    eval: str
    task: str
    kind: str
    """What is scored: a key of SCORERS, or ANSWERS."""
    version: str
    data: str
    model: str
    created: str
    settings: dict[str, Any]
    imported: bool
    metrics: dict[str, dict[str, float]]
    """Every metric by scorer, computed from the samples. The log's results hold a few of them."""
    headline: str | None
    """The scorer of the eval's headline metric."""
    samples: list[SampleRecord]
    epochs: int
    usage: dict[str, tuple[int, int]]
    """Input and output tokens by model."""
    headline_metric: str | None = None
    """The eval's headline metric."""
    notes: tuple[str, ...] = ()
    """What the eval noted on its own settings."""
    traits: dict[str, Any] = field(default_factory=dict)
    """How the model was asked, by name: all task arguments that do not select data, also those
    that were left at their defaults, the reward model, and the reducer of epochs."""
    tags: dict[str, str] = field(default_factory=dict)
    """Tags of the form `name=value`, and the simple values of the log's metadata."""

    def __post_init__(self) -> None:
        # A run that was not read from a log may have settings alone.
        known = {IMPORTED: True} if self.imported else {}
        object.__setattr__(self, "traits", known | plain_traits(self.settings) | self.traits)

    @cached_property
    def scored(self) -> list[SampleRecord]:
        """The samples that have scores."""
        return [sample for sample in self.samples if sample.scores]

    @cached_property
    def by_id(self) -> dict[str, SampleRecord]:
        """The samples by their ids."""
        return {sample.id: sample for sample in self.samples}

    @property
    def name(self) -> str:
        """The name of the model for people. A baseline calls no model and has its own name.

        A model of this machine has the name of its file, and the checksum if the log has it.
        """
        if self.is_baseline:
            return str(self.settings["critic"])
        name, digest = public_name(self.model), self.tags.get(WEIGHTS, "")
        return f"{name} (sha256 {digest[:12]})" if name != self.model and digest else name

    @property
    def is_baseline(self) -> bool:
        """Whether the run calls no model."""
        return bool(self.settings.get("critic")) and not self.usage and not self.imported

    @cached_property
    def by_rewards(self) -> bool:
        """Whether the rewards of steps decide the verdicts."""
        if self.traits.get("critic") not in (None, "reward"):
            return False
        return any(score.rewards for sample in self.scored for score in sample.scores.values())

    @cached_property
    def protocol(self) -> str:
        """How the model was asked, in a few words: what is not the default."""
        if self.is_baseline:
            return "baseline"
        asked = {name: value for name, value in self.traits.items() if name in self.settings}
        asked |= {
            name: self.traits[name]
            for name in (IMPORTED, "votes", "method", REWARD_MODEL, EPOCHS, REDUCER)
            if name in self.traits and (name, self.traits[name]) != ("votes", 1)
        }
        return ", ".join(filter(None, map(trait_text, asked, asked.values()))) or "default"

    def describe(self, names: Iterable[str]) -> str:
        """Return some traits in words; empty if the run has none of them."""
        if self.is_baseline:
            return "baseline"
        own = {name: self.traits[name] for name in names if name in self.traits}
        return ", ".join(filter(None, map(trait_text, own, own.values())))

    def scorer(self, reading: str = "strict") -> str:
        """The name of the scorer for a reading; an error if the run has no such reading."""
        own = self.headline if self.headline in self.metrics else next(iter(self.metrics))
        known = SCORERS.get(self.kind) or {"strict": own}
        name = known.get(reading)
        if name == "first_error" and name not in self.metrics:
            name = DETECTIONS
        if name is None or name not in self.metrics:
            available = [word for word, scorer in known.items() if scorer in self.metrics]
            raise MisstepError(
                f"{self.location}: it has no {reading} reading, only {', '.join(available)}."
            )
        return name

    def scored_pairs(self, reading: str = "strict") -> list[tuple[SampleRecord, ScoreRecord]]:
        """The samples that have a score in a reading, each with that score."""
        scorer = self.scorer(reading)
        if scorer not in self._pairs:
            scored = ((sample, sample.scores.get(scorer)) for sample in self.samples)
            self._pairs[scorer] = [(sample, score) for sample, score in scored if score]
        return self._pairs[scorer]

    @cached_property
    def _pairs(self) -> dict[str, list[tuple[SampleRecord, ScoreRecord]]]:
        return {}


def public_name(model: str) -> str:
    """Return the name of a model without the folders of this machine."""
    service, _, name = model.partition("/")
    is_place = name.startswith(("/", ".", "~")) or name.endswith(".gguf")
    return f"{service}/{name.rstrip('/').rpartition('/')[2]}" if is_place else model


def trait_text(name: str, value: object) -> str:
    """Return a trait in words; empty if it is off."""
    if value is None or value is False:
        return ""
    if name in _COUNTS:
        return f"{value} {_COUNTS[name]}{'' if value == 1 else 's'}"
    words = name.replace("_", " ")
    if value is True:
        return words
    return str(value) if name in _PLAIN_WORDS else f"{words} {value}"


def plain_traits(known: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values that say how a model was asked, and that have an effect."""
    joined = {n: ",".join(map(str, v)) if isinstance(v, list) else v for n, v in known.items()}
    return {
        name: value
        for name, value in joined.items()
        if name not in _DATA_ARGUMENTS
        and isinstance(value, str | int | float | bool)
        and _has_effect(name, known)
    }


def _has_effect(name: str, known: Mapping[str, Any]) -> bool:
    """Whether a task argument has an effect beside the others."""
    other, values = _ONLY_WITH.get(name, ("", ()))
    return not other or known.get(other) is None or known[other] in values


def dataframe(rows: Iterable[FrameRow]) -> "pandas.DataFrame":
    """Return rows as a dataframe."""
    import pandas

    return pandas.DataFrame(list(rows))


def estimate_columns(name: str, estimate: Estimate) -> FrameRow:
    """A metric with its interval as three columns."""
    return {name: estimate.value, f"{name}_lower": estimate.lower, f"{name}_upper": estimate.upper}


def protocols(runs: Sequence[Run]) -> dict[str, str]:
    """How each model was asked, by the run's id, in words for what differs between these runs.

    A trait that some runs do not have at all, such as the style of an imported run, differs only if
    the others differ in it.
    """
    values: dict[str, set[str]] = {}
    for run in runs:
        for name, value in {} if run.is_baseline else run.traits.items():
            values.setdefault(name, set()).add(repr(value))
    some = {name for name in (IMPORTED, EPOCHS, REWARD_MODEL) if name in values}
    differing = [
        name
        for name, found in values.items()
        if len(found) > 1 or (name in some and any(name not in run.traits for run in runs))
    ]
    if EPOCHS in differing:
        differing.append(REDUCER)
    return {run.id: run.describe(dict.fromkeys(differing)) for run in runs}


def run_labels(runs: Sequence[Run]) -> dict[str, str]:
    """A unique label for each run, by the run's id."""
    labels = {run.id: run.name for run in runs}
    asked = protocols(runs)
    for number in range(4):
        counts = Counter(labels.values())
        sizes: dict[str, set[int]] = {}
        for run in runs:
            sizes.setdefault(labels[run.id], set()).add(len(run.scored))
        for run in runs:
            label = labels[run.id]
            if counts[label] > 1:
                size = f"{len(run.scored):,} samples" if len(sizes[label]) > 1 else ""
                more = (asked[run.id], size, run.created[:19], run.id)[number]
                labels[run.id] = f"{labels[run.id]} · {more}" if more else labels[run.id]
    return labels


def runs_frame(runs: Sequence[Run]) -> "pandas.DataFrame":
    """One row per run: the settings, the failures, and what the run used."""
    labels = run_labels(runs)
    return dataframe(_run_row(run, labels[run.id]) for run in runs)


def _run_row(run: Run, label: str) -> FrameRow:
    scores = [score for _, score in run.scored_pairs()]
    metrics = run.metrics[run.scorer()]
    cost, source = run_cost(run)
    total, seconds = len(run.samples), [s.seconds for s in run.samples if s.seconds is not None]
    return {
        "run": label,
        "name": run.name,
        "eval": run.eval,
        "data": run.data,
        "version": run.version,
        "model": public_name(run.model),
        "protocol": run.protocol,
        "samples": total,
        "unread": _share_true(map(_is_unparsed, scores)),
        "unparsed": metrics.get("unparsed", _share_true(map(_is_unparsed, scores))),
        "truncated": metrics.get("truncated", _share_true(score.truncated for score in scores)),
        "errored": (total - len(run.scored)) / total,
        "input_tokens": sum(sample.input_tokens for sample in run.samples),
        "output_tokens": sum(sample.output_tokens for sample in run.samples),
        "cost": nan if cost is None else cost,
        "cost_source": source,
        "seconds_a_sample": sum(seconds) / len(seconds) if seconds else nan,
        "created": run.created,
        "file": run.file,
    }


def metrics_frame(runs: Sequence[Run]) -> "pandas.DataFrame":
    """One row per run, scorer and metric: the value, and the ends of its interval if it has one."""
    labels = run_labels(runs)
    return dataframe(
        {
            "run": labels[run.id],
            "scorer": scorer,
            "metric": name,
            "value": value,
            "lower": metrics.get(f"{name}_lower", nan),
            "upper": metrics.get(f"{name}_upper", nan),
        }
        for run in runs
        for scorer, metrics in run.metrics.items()
        for name, value in metrics.items()
        if not name.endswith(("_lower", "_upper"))
    )


def _is_unparsed(score: ScoreRecord) -> bool:
    return score.unread not in (None, Unread.NOT_RECORDED) and not score.truncated


def _share_true(flags: Iterable[bool]) -> float:
    known = list(flags)
    return sum(known) / len(known) if known else nan


def run_cost(run: Run) -> tuple[float | None, str]:
    """The price of a run in dollars, and its source.

    The price is the log's own, or the tokens at the registry's list prices. It is None if the price
    of a model is unknown.
    """
    costs = [sample.cost for sample in run.samples]
    if costs and all(cost is not None for cost in costs):
        return sum(cost for cost in costs if cost is not None), "log"
    total = 0.0
    for model, (tokens_in, tokens_out) in run.usage.items():
        if (price := price_of(model)) is None:
            return None, ""
        total += (tokens_in * price.input + tokens_out * price.output) / 1e6
    return (total, "list price") if run.usage else (None, "")


def samples_frame(runs: Sequence[Run], reading: str = "strict") -> "pandas.DataFrame":
    """One row per run and scored sample.

    `hit` is from 0 to 1. `predicted` and `finding` are filled for first-error runs. The relative
    position is the position of the error among the steps, from 0 to 1.
    """
    labels = run_labels(runs)
    return dataframe(
        _sample_row(run, labels[run.id], sample, score)
        for run in runs
        for sample, score in run.scored_pairs(reading)
    )


def _sample_row(run: Run, label: str, sample: SampleRecord, score: ScoreRecord) -> FrameRow:
    first_error = run.kind == "first_error"
    return {
        "run": label,
        "eval": run.eval,
        "data": run.data,
        "id": sample.id,
        "label": sample.label,
        "n_steps": sample.n_steps,
        "relative_position": sample.relative_position,
        "predicted": score.predicted if first_error else None,
        "hit": score.hit,
        "finding": sample.finding(score) if first_error else None,
        "unread": score.unread,
        **{name: sample.facets.get(name) for name in FACETS},
        "input_tokens": sample.input_tokens,
        "output_tokens": sample.output_tokens,
        "seconds": sample.seconds,
    }
