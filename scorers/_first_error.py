"""The first wrong step: the scorers, strict and lenient, and the metrics.

A run registers few metrics. `first_error_table` has all.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias

from inspect_ai.scorer import (
    CORRECT,
    INCORRECT,
    Metric,
    SampleScore,
    Score,
    Scorer,
    Target,
    Value,
    metric,
    scorer,
    value_to_float,
)
from inspect_ai.solver import TaskState

from misstep.plain_text import metric_values, viewer_text
from misstep.samples import LabelMetadata, SolutionMetadata
from misstep.scorers._intervals import Estimate, class_estimates, f1_estimate, mean_estimate, share
from misstep.scorers._votes import (
    REASONS,
    UNREAD_TEXT,
    Vote,
    read_vote,
    shortened,
    tally,
    voting_record,
)
from misstep.stores import VerdictRecord, critic_verdict
from misstep.verdicts import NO_ERROR, Reading, Unread, Verdict

_hit = value_to_float()
NOT_UNPARSED = (None, Unread.TRUNCATED)
Registers: TypeAlias = Literal["all", "main", "none"]
REGISTERS = "registers"
"""The key of a score's metadata that says which metrics a run has in its results."""
MOST_SUBSETS = 4
"""A run of at most so many subsets has the F1 of each in its results. A run of more has them in
`first_error_table` only."""


@dataclass(frozen=True)
class FirstErrorSample:
    """What the metrics need of one scored sample."""

    hit: float
    has_error: bool
    subset: str | None
    cluster: str
    voting: dict[str, Any]
    """The record of the vote, empty without a vote."""


def scored_first_error(scored: SampleScore, number: int) -> FirstErrorSample:
    """Return a scored sample. Its number is its cluster if its metadata name none."""
    about = LabelMetadata.model_validate(scored.sample_metadata or {})
    return FirstErrorSample(
        hit=_hit(scored.score.value),
        has_error=about.has_error,
        subset=about.subset,
        cluster=about.cluster or f"sample {number}",
        voting=(scored.score.metadata or {}).get("voting") or {},
    )


@metric(name="first_error_metrics")
def first_error_metrics() -> Metric:
    """F1 and the accuracies with intervals, the counts, and the F1 of up to four subsets."""

    def compute(scores: list[SampleScore]) -> Value:
        registers = _registers(scores)
        if registers == "none":
            return {}
        return metric_values((_main if registers == "main" else _registered)(_samples(scores)))

    return compute


def _registers(scores: Sequence[SampleScore]) -> Registers:
    found: Registers = (scores[0].score.metadata or {}).get(REGISTERS, "all") if scores else "all"
    return found


@metric(name="reply_metrics", scores="unreduced")
def reply_metrics() -> Metric:
    """The shares of replies without a verdict, over all epochs."""

    def compute(scores: list[SampleScore]) -> Value:
        return {} if _registers(scores) == "none" else dict(unread_shares(scores))

    return compute


def unread_shares(epochs: Sequence[SampleScore]) -> dict[str, float]:
    """Return the share of replies that were cut off, and of others that give no verdict."""
    records = [epoch.score.metadata or {} for epoch in epochs]
    unparsed = [float(record.get("unread") not in NOT_UNPARSED) for record in records]
    return {
        "unparsed": share(unparsed).value,
        "truncated": share([float(is_truncated(record)) for record in records]).value,
    }


def sample_count(epochs: Sequence[SampleScore]) -> int:
    """Return the number of samples behind the scores of all epochs."""
    ids = [epoch.sample_id for epoch in epochs]
    return len(set(ids) - {None}) + ids.count(None)


def is_truncated(record: dict[str, Any]) -> bool:
    """Return whether a score's metadata say that the reply was cut off."""
    return record.get("unread") == Unread.TRUNCATED or bool(record.get("truncated"))


def first_error_table(
    scores: Sequence[SampleScore], epochs: Sequence[SampleScore]
) -> dict[str, float]:
    """Return every metric of first-error detection, also by subset and at fewer votes.

    Args:
        scores: One score for each sample: epochs are reduced.
        epochs: The scores of all epochs.
    """
    return metric_values(_all_metrics(_samples(scores), epochs))


def _samples(scores: Sequence[SampleScore]) -> list[FirstErrorSample]:
    return [scored_first_error(score, number) for number, score in enumerate(scores)]


def _main(samples: Sequence[FirstErrorSample]) -> Iterator[tuple[str, float]]:
    estimates = first_error_estimates(samples)
    for name, estimate in estimates.items():
        yield name, estimate.value
    yield from estimates["f1_score"].interval("f1_score")
    yield "stderr", estimates["f1_score"].stderr


def _registered(samples: Sequence[FirstErrorSample]) -> Iterator[tuple[str, float]]:
    """Yield at most 13 metrics, the main ones first."""
    estimates = first_error_estimates(samples)
    for name, estimate in estimates.items():
        yield name, estimate.value
    f1 = estimates.pop("f1_score")
    yield from f1.interval("f1_score")
    subsets = _by_subset(samples)
    if 1 < len(subsets) <= MOST_SUBSETS:
        of_subsets = {name: f1_of(members) for name, members in subsets.items()}
        yield "mean_subset_f1_score", mean_estimate(list(of_subsets.values())).value
        for name, estimate in of_subsets.items():
            yield f"{name}_f1_score", estimate.value
    else:
        for name, estimate in estimates.items():
            yield from estimate.interval(name)
    errors = sum(sample.has_error for sample in samples)
    yield "error_count", errors
    yield "correct_count", len(samples) - errors
    # Inspect's dataframes and viewer take a metric of this name as the error bar of the headline.
    yield "stderr", f1.stderr


def _all_metrics(
    samples: Sequence[FirstErrorSample], epochs: Sequence[SampleScore]
) -> Iterator[tuple[str, float]]:
    whole = first_error_estimates(samples)
    yield from _set_metrics(whole, samples, epochs)
    yield "stderr", whole["f1_score"].stderr
    voted = [epoch for epoch in epochs if (epoch.score.metadata or {}).get("voting")]
    yield from _voting_metrics([one for one in _samples(voted) if one.voting.get("asked")])
    subsets = _by_subset(samples)
    if not subsets:
        return
    parts = {name: first_error_estimates(members) for name, members in subsets.items()}
    mean = mean_estimate([part["f1_score"] for part in parts.values()])
    yield "mean_subset_f1_score", mean.value
    yield from mean.interval("mean_subset_f1_score")
    by_subset: dict[str, list[SampleScore]] = {}
    for epoch in epochs:
        name = str((epoch.sample_metadata or {}).get("subset"))
        by_subset.setdefault(name, []).append(epoch)
    for subset, members in subsets.items():
        for name, value in _set_metrics(parts[subset], members, by_subset.get(subset, [])):
            yield f"{subset}_{name}", value


def _set_metrics(
    estimates: Mapping[str, Estimate],
    samples: Sequence[FirstErrorSample],
    epochs: Sequence[SampleScore],
) -> Iterator[tuple[str, float]]:
    """Yield the metrics of one set of samples: the main ones first, then the intervals."""
    for name, estimate in estimates.items():
        yield name, estimate.value
    yield from unread_shares(epochs).items()
    errors = sum(sample.has_error for sample in samples)
    yield "error_count", errors
    yield "correct_count", len(samples) - errors
    yield "total_count", len(samples)
    for name, estimate in estimates.items():
        yield from estimate.interval(name)


def first_error_estimates(samples: Sequence[FirstErrorSample]) -> dict[str, Estimate]:
    """Return F1, error accuracy and correct accuracy of a set of samples."""
    names = ("f1_score", "error_accuracy", "correct_accuracy")
    return dict(zip(names, class_estimates(*_classes(samples)), strict=True))


def _voting_metrics(voted: Sequence[FirstErrorSample]) -> Iterator[tuple[str, float]]:
    """Yield agreement, the votes that adaptive voting saved, and F1 at fewer of the same votes."""
    if not voted:
        return
    asked = sum(sample.voting["asked"] for sample in voted)
    drawn = sum(len(sample.voting["votes"]) for sample in voted)
    yield "agreement", sum(sample.voting["agreement"] for sample in voted) / len(voted)
    yield "votes_drawn", drawn / len(voted)
    yield "votes_saved", 1 - drawn / asked
    for k in voted[0].voting["hits_at"]:
        at_k = [replace(sample, hit=sample.voting["hits_at"][k]) for sample in voted]
        yield f"f1_score_at_{k}", f1_of(at_k).value


def _classes(
    samples: Sequence[FirstErrorSample],
) -> tuple[list[float], list[float], list[str], list[str]]:
    """Return the hits of samples with and without an error, then their clusters."""
    errors = [one for one in samples if one.has_error]
    corrects = [one for one in samples if not one.has_error]
    return (
        [one.hit for one in errors],
        [one.hit for one in corrects],
        [one.cluster for one in errors],
        [one.cluster for one in corrects],
    )


def f1_of(samples: Sequence[FirstErrorSample]) -> Estimate:
    """Return the F1 of a set of samples."""
    return f1_estimate(*_classes(samples))


def _by_subset(samples: Sequence[FirstErrorSample]) -> dict[str, list[FirstErrorSample]]:
    subsets: dict[str, list[FirstErrorSample]] = {}
    for sample in samples:
        if sample.subset is not None:
            subsets.setdefault(sample.subset, []).append(sample)
    return dict(sorted(subsets.items()))


@scorer(metrics=[first_error_metrics(), reply_metrics()])
def first_error(votes: int = 1, weighted: bool = False, registers: Registers = "all") -> Scorer:
    """Score the first wrong step, read strictly: the published rule to the letter.

    Args:
        votes: The number of votes that were asked for.
        weighted: Weight votes by the model's confidence in its tokens.
        registers: The metrics in a run's results: all, main (F1 and its parts), or none, for evals
            with other scorers. Reports compute the others from the samples.
    """
    return _first_error("strict", votes, weighted, registers)


@scorer(metrics=[])
def first_error_lenient(votes: int = 1, weighted: bool = False) -> Scorer:
    """Score the first wrong step, read leniently: as the critic evidently meant it.

    It registers no metrics. `misstep.scorers.first_error_table` computes them from the scores.

    Args:
        votes: The number of votes that were asked for.
        weighted: Weight votes by the model's confidence in its tokens.
    """
    return _first_error("lenient", votes, weighted)


@scorer(name="subset", metrics=[])
def subset_column() -> Scorer:
    """Show the sample's subset as a column of the viewer. It scores nothing."""

    async def score(state: TaskState, target: Target) -> Score:
        return Score(value=str(state.metadata.get("subset") or ""))

    return score


def _first_error(
    reading: Reading, asked: int, weighted: bool, registers: Registers = "all"
) -> Scorer:
    async def score(state: TaskState, target: Target) -> Score:
        label, steps = int(target.text), state.metadata_as(SolutionMetadata).steps
        left = critic_verdict(state.store, state.output)
        votes = votes_of(state, left, reading, weighted)
        scored = score_votes(votes, label, len(steps), asked)
        if left is not None:
            _add_rewards(scored, left)
        # The strict score alone shows the steps: both scores stand side by side in the viewer.
        if reading == "strict":
            scored.explanation = f"{scored.explanation}\n\n{step_table(scored, label, steps)}"
        if registers != "all":
            scored.metadata = {**(scored.metadata or {}), REGISTERS: registers}
        return scored

    return score


def votes_of(
    state: TaskState, left: VerdictRecord | None, reading: Reading, weighted: bool = False
) -> list[Vote]:
    """Return the verdict that the critic left as a value, else read the text of each choice."""
    if left is not None and left.unread is not None:
        return [Vote(Unread(left.unread), None)]
    if left is not None and left.verdict is not None:
        return [Vote(left.verdict, str(left.verdict))]
    return [read_vote(choice, reading, weighted) for choice in state.output.choices]


def _add_rewards(score: Score, left: VerdictRecord) -> None:
    """Add the rewards that a verdict is based on to its score, and why some are missing."""
    if left.rewards is not None:
        score.metadata = {**(score.metadata or {}), "rewards": left.rewards}
    if left.missing:
        score.explanation = f"{score.explanation} Rewards are missing: {code(left.missing)}."


def score_votes(votes: Sequence[Vote], label: Verdict, steps: int, asked: int = 1) -> Score:
    """Score votes against a label. Adaptive voting draws fewer votes than were asked for."""
    result = tally(votes)
    verdict = result.verdict
    metadata: dict[str, Any] = {}
    if isinstance(verdict, Unread):
        metadata["unread"] = verdict.value
    elif not NO_ERROR <= verdict < steps:
        metadata["out_of_range"] = True
    explanation = f"{_predicted(verdict, steps)}; {_labelled(verdict, label, steps)}."
    if asked > 1:
        metadata["voting"] = record = voting_record(votes, result, label, asked)
        explanation += f" Votes: {' '.join(code(ballot) for ballot in record['votes'])}."
    elif votes[0].ballot not in (None, str(verdict)):
        # A strict vote over epochs counts the text of the box.
        metadata["ballot"] = shortened(votes[0].ballot)
    return Score(
        value=CORRECT if verdict == label else INCORRECT,
        answer=None if isinstance(verdict, Unread) else str(verdict),
        explanation=explanation,
        reason=REASONS[verdict] if isinstance(verdict, Unread) else None,
        metadata=metadata,
    )


def _predicted(verdict: Verdict | Unread, steps: int) -> str:
    if isinstance(verdict, Unread):
        return f"No verdict: {UNREAD_TEXT[verdict]}"
    if verdict == NO_ERROR:
        return "Predicted no error"
    beyond = "" if 0 <= verdict < steps else ", which does not exist"
    return f"Predicted step {verdict}{beyond}"


def _labelled(verdict: Verdict | Unread, label: Verdict, steps: int) -> str:
    if label == NO_ERROR:
        return "the solution has no error"
    wrong = f"the first wrong step is {label} (of 0 to {steps - 1})"
    if isinstance(verdict, Unread) or verdict < 0:
        return wrong
    if verdict == label:
        return f"that is the first wrong step (of 0 to {steps - 1})"
    return f"{wrong}: {abs(verdict - label)} {'early' if verdict < label else 'late'}"


def code(text: str) -> str:
    """Return text as code in one line of Markdown."""
    return f"`{' '.join(text.replace('`', chr(39)).split()) or ' '}`"


_MOST_ROWS, _FIRST_WORDS, _MOST_CHARACTERS = 40, 64, 1500
"""Steps in a table, characters of a step there, and characters of a step that is quoted."""


def step_table(score: Score, label: Verdict, steps: Sequence[str]) -> str:
    """Return the steps as a Markdown table for the viewer, then the steps in question.

    The table has the label, the verdict, the votes and the reward of each step. Of a long solution
    it has the steps around the label and the verdict.
    """
    metadata = score.metadata or {}
    votes, rewards = (metadata.get("voting") or {}).get("counts") or {}, metadata.get("rewards")
    verdict = int(score.answer) if score.answer is not None else None
    columns = ["step", "label", "verdict", *["votes"] * bool(votes), *["reward"] * bool(rewards)]
    lines = [f"| {' | '.join([*columns, 'first words'])} |", "| --- " * (len(columns) + 1) + "|"]
    shown = _shown_steps(len(steps), label, verdict)
    for place, step in enumerate(shown):
        if place and step > shown[place - 1] + 1:
            lines.append(f"| … {'| ' * len(columns)}|")
        cells = [
            str(step),
            "**wrong**" if step == label else "right" if _is_right(step, label) else "",
        ]
        cells.append("" if step != verdict else "**here**")
        if votes:
            cells.append(f"{votes.get(str(step), 0):g}")
        if rewards:
            reward = rewards[step] if step < len(rewards) else None
            cells.append("–" if reward is None else f"{reward:.3f}")
        cells.append(viewer_text(shortened(_own_text(steps[step], step), _FIRST_WORDS)))
        lines.append(f"| {' | '.join(cells)} |")
    quoted = {"Labelled": label, "Predicted": verdict}
    if label == verdict:
        quoted = {"Labelled and predicted": label}
    return "\n".join([*lines, *quoted_steps(quoted, steps)])


def quoted_steps(quoted: Mapping[str, int | None], steps: Sequence[str]) -> Iterator[str]:
    """Yield the texts of steps as lines of Markdown, each below the name of its role."""
    for name, step in quoted.items():
        if step is not None and 0 <= step < len(steps):
            text = viewer_text(shortened(_own_text(steps[step], step), _MOST_CHARACTERS))
            yield from ("", f"**{name}: step {step}**", "", text)


def _own_text(text: str, step: int) -> str:
    """Return what an agent itself wrote or called in a step, without the evidence before it."""
    before, head, own = text.rpartition(f"[step {step}] ")
    return f"{head}{own}" if head and before[-1:] in ("", "\n") else text


def _shown_steps(count: int, label: Verdict, verdict: int | None) -> list[int]:
    """Return all steps, or those around the label and the verdict if there are many."""
    if count <= _MOST_ROWS:
        return list(range(count))
    centres = [step for step in (label, verdict) if step is not None and 0 <= step < count] or [0]
    reach = _MOST_ROWS // (2 * len(centres))
    near = {step for centre in centres for step in range(centre - reach, centre + reach)}
    return sorted(step for step in near if 0 <= step < count)


def _is_right(step: int, label: Verdict) -> bool:
    return label == NO_ERROR or step < label
