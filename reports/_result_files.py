"""Results that anybody can check: one small file for each run, with every verdict.

A file of results holds no text of the data, of prompts or of replies. It holds each sample's label
and verdict, so that everybody can compute the metrics again, and digests of the rows, so that a
changed label is found when the rows are available.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from datetime import date
from functools import cached_property
from hashlib import sha256
from math import isnan
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple

from inspect_ai.scorer import SampleScore, Score
from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    StringConstraints,
    ValidationError,
)

from misstep.plain_text import check_name
from misstep.registry import MisstepError, Sha256
from misstep.reports._runs import IMPORTED, Run
from misstep.reports._samples import METRIC_TABLES, SampleRecord, ScoreRecord
from misstep.reports._text import file_name
from misstep.scorers import Vote, score_labels, score_validity, score_votes
from misstep.verdicts import NO_ERROR, Unread

METRICS = {
    "first_error": (
        *("f1_score", "error_accuracy", "correct_accuracy", "mean_subset_f1_score"),
        *("unparsed", "truncated"),
    ),
    "step_labels": ("step_accuracy", "first_error_accuracy", "step_macro_f1", "unread_steps"),
    "step_validity": (
        *("prmscore", "simplicity", "soundness", "sensitivity", "f1", "negative_f1"),
        *("unparsed", "truncated"),
    ),
}
"""The metrics in a file, by scorer; those with an interval have its ends beside them."""
PROTOCOL_ARGUMENTS = frozenset(
    {
        *("critic", "votes", "adaptive", "weighted", "style", "calls", "threshold", "context"),
        *("wording", "tag", "domain", "order", "tool_result_chars"),
    }
)
"""Task arguments that do not change which rows are judged."""
_LARGEST = 8_000_000
_SIGNS = {-1: "-", 0: "0", 1: "+", None: "?"}
_LABELS = {sign: label for label, sign in _SIGNS.items()}

Digest = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{16}$")]
Name = Annotated[str, StringConstraints(min_length=1, max_length=300), AfterValidator(check_name)]
Signs = Annotated[str, StringConstraints(pattern=r"^[-0+?]*$")]
Count = Annotated[int, Field(ge=0, strict=True)]
Index = Annotated[int, Field(ge=NO_ERROR, strict=True)]
Number = Annotated[float, Field(strict=True, allow_inf_nan=False)]
Setting = bool | int | float | str | list[str] | None


def _checked_date(text: str) -> str:
    """Return a date such as 2026-01-31; raise an error if it is none."""
    if date.fromisoformat(text).isoformat() != text:
        raise ValueError("dates are such as 2026-01-31")
    return text


def _refuse_constant(name: str) -> float:
    raise ValueError(f"{name} is no number of JSON")


class JudgedSample(NamedTuple):
    """What a file keeps of one sample. In the file it is a list of these values."""

    id: Name
    row: Digest
    """A digest of the sample's problem, steps and labels."""
    subset: Name | None
    cluster: Name
    steps: Count
    label: Index
    verdict: Index | Unread
    """The predicted step, or why there is none."""
    gold: Signs | None = None
    """The label of every step: `+` right, `0` neutral, `-` wrong."""
    judged: Signs | None = None
    """The judgement of every step; `?` was not read."""


class ResultFile(BaseModel):
    """The results of one run."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    format: Literal[1] = 1
    eval: Name
    task: Name
    version: Name
    source: Name
    """The registered source of the rows, or the name of generated data."""
    rows: Count
    of: Count
    """The rows of the source, or of the chosen subsets. A recorded run may cover only a part."""
    rows_sha256: Sha256
    model: Name
    weights_sha256: Sha256 | None = None
    imported: bool = False
    settings: dict[Name, Setting] = Field(default_factory=dict)
    generate: dict[Name, bool | int | float | Name] = Field(default_factory=dict)
    tokens: tuple[Count, Count] | None = None
    """Input and output tokens; None if no model was called."""
    created: Annotated[str, AfterValidator(_checked_date)]
    packages: dict[Name, Name] = Field(default_factory=dict)
    log_sha256: Sha256
    """Of the log, which its owner keeps: with it, anybody can compare the verdicts again."""
    metrics: dict[Name, dict[Name, Number | None]]
    samples: Annotated[list[JudgedSample], Field(min_length=1)]

    @cached_property
    def sha256(self) -> str:
        """The checksum of the whole content."""
        return _sha256(self.model_dump(mode="json"))

    def text(self) -> str:
        """Return the file: one line for each field and for each sample."""
        content = self.model_dump(mode="json")
        samples = [_compact(_trimmed(one)) for one in content.pop("samples")]
        lines = [f"{_compact(name)}: {_compact(value)}" for name, value in content.items()]
        lines += ['"samples": [\n' + ",\n".join(samples) + "\n]", f'"sha256": "{self.sha256}"']
        return "{\n" + ",\n".join(lines) + "\n}\n"

    @property
    def name(self) -> str:
        """The name of the file."""
        critic = None if self.tokens or self.imported else self.settings.get("critic")
        words = (self.eval, self.source, str(critic or self.model.rpartition("/")[2]))
        return f"{file_name('_'.join(dict.fromkeys(words)))}_{self.sha256[:8]}.json"

    def run(self, file: str) -> Run:
        """Return the run; its metrics are computed from the verdicts."""
        part = "" if self.rows == self.of else f" ({self.rows:,} of {self.of:,} rows)"
        if chosen := self.settings.get("subset"):
            part = f" ({', '.join(chosen) if isinstance(chosen, list) else chosen})"
        tokens = {self.model: self.tokens} if self.tokens else {}
        kind = "step_validity" if "step_validity" in self.metrics else "first_error"
        return Run(
            location=file,
            file=file,
            id=self.sha256,
            eval=self.eval,
            task=self.task,
            kind=kind,
            version=self.version,
            data=f"{self.source}{part}",
            model=self.model,
            created=self.created,
            settings=dict(self.settings),
            imported=self.imported,
            metrics=recomputed(self.samples, self.metrics),
            headline=kind,
            samples=[_record(one, self.metrics) for one in self.samples],
            epochs=1,
            usage=tokens,
            traits=({IMPORTED: True} if self.imported else {})
            | {name: value for name, value in self.settings.items() if name in PROTOCOL_ARGUMENTS},
        )


def _trimmed(values: list[Any]) -> list[Any]:
    """Return the values of a sample without the labels of steps, if it has none."""
    return values[:-2] if values[-2:] == [None, None] else values


def step_signs(labels: Iterable[int | None]) -> str:
    return "".join(_SIGNS[label] for label in labels)


def rows_digest(samples: Iterable[JudgedSample]) -> str:
    """Return the digest of all rows with their labels, in the order of their ids."""
    return _sha256(sorted([one.id, one.row, one.label, one.gold] for one in samples))


def _sha256(content: object) -> str:
    return sha256(_compact(content, sort_keys=True).encode(errors="surrogatepass")).hexdigest()


def _compact(content: object, sort_keys: bool = False) -> str:
    return json.dumps(content, ensure_ascii=False, separators=(",", ":"), sort_keys=sort_keys)


def scores_of(sample: JudgedSample, scorers: Iterable[str]) -> dict[str, Score]:
    """Return the scores that a verdict gives against the label."""
    scores: dict[str, Score] = {}
    verdict = sample.verdict
    for scorer in scorers:
        if scorer == "first_error":
            vote = Vote(verdict, None if isinstance(verdict, Unread) else str(verdict))
            scores[scorer] = score_votes([vote], sample.label, sample.steps)
        elif scorer == "step_labels":
            gold, judged = ([_LABELS[sign] for sign in text or ""] for text in sample[-2:])
            scores[scorer] = score_labels(judged, [label or 0 for label in gold], "ours")
        else:
            wrong = [i for i, sign in enumerate(sample.gold or "") if sign == "-"]
            labels: list[bool] | Unread = [sign == "+" for sign in sample.judged or ""]
            if isinstance(verdict, Unread) and not sample.judged:
                labels = verdict
            scores[scorer] = score_validity(labels, wrong, sample.steps)
    return scores


def _metadata(sample: JudgedSample) -> dict[str, Any]:
    gold = [_LABELS[sign] for sign in sample.gold or ""]
    return {
        "subset": sample.subset,
        "cluster": sample.cluster,
        "has_error": sample.label != NO_ERROR,
        "step_labels": gold,
    }


def recomputed(
    samples: Sequence[JudgedSample], scorers: Iterable[str]
) -> dict[str, dict[str, float]]:
    """Return every metric by scorer, computed from the verdicts."""
    names = list(scorers)
    scored: dict[str, list[SampleScore]] = {name: [] for name in names}
    for one in samples:
        for name, score in scores_of(one, names).items():
            scored[name].append(
                SampleScore(score=score, sample_id=one.id, sample_metadata=_metadata(one))
            )
    return {name: METRIC_TABLES[name](scores, scores) for name, scores in scored.items()}


def stored_metrics(metrics: Mapping[str, Mapping[str, float]]) -> dict[str, dict[str, Any]]:
    """Return the metrics that a file keeps, with six decimals; an undefined one is None."""
    return {
        scorer: {
            name: None if isnan(values[name]) else round(values[name], 6)
            for metric in METRICS[scorer]
            for name in (metric, f"{metric}_lower", f"{metric}_upper")
            if name in values
        }
        for scorer, values in metrics.items()
    }


def _record(sample: JudgedSample, scorers: Iterable[str]) -> SampleRecord:
    facets = {} if sample.subset is None else {"subset": sample.subset}
    scores = {
        name: ScoreRecord(
            value=score.as_dict()  # type: ignore[arg-type]
            if isinstance(score.value, dict)
            else float(score.value == "C"),
            answer=score.answer,
            unread=(score.metadata or {}).get("unread"),
            truncated=(score.metadata or {}).get("unread") == Unread.TRUNCATED,
            out_of_range=bool((score.metadata or {}).get("out_of_range")),
        )
        for name, score in scores_of(sample, scorers).items()
    }
    return SampleRecord(
        id=sample.id,
        target=str(sample.label),
        text=sample.row,
        label=sample.label,
        n_steps=sample.steps,
        dependants=None,
        cluster=sample.cluster,
        facets=facets,
        scores=scores,
        error=None,
        input_tokens=0,
        output_tokens=0,
        cost=None,
        seconds=None,
    )


def read_result_file(path: Path) -> ResultFile:
    """Read one file of results; raise an error if its checksum is not that of its content."""
    if path.stat().st_size > _LARGEST:
        raise MisstepError(f"{path}: larger than {_LARGEST:,} bytes.")
    try:
        content = json.loads(path.read_text(encoding="utf-8"), parse_constant=_refuse_constant)
        if not isinstance(content, dict):
            raise ValueError("not an object of JSON")
        claimed = content.pop("sha256")
        file = ResultFile.model_validate(content)
    except (ValidationError, ValueError, KeyError, RecursionError) as problem:
        reason = " ".join(str(problem).split())[:300]
        raise MisstepError(f"{path}: this is no file of results ({reason}).") from None
    if claimed != file.sha256:
        raise MisstepError(
            f"{path}: its checksum is not that of its content: it was changed after "
            "`misstep submit`. Submit the log again."
        )
    return file


def unjudged_sample(
    id: str, problem: object, target: str, about: Mapping[str, Any], gold: str | None
) -> JudgedSample:
    """Return a sample that nobody has judged yet."""
    label, steps = int(target), about["steps"]
    return JudgedSample(
        id=id,
        row=_sha256([id, str(problem), list(steps), label, gold])[:16],
        subset=None if about.get("subset") is None else str(about["subset"]),
        cluster=str(about.get("cluster") or f"sample {id}"),
        steps=len(steps),
        label=label,
        verdict=Unread.EMPTY,
        gold=gold,
    )
