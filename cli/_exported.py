"""A first-error log as rows and figures for other tools."""

import csv
import io
import json
import re
from collections.abc import Iterable
from dataclasses import dataclass
from math import isnan
from pathlib import PurePosixPath
from typing import Any

from inspect_ai.log import EvalLog, EvalSample
from inspect_ai.model import ChatCompletionChoice
from inspect_ai.scorer import CORRECT, Score

from misstep.registry import MisstepError
from misstep.reports import read_log
from misstep.scorers import reasoning_of

SCORER = "first_error"
ACCURACIES = ("error_accuracy", "correct_accuracy", "f1_score")
COUNTS = ("error_count", "correct_count", "total_count")

_NOT_OURS = {"steps", "n_steps", "has_error", "recorded"}
_READ_BY_IMPORT = {"model", "config", "scores", "step_scores", "step_scores_up_to_first_error"}
"""Of the rows' own metadata: an import would take these for what a run left."""

_STOPS = {"truncated": "max_tokens", "refused": "content_filter"}

Row = dict[str, Any]


@dataclass(frozen=True)
class Run:
    """What a finished first-error run left."""

    dataset: str
    model: str
    """Fit for a file's name."""
    votes: int
    samples: list[EvalSample]
    figures: dict[str, float]
    failed: int
    """Samples without a score."""

    @property
    def name(self) -> str:
        """Of a file that holds the whole run."""
        return f"{self.dataset}_{self.model}_votes{self.votes}"

    def deltabench_rows(self) -> list[Row]:
        """One row a sample: the verdict, its votes, and what the row is about."""
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
        """The figures in percent: of all rows, then by `task_l1`."""
        tasks = sorted({s.metadata["subset"] for s in self.samples if s.metadata.get("subset")})
        table: list[Row] = [{"task_l1": "Overall", **self._metrics("")}]
        return table + [{"task_l1": task, **self._metrics(f"{task}_")} for task in tasks]

    def processbench_files(self) -> dict[str, list[Row]]:
        """The published script's files: by subset, rows with an error and rows without one."""
        files: dict[str, list[Row]] = {}
        for sample in self.samples:
            subset = sample.metadata.get("subset") or self.dataset
            kind = "error" if sample.metadata["has_error"] else "correct"
            files.setdefault(f"{file_name(str(subset))}_{kind}.jsonl", []).append(_row(sample))
        return files

    def plain(self) -> dict[str, Any]:
        """Results and metrics as the reproduction guide's own script returns them."""
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
        percent = {name: self.figures[f"{prefix}{name}"] * 100 for name in ACCURACIES}
        counts = {name: int(self.figures[f"{prefix}{name}"]) for name in COUNTS}
        # JSON knows no nan; what is undefined is null, and never 0.
        return {name: None if isnan(x) else x for name, x in percent.items()} | counts


def read_run(address: str) -> Run:
    """Read a log that can be exported.

    Raises:
        MisstepError: It cannot be read, is not finished, or is not of a first-error eval.
    """
    log = read_log(address)
    figures = _figures(log, address)
    scored = [sample for sample in log.samples or [] if SCORER in (sample.scores or {})]
    return Run(
        dataset=file_name(PurePosixPath(log.eval.dataset.name or "data").stem),
        model=file_name(log.eval.model),
        votes=max((_voting(sample).get("asked", 1) for sample in scored), default=1),
        samples=sorted(scored, key=lambda sample: str(sample.id)),
        figures=figures,
        failed=len(log.samples or []) - len(scored),
    )


def _figures(log: EvalLog, address: str) -> dict[str, float]:
    if log.status != "success" or log.results is None:
        raise MisstepError(
            f"{address}: the run's status is {log.status!r}; only a finished one is exported. "
            f"To finish it: inspect eval-retry {address}"
        )
    if (log.eval.config.epochs or 1) > 1:
        raise MisstepError(
            f"{address}: {log.eval.config.epochs} epochs; exported are runs of one. "
            "Votes by one request, -T votes=8, are exported."
        )
    for score in log.results.scores:
        if score.name == SCORER and "f1_score" in score.metrics:
            return {name: metric.value for name, metric in score.metrics.items()}
    names = ", ".join(score.name for score in log.results.scores) or "none"
    raise MisstepError(
        f"{address}: not a log of a first-error eval. Its scores are {names}; wanted is {SCORER}."
    )


def file_name(text: str) -> str:
    """A text as a part of a file's name."""
    return re.sub(r"[^\w.+-]+", "_", text).strip("._") or "unnamed"


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
    """What the verdict was read from: the answer, with the reasoning where only that has a box."""
    answer, reasoning = choice.message.text, reasoning_of(choice)
    boxed = "\\boxed" in reasoning and "\\boxed" not in answer
    return f"{reasoning}\n\n{answer}" if boxed else answer


def _row(sample: EvalSample) -> Row:
    unread = (sample.output.metadata or {}).get("unread")
    stops = [_STOPS.get(str(unread), choice.stop_reason) for choice in sample.output.choices]
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


def lines_text(rows: Iterable[Row]) -> str:
    """Rows as JSON Lines."""
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)


def json_text(content: dict[str, Any] | list[Any]) -> str:
    """An object or a list as JSON."""
    return json.dumps(content, ensure_ascii=False, indent=2) + "\n"


def csv_text(rows: list[Row]) -> str:
    """Rows of equal keys as CSV; what is undefined is empty."""
    stream = io.StringIO()
    writer = csv.DictWriter(stream, fieldnames=list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return stream.getvalue()
