"""Results that anybody can check: one small file for each run, with every verdict.

A file of results holds no text of the data, of prompts or of replies. It holds each sample's label
and verdict, so that everybody can compute the metrics again, and digests of the rows, so that a
changed label is found as soon as the rows are at hand.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from hashlib import file_digest, sha256
from math import isnan
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple

from inspect_ai.dataset import Sample
from inspect_ai.log import EvalLog, EvalSample
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
from misstep.providers import find_weights
from misstep.registry import MisstepError, UnknownNameError, evals, sources
from misstep.reports._runs import (
    DETECTIONS,
    IMPORTED,
    WEIGHTS,
    Run,
    public_name,
    read_log,
    read_run,
)
from misstep.reports._samples import METRIC_TABLES, SampleRecord, ScoreRecord
from misstep.reports._tasks import load_task
from misstep.reports._text import file_name, some_ids
from misstep.scorers import Vote, score_labels, score_validity, score_votes
from misstep.solvers import CRITICS, SECTION_CRITICS, STEP_CRITICS
from misstep.verdicts import NO_ERROR, Unread

KINDS = ("first_error", "step_validity")
"""The kinds of runs whose scores follow from a label and a verdict."""
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
_WITH_FIRST_ERROR: tuple[list[str], ...] = ([], ["step_labels"], ["step_validity"])
"""The scorers that stand beside the one of first errors."""
_PROTOCOL = frozenset(
    {
        *("critic", "votes", "adaptive", "weighted", "style", "calls", "threshold", "context"),
        *("wording", "tag", "domain", "order", "tool_result_chars"),
    }
)
"""Task arguments that do not change which rows are judged."""
_GENERATE = (
    *("temperature", "top_p", "top_k", "max_tokens", "seed", "reasoning_effort"),
    *("reasoning_tokens", "effort", "frequency_penalty", "presence_penalty"),
)
"""Generate options that a file keeps. Others can hold private text."""
_LARGEST = 8_000_000
_EXACT, _DRAWN = 1e-6, 0.005
"""Allowed differences of a metric, and of the ends of an interval that is drawn at random."""
_SIGNS = {-1: "-", 0: "0", 1: "+", None: "?"}
_LABELS = {sign: label for label, sign in _SIGNS.items()}

Digest = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{16}$")]
Sha256 = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")]
Name = Annotated[str, StringConstraints(min_length=1, max_length=300), AfterValidator(check_name)]
Signs = Annotated[str, StringConstraints(pattern=r"^[-0+?]*$")]
Setting = bool | int | float | str | list[str] | None


class JudgedSample(NamedTuple):
    """What a file keeps of one sample. In the file it is a list of these values."""

    id: Name
    row: Digest
    """A digest of the sample's problem, steps and labels."""
    subset: Name | None
    cluster: Name
    steps: Annotated[int, Field(ge=0)]
    label: Annotated[int, Field(ge=-1)]
    verdict: Annotated[int, Field(ge=-1)] | Unread
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
    rows: Annotated[int, Field(gt=0)]
    of: Annotated[int, Field(gt=0)]
    """The rows of the source, or of the chosen subsets. A recorded run may cover only a part."""
    rows_sha256: Sha256
    model: Name
    weights_sha256: Sha256 | None = None
    imported: bool = False
    settings: dict[Name, Setting] = Field(default_factory=dict)
    generate: dict[Name, bool | int | float | Name] = Field(default_factory=dict)
    tokens: tuple[int, int] | None = None
    """Input and output tokens; None if no model was called."""
    created: Annotated[str, StringConstraints(pattern=r"^\d{4}-\d\d-\d\d$")]
    packages: dict[Name, Name] = Field(default_factory=dict)
    log_sha256: Sha256
    """Of the log, which its owner keeps: with it, anybody can compare the verdicts again."""
    metrics: dict[Name, dict[Name, float | None]]
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
            | {name: value for name, value in self.settings.items() if name in _PROTOCOL},
        )


@dataclass(frozen=True)
class CheckedResults:
    """A file of results that passed every check, and its run."""

    file: ResultFile
    run: Run


def submission(location: str) -> ResultFile:
    """Return the results of a log; raise an error if the log cannot be submitted."""
    run = read_run(location)
    log = read_log(location)
    _refuse_unfit(log, run, location)
    of_steps = ("step_labels", "step_validity")
    scorers = ["first_error", *(name for name in of_steps if name in run.metrics)]
    samples = [_judged(sample, scorers) for sample in log.samples or []]
    settings = _settings(log, location)
    source, of = _source(log, run, settings, location)
    model, weights = public_model(log)
    generate = log.plan.config.model_dump(exclude_none=True)
    generate |= log.eval.model_generate_config.model_dump(exclude_none=True)
    with Path(location.removeprefix("file://")).open("rb") as stream:
        digest = file_digest(stream, "sha256").hexdigest()
    tokens = [sum(one[i] for one in run.usage.values()) for i in (0, 1)]
    return ResultFile(
        eval=run.eval,
        task=run.task,
        version=run.version,
        source=source,
        rows=len(samples),
        of=of,
        rows_sha256=rows_digest(samples),
        model=model,
        weights_sha256=weights,
        imported=run.imported,
        settings=settings,
        generate={name: generate[name] for name in _GENERATE if name in generate},
        tokens=(tokens[0], tokens[1]) if any(tokens) else None,
        created=log.eval.created[:10],
        packages=dict(sorted(log.eval.packages.items())),
        log_sha256=digest,
        metrics=stored_metrics(recomputed(samples, scorers)),
        samples=samples,
    )


def _refuse_unfit(log: EvalLog, run: Run, location: str) -> None:
    """Raise an error if a log is not complete, or not of a kind that a verdict explains."""

    def refuse(why: str) -> None:
        raise MisstepError(f"{location}: {why}")

    if "://" in location.removeprefix("file://"):
        refuse("copy the log to this machine first: its checksum becomes part of the results.")
    if run.kind not in KINDS:
        refuse(f"a run of {run.eval} has no verdict for each sample. Possible: {', '.join(KINDS)}.")
    config = log.eval.config
    if config.limit is not None or config.sample_id is not None:
        refuse("only some of the samples ran. Run the eval without --limit and --sample-id.")
    if run.epochs > 1:
        refuse("the run has several epochs. Use -T votes= for several votes, or one epoch.")
    if failed := [sample.id for sample in run.samples if not sample.scores]:
        refuse(
            f"{len(failed):,} samples have no score ({some_ids(failed)}). To finish them: "
            f"inspect eval-retry {location}"
        )
    expected = log.eval.dataset.samples
    if expected != len(run.samples):
        refuse(f"{len(run.samples):,} of {expected:,} samples are in the log.")
    current = str(evals()[run.eval].version)
    if run.version != current:
        refuse(f"it has version {run.version} of {run.eval}; the present version is {current}.")


def _settings(log: EvalLog, location: str) -> dict[str, Setting]:
    """Return the task arguments of a run, or of the reader of recorded results."""
    given = dict(log.eval.task_args_passed)
    if (log.eval.metadata or {}).get("imported"):
        given = dict(log.plan.steps[0].params)
    for name in ("accept", "exclude_label_errors", "exclude_misfits"):
        if given.get(name):
            raise MisstepError(
                f"{location}: {name}={given[name]} changes the rows. Run without it."
            )
    for name, value in given.items():
        check_setting(name, value, location)
    return given


def check_setting(name: str, value: object, location: str) -> None:
    """Raise an error if a task argument is a path, or a critic of the user's own."""
    known = {*CRITICS, *SECTION_CRITICS, *STEP_CRITICS, "labels"}
    if name == "critic" and value not in known:
        raise MisstepError(
            f"{location}: critic={value}: only the critics of misstep can be compared. Possible: "
            f"{', '.join(sorted(known))}."
        )
    texts = [one for one in (value if isinstance(value, list) else [value]) if isinstance(one, str)]
    if any(sign in text for text in texts for sign in "/\\@"):
        raise MisstepError(f"{location}: {name}={value}: a path or an address is not allowed here.")


def _source(
    log: EvalLog, run: Run, settings: Mapping[str, Setting], location: str
) -> tuple[str, int]:
    """Return the pinned source of the rows and how many rows it has."""
    if run.imported:
        name = log.eval.dataset.name or ""
    else:
        name = str(log.eval.task_args.get("source") or "")
    if not name:
        return str(log.eval.dataset.name), len(run.samples)
    if name not in sources() or sources()[name].home == "file":
        raise MisstepError(
            f"{location}: the rows come from {name!r}, which is no pinned source. Possible: "
            f"{', '.join(known for known, one in sources().items() if one.home != 'file')}."
        )
    rows = sum(file.rows for file in sources()[name].files)
    return name, max(rows, len(run.samples)) if run.imported else len(run.samples)


def public_model(log: EvalLog) -> tuple[str, str | None]:
    """Return the name of the model without folders of this machine, and its weights' checksum."""
    service, _, path = log.eval.model.partition("/")
    name = public_name(log.eval.model)
    if service != "embedded":
        return name, None
    if recorded := (log.eval.metadata or {}).get(WEIGHTS):
        return name, str(recorded)
    return name, weights_digest(path)


def weights_digest(model: str) -> str:
    """Return the sha256 of the weights of an embedded model, given by its short name or path."""
    with find_weights(model).open("rb") as stream:
        return file_digest(stream, "sha256").hexdigest()


def _judged(sample: EvalSample, scorers: Sequence[str]) -> JudgedSample:
    scores, metadata = sample.scores or {}, sample.metadata
    first = scores.get("first_error") or scores[DETECTIONS]
    about = first.metadata or {}
    unread = about.get("unread")
    verdict = Unread(unread) if unread else int(first.answer or NO_ERROR)
    gold = judged = None
    if "step_labels" in scorers:
        labels = (scores["step_labels"].metadata or {})["labels"]
        gold, judged = _signs(metadata["step_labels"]), _signs(labels)
    elif "step_validity" in scorers:
        known = scores["step_validity"].metadata or {}
        wrong, steps = metadata["wrong_steps"], metadata["steps"]
        gold = _signs(-1 if i in wrong else 1 for i in range(len(steps)))
        labels = known.get("labels")
        judged = "" if labels is None else _signs(1 if valid else -1 for valid in labels)
        verdict = Unread(known["unread"]) if "unread" in known else verdict
    row = _unjudged(str(sample.id), sample.input, str(sample.target), metadata, gold)
    return row._replace(verdict=verdict, judged=judged)


def _trimmed(values: list[Any]) -> list[Any]:
    """Return the values of a sample without the labels of steps, if it has none."""
    return values[:-2] if values[-2:] == [None, None] else values


def _signs(labels: Iterable[int | None]) -> str:
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


def read_results(folder: Path, data: bool = False) -> list[CheckedResults]:
    """Read and check all files of results in a folder; raise an error for the first bad one.

    Rows that come with misstep are compared with the files. With `data`, all rows are, and they
    are downloaded if need be.
    """
    if not folder.is_dir():
        raise MisstepError(f"{folder}: there is no such folder of results.")
    checked = []
    rows: dict[tuple[str, str], tuple[str, str]] = {}
    seen: dict[str, str] = {}
    for path in sorted(folder.rglob("*.json")):
        file = read_result_file(path)
        check_results(file, str(path), data)
        where = path.relative_to(folder).as_posix()
        if file.log_sha256 in seen:
            raise MisstepError(f"{path}: the same log as {seen[file.log_sha256]}. Remove one.")
        seen[file.log_sha256] = where
        for one in file.samples:
            # A row has one text and one label, whoever judged it.
            known, other = rows.setdefault((file.source, one.id), (one.row, where))
            if known != one.row:
                raise MisstepError(
                    f"{path}: the row {one.id!r} has another text or label than in {other}."
                )
        checked.append(CheckedResults(file, file.run(where)))
    if not checked:
        raise MisstepError(
            f"{folder}: there is no file of results. To make one: misstep submit LOG"
        )
    return checked


def read_result_file(path: Path) -> ResultFile:
    """Read one file of results; raise an error if its checksum is not that of its content."""
    if path.stat().st_size > _LARGEST:
        raise MisstepError(f"{path}: larger than {_LARGEST:,} bytes.")
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        claimed = content.pop("sha256")
        file = ResultFile.model_validate(content)
    except (ValidationError, ValueError, KeyError, AttributeError, RecursionError) as problem:
        reason = " ".join(str(problem).split())[:300]
        raise MisstepError(f"{path}: this is no file of results ({reason}).") from None
    if claimed != file.sha256:
        raise MisstepError(
            f"{path}: its checksum is not that of its content: it was changed after "
            "`misstep submit`. Submit the log again."
        )
    return file


def check_results(file: ResultFile, location: str, data: bool = False) -> None:
    """Raise an error unless the metrics, counts and rows of a file agree with its samples."""

    def refuse(why: str) -> None:
        raise MisstepError(f"{location}: {why}")

    if file.eval not in evals() or file.task.partition(".")[0] != file.eval:
        raise UnknownNameError("eval", file.eval, evals())
    if list(file.metrics) not in (["first_error", *more] for more in _WITH_FIRST_ERROR):
        refuse(f"it has metrics of {', '.join(file.metrics)}. Possible: {', '.join(METRICS)}.")
    current = str(evals()[file.eval].version)
    if file.version != current:
        refuse(f"it has version {file.version} of {file.eval}; the present version is {current}.")
    for name, value in file.settings.items():
        check_setting(name, value, location)
    ids = [one.id for one in file.samples]
    if len(ids) != len(set(ids)) or len(ids) != file.rows or file.rows > file.of:
        refuse(f"{len(set(ids)):,} samples, and {file.rows:,} of {file.of:,} rows.")
    if file.rows < file.of and not file.imported:
        refuse("only recorded runs may cover a part of the rows.")
    _check_samples(file, refuse)
    if rows_digest(file.samples) != file.rows_sha256:
        refuse("the digest of its rows is not that of its samples.")
    found = stored_metrics(recomputed(file.samples, file.metrics))
    for scorer, values in file.metrics.items():
        if values.keys() != found[scorer].keys():
            refuse(f"{scorer} has other metrics than its verdicts give.")
        for name, value in values.items():
            expected = found[scorer][name]
            allowed = _DRAWN if name.endswith(("_lower", "_upper")) else _EXACT
            differs = abs((value or 0) - (expected or 0)) > allowed
            if differs or (value is None) != (expected is None):
                refuse(f"{scorer}, {name} is {value}; its verdicts give {expected}.")
    _check_rows(file, refuse, data)


def _check_samples(file: ResultFile, refuse: Any) -> None:  # noqa: ANN401
    for one in file.samples:
        first = one.gold.find("-") if one.gold is not None else one.label
        whole = one.gold is None or len(one.gold) == one.steps
        judged = one.judged is None or len(one.judged) in (0, one.steps)
        if one.label >= max(one.steps, 1) or not whole or not judged or first != one.label:
            refuse(f"sample {one.id!r}: its labels and steps do not agree.")
        if (one.gold is None) == ("step_labels" in file.metrics or "step_validity" in file.metrics):
            refuse(f"sample {one.id!r}: labels of its steps are missing, or too many.")


def _check_rows(file: ResultFile, refuse: Any, data: bool) -> None:  # noqa: ANN401
    """Compare a file with the rows themselves, if they are at hand."""
    source = sources().get(file.source)
    if source is None and (file.imported or file.settings.get("source")):
        refuse(f"the rows come from {file.source!r}, which is no pinned source.")
    if source is not None and source.home == "file":
        refuse(f"the source {file.source!r} is not one of misstep.")
    if not data and source is not None and source.home != "package":
        return
    arguments: dict[str, Any] = {k: v for k, v in file.settings.items() if k not in _PROTOCOL}
    if file.imported:
        arguments = {"source": file.source}
        of_files = {one.subset for one in source.files} if source else set()
        if own := {one.subset for one in file.samples if one.subset and one.subset in of_files}:
            arguments["subset"] = sorted(own)
    task = load_task(file.task, arguments)
    if source is None and task.dataset.name != file.source:
        refuse(f"the rows are called {task.dataset.name!r}, not {file.source!r}.")
    known = {str(sample.id): _row_of(sample) for sample in task.dataset}
    for one in file.samples:
        if known.get(one.id) != _row(one):
            refuse(f"sample {one.id!r}: its row is not that of {file.source}.")
    if not file.imported and len(known) != file.rows:
        refuse(f"{file.rows:,} of the {len(known):,} rows of {file.source}.")


def _row(sample: JudgedSample) -> tuple[Any, ...]:
    """Return what a file tells of a row."""
    return (*sample[: sample._fields.index("verdict")], sample.gold)


def _row_of(sample: Sample) -> tuple[Any, ...]:
    """Return the same of the row itself."""
    about = sample.metadata or {}
    gold = None
    if "step_labels" in about:
        gold = _signs(about["step_labels"])
    elif "wrong_steps" in about:
        wrong = about["wrong_steps"]
        gold = _signs(-1 if i in wrong else 1 for i in range(len(about["steps"])))
    return _row(_unjudged(str(sample.id), sample.input, str(sample.target), about, gold))


def _unjudged(
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
