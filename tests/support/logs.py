"""Logs of first-error runs that are written without a run, for tests and benchmarks of reports."""

from collections.abc import Callable, Sequence
from pathlib import Path
from random import Random
from typing import Any, cast

from inspect_ai.log import (
    EvalConfig,
    EvalDataset,
    EvalError,
    EvalLog,
    EvalMetric,
    EvalPlan,
    EvalResults,
    EvalSample,
    EvalScore,
    EvalSpec,
    EvalStats,
    HeadlineMetric,
)
from inspect_ai.model import ModelOutput, ModelUsage
from inspect_ai.scorer import SampleScore, Score

from misstep.loaders import FirstErrorRow, first_error_sample
from misstep.log_files import new_log
from misstep.scorers import first_error_metrics, read_vote, score_votes
from tests.support.rows import critique_of

SCORERS = {"first_error": "strict", "first_error_lenient": "lenient"}


def guesses(rows: Sequence[FirstErrorRow], skill: float, seed: int = 0) -> list[str]:
    """Return replies of a critic that is right with probability `skill` and else guesses."""
    random = Random(seed)
    replies = []
    for row in rows:
        right = random.random() < skill
        index = row.label if right else random.randrange(-1, len(row.steps))
        replies.append(critique_of(index) if random.random() < 0.97 else "I cannot say.")
    return replies


def write_first_error_log(
    path: Path,
    rows: Sequence[FirstErrorRow],
    replies: Sequence[str | Sequence[str]],
    model: str = "openai/gpt-4o-mini",
    status: str = "success",
    rewards: Sequence[Sequence[float | None]] | None = None,
    failed: Sequence[str] = (),
    weight: Callable[[EvalSample, Sequence[str]], None] | None = None,
    **spec: Any,
) -> EvalLog:
    """Write the log of a run with these replies, scored by the real scorers.

    Args:
        path: The file to write.
        rows: The rows.
        replies: The reply to each row; a list of replies is a list of votes.
        model: The model's name.
        status: The status of the run.
        rewards: The rewards of each row's steps.
        failed: The ids of samples that ended in an error.
        weight: Adds to each sample what a real run would, from its replies.
        spec: Other fields of the log's header.
    """
    samples = []
    for number, (row, reply) in enumerate(zip(rows, replies, strict=True)):
        texts = [reply] if isinstance(reply, str) else list(reply)
        scores = None if row.id in failed else _scores(row, texts)
        if scores and rewards is not None:
            scores["first_error"].metadata = {
                **(scores["first_error"].metadata or {}),
                "rewards": list(rewards[number]),
            }
        samples.append(_sample(row, texts, model, scores))
        if weight is not None:
            weight(samples[-1], texts)
    results = EvalResults(
        total_samples=len(samples),
        completed_samples=len(samples) - len(failed),
        scores=[_result(name, samples) for name in SCORERS],
    )
    facts: dict[str, Any] = {
        "eval_id": path.stem,
        "run_id": path.stem,
        "task_id": path.stem,
        "created": "2026-01-02T03:04:05+00:00",
        "task": "misstep/processbench",
        "task_version": 1,
        "dataset": EvalDataset(
            name="processbench", samples=len(rows), sample_ids=[row.id for row in rows]
        ),
        "model": model,
        "config": EvalConfig(),
        "headline_metric": HeadlineMetric(scorer="first_error", metric="f1_score"),
    }
    usage = sum((u for s in samples for u in s.model_usage.values()), ModelUsage())
    log = EvalLog(
        status=cast(Any, status),
        eval=EvalSpec(**{**facts, **spec}),
        plan=EvalPlan(),
        results=results,
        stats=EvalStats(model_usage={model: usage}),
        samples=samples,
    )
    path.parent.mkdir(parents=True, exist_ok=True)
    with new_log(str(path)) as writer:
        for sample in samples:
            writer.add_sample(sample)
        writer.finish(log, [sample.summary() for sample in samples])
    return log


def _scores(row: FirstErrorRow, texts: Sequence[str]) -> dict[str, Score]:
    choices = [ModelOutput.from_content("m", text).choices[0] for text in texts]
    scores = {
        name: score_votes(
            [read_vote(choice, cast(Any, reading)) for choice in choices],
            row.label,
            len(row.steps),
            len(texts),
        )
        for name, reading in SCORERS.items()
    }
    return {**scores, "subset": Score(value=row.subset or "")}


def _sample(
    row: FirstErrorRow, texts: Sequence[str], model: str, scores: dict[str, Score] | None
) -> EvalSample:
    sample = first_error_sample(row)
    error = None if scores else EvalError(message="no", traceback="", traceback_ansi="")
    tokens_in, tokens_out = len(row.problem) // 3, sum(map(len, texts)) // 3
    return EvalSample(
        id=row.id,
        epoch=1,
        input=row.problem,
        target=str(row.label),
        messages=[],
        output=ModelOutput(
            model=model,
            choices=[ModelOutput.from_content(model, text).choices[0] for text in texts],
        ),
        metadata=sample.metadata or {},
        scores=scores,
        error=error,
        total_time=9.0,
        working_time=1.5,
        model_usage={
            model: ModelUsage(
                input_tokens=tokens_in,
                output_tokens=tokens_out,
                total_tokens=tokens_in + tokens_out,
            )
        },
    )


def _result(name: str, samples: Sequence[EvalSample]) -> EvalScore:
    scored = [
        SampleScore(score=sample.scores[name], sample_metadata=sample.metadata)
        for sample in samples
        if sample.scores
    ]
    values = cast(Any, first_error_metrics())(scored)
    metrics = {key: EvalMetric(name=key, value=value) for key, value in values.items()}
    return EvalScore(name=name, scorer=name, metrics=metrics)
