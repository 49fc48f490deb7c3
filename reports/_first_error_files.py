"""The results of a first-error log in the files that other tools read."""

from dataclasses import dataclass
from math import isnan
from pathlib import PurePosixPath
from typing import Any

from inspect_ai.log import EvalLog, EvalSample
from inspect_ai.model import ChatCompletionChoice
from inspect_ai.scorer import CORRECT, Score

from misstep.registry import MisstepError
from misstep.reports._runs import read_finished_log
from misstep.reports._text import csv_text, file_name, json_lines, json_text
from misstep.samples import critic_verdict
from misstep.scorers import reasoning_of

SCORER = "first_error"
ACCURACIES = ("error_accuracy", "correct_accuracy", "f1_score")
COUNTS = ("error_count", "correct_count", "total_count")

_NOT_OURS = {"steps", "n_steps", "has_error", "recorded"}
_READ_BY_IMPORT = {"model", "config", "scores", "step_scores", "step_scores_up_to_first_error"}
"""Fields of the rows that `misstep import` would read as results of a run."""

_STOPS = {"truncated": "max_tokens", "refused": "content_filter"}

Row = dict[str, Any]


@dataclass(frozen=True)
class FirstErrorResults:
    """The results of a finished first-error run."""

    dataset: str
    model: str
    """The model's name, changed so that it can be part of a file name."""
    votes: int
    samples: list[EvalSample]
    metrics: dict[str, float]
    failed: int
    """Samples without a score."""

    @property
    def name(self) -> str:
        """The name of a file that holds the whole run."""
        return f"{self.dataset}_{self.model}_votes{self.votes}"

    def deltabench_rows(self) -> list[Row]:
        """Return one row for each sample: verdict, votes, and the row's own fields."""
        kept = ("task_l1", "task_l2", "origin", "error_type")
        return [
            {
                "id": sample.id,
                **{name: sample.metadata[name] for name in kept if name in sample.metadata},
                "label": sample.metadata["label"],
                **_verdict(sample),
                **_votes(sample),
                "generated_critique": _critiques(sample),
            }
            for sample in self.samples
        ]

    def by_task(self) -> list[Row]:
        """Return the metrics in percent: for all rows, then by `task_l1`."""
        tasks = sorted({s.metadata["subset"] for s in self.samples if s.metadata.get("subset")})
        table: list[Row] = [{"task_l1": "Overall", **self._metrics("")}]
        return table + [{"task_l1": task, **self._metrics(f"{task}_")} for task in tasks]

    def processbench_rows(self) -> dict[str, list[Row]]:
        """Return the published script's files: for each subset, rows with and without an error."""
        files: dict[str, list[Row]] = {}
        for sample in self.samples:
            subset = sample.metadata.get("subset") or self.dataset
            kind = "error" if sample.metadata["has_error"] else "correct"
            files.setdefault(f"{file_name(str(subset))}_{kind}.jsonl", []).append(_row(sample))
        return files

    def plain(self) -> dict[str, Any]:
        """Return results and metrics in the shape of the reproduction guide's script."""
        results = [
            {
                "id": sample.id,
                "label": sample.metadata["label"],
                **_verdict(sample),
                **_votes(sample),
                "generated_text": _critiques(sample),
            }
            for sample in self.samples
        ]
        return {"results": results, "metrics": self._metrics("")}

    def _metrics(self, prefix: str) -> Row:
        percent = {name: self.metrics[f"{prefix}{name}"] * 100 for name in ACCURACIES}
        counts = {name: int(self.metrics[f"{prefix}{name}"]) for name in COUNTS}
        # JSON has no nan: an undefined metric is null, never 0.
        return {name: None if isnan(x) else x for name, x in percent.items()} | counts


def read_first_error_results(address: str) -> FirstErrorResults:
    """Read a log of a first-error eval for export.

    Raises:
        MisstepError: The log cannot be read, is not finished, or belongs to another eval.
    """
    log = read_finished_log(address, SCORER, "a first-error eval")
    metrics = _metrics(log, address)
    scored = [sample for sample in log.samples or [] if SCORER in (sample.scores or {})]
    return FirstErrorResults(
        dataset=file_name(PurePosixPath(log.eval.dataset.name or "data").stem),
        model=file_name(log.eval.model),
        votes=max((_voting(sample).get("asked", 1) for sample in scored), default=1),
        samples=sorted(scored, key=lambda sample: str(sample.id)),
        metrics=metrics,
        failed=len(log.samples or []) - len(scored),
    )


def _metrics(log: EvalLog, address: str) -> dict[str, float]:
    epochs = log.eval.config.epochs or 1
    if epochs > 1:
        raise MisstepError(
            f"{address}: {epochs} epochs; only runs of 1 epoch are exported. "
            "Use votes in place of epochs: -T votes=8."
        )
    scores = log.results.scores if log.results else []
    return {
        name: metric.value
        for score in scores
        if score.name == SCORER
        for name, metric in score.metrics.items()
    }


def _score(sample: EvalSample) -> Score:
    return (sample.scores or {})[SCORER]


def _verdict(sample: EvalSample) -> Row:
    score = _score(sample)
    prediction = None if score.answer is None else int(score.answer)
    return {"prediction": prediction, "match": score.value == CORRECT}


def _voting(sample: EvalSample) -> dict[str, Any]:
    return (_score(sample).metadata or {}).get("voting") or {}


def _votes(sample: EvalSample) -> Row:
    voting, answer = _voting(sample), _score(sample).answer
    single = [] if answer is None else [answer]
    return {
        "votes": voting.get("votes", single),
        "vote_distribution": voting.get("counts", dict.fromkeys(single, 1)),
    }


def _critiques(sample: EvalSample) -> str | list[str]:
    texts = [_text(choice) for choice in sample.output.choices]
    return texts[0] if len(texts) == 1 else texts


def _text(choice: ChatCompletionChoice) -> str:
    """Return the text of the verdict: the answer, after the reasoning if only that has a box."""
    answer, reasoning = choice.message.text, reasoning_of(choice)
    boxed = "\\boxed" in reasoning and "\\boxed" not in answer
    return f"{reasoning}\n\n{answer}" if boxed else answer


def _row(sample: EvalSample) -> Row:
    left = critic_verdict(sample.store, sample.output)
    unread = str(left.unread) if left is not None else ""
    stops = [_STOPS.get(unread, choice.stop_reason) for choice in sample.output.choices]
    kept = sample.metadata.keys() - _NOT_OURS - _READ_BY_IMPORT
    own = {name: value for name, value in sample.metadata.items() if name in kept}
    return {
        "id": sample.id,
        "problem": sample.input,
        "steps": sample.metadata["steps"],
        **own,
        "generated_critique": _critiques(sample),
        **({"stop_reasons": stops} if set(stops) != {"stop"} else {}),
        **_verdict(sample),
    }


def deltabench_files(results: FirstErrorResults) -> dict[str, str]:
    """Return a JSON Lines row for each sample, and a CSV of the metrics by task."""
    return {
        f"{results.name}.jsonl": json_lines(results.deltabench_rows()),
        f"{results.name}.csv": csv_text(results.by_task()),
    }


def processbench_files(results: FirstErrorResults) -> dict[str, str]:
    """Return the published script's files, which `misstep import` reads."""
    return {name: json_lines(rows) for name, rows in results.processbench_rows().items()}


def json_file(results: FirstErrorResults) -> dict[str, str]:
    """Return results and metrics in one JSON object."""
    return {f"{results.name}.json": json_text(results.plain())}
