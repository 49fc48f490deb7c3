"""The board: files of results that anybody can check, made from logs, and shown as one page.

A file is checked before it is shown: its metrics, counts and rows must agree with its samples. The
page has groups of runs that cannot be told apart.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import file_digest
from pathlib import Path
from typing import Any

from inspect_ai.dataset import Sample
from inspect_ai.log import EvalLog, EvalSample

from misstep.providers import find_weights
from misstep.registry import MisstepError, Source, UnknownNameError, evals, sources
from misstep.reports._leaderboard import (
    leaderboard,
    leaderboard_metrics,
    metric_name,
    ranking_metric,
)
from misstep.reports._read_runs import read_log, read_run
from misstep.reports._result_files import (
    METRICS,
    PROTOCOL_ARGUMENTS,
    JudgedSample,
    ResultFile,
    Setting,
    read_result_file,
    recomputed,
    rows_digest,
    step_signs,
    stored_metrics,
    unjudged_sample,
)
from misstep.reports._run_groups import Benchmark, benchmarks
from misstep.reports._runs import DETECTIONS, WEIGHTS, Run, public_name
from misstep.reports._tasks import load_task
from misstep.reports._text import (
    UNDEFINED,
    markdown_table,
    markdown_text,
    page_file,
    percent,
    some_ids,
    with_interval,
)
from misstep.solvers import CRITICS, SECTION_CRITICS, STEP_CRITICS
from misstep.verdicts import NO_ERROR, Unread

KINDS = ("first_error", "step_validity")
"""The kinds of runs whose scores follow from a label and a verdict."""
_GENERATE = (
    *("temperature", "top_p", "top_k", "max_tokens", "seed", "reasoning_effort"),
    *("reasoning_tokens", "effort", "frequency_penalty", "presence_penalty"),
)
"""Generate options that a file keeps. Others can hold private text."""

_WITH_FIRST_ERROR: tuple[list[str], ...] = ([], ["step_labels"], ["step_validity"])
"""The scorers that stand beside the one of first errors."""
_EXACT, _DRAWN = 1e-6, 0.005
"""Allowed differences of a metric, and of the ends of an interval that is drawn at random."""

_FEWEST = 0.99
"""The least share of a source's rows. Some sources have rows that occur twice."""

_MOST_METRICS = 4


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
    """Raise an error if a log is not complete, or if verdicts do not determine its scores."""

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
        gold, judged = step_signs(metadata["step_labels"]), step_signs(labels)
    elif "step_validity" in scorers:
        known = scores["step_validity"].metadata or {}
        wrong, steps = metadata["wrong_steps"], metadata["steps"]
        gold = step_signs(-1 if i in wrong else 1 for i in range(len(steps)))
        labels = known.get("labels")
        judged = "" if labels is None else step_signs(1 if valid else -1 for valid in labels)
        verdict = Unread(known["unread"]) if "unread" in known else verdict
    row = unjudged_sample(str(sample.id), sample.input, str(sample.target), metadata, gold)
    return row._replace(verdict=verdict, judged=judged)


@dataclass(frozen=True)
class CheckedResults:
    """A file of results that passed every check, and its run."""

    file: ResultFile
    run: Run


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
            same = value == expected
            if value is not None and expected is not None:
                same = abs(value - expected) <= allowed
            if not same:
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
    if source is not None:
        _check_source(file, source, refuse)
    if not data and source is not None and source.home != "package":
        return
    arguments: dict[str, Any] = {
        k: v for k, v in file.settings.items() if k not in PROTOCOL_ARGUMENTS
    }
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


def _check_source(file: ResultFile, source: Source, refuse: Any) -> None:  # noqa: ANN401
    """Compare the source and the number of rows with what the task of the run reads."""
    if file.imported:
        if file.of != max(file.rows, sum(one.rows for one in source.files)):
            refuse(f"{file.source} does not have {file.of:,} rows.")
        return
    variant = evals()[file.eval].variants.get(file.task.partition(".")[2])
    arguments = {**(variant.args if variant else {}), **file.settings}
    read = arguments.get("source")
    if read != file.source and (read is not None or source.home == "package"):
        refuse(f"its run did not read the rows of {file.source!r}.")
    chosen = arguments.get("subset")
    subsets = {one.subset for one in source.files}
    wanted = subsets if chosen is None else {*(chosen if isinstance(chosen, list) else [chosen])}
    rows = sum(one.rows for one in source.files if one.subset in wanted)
    if wanted <= subsets and file.rows < _FEWEST * rows:
        refuse(f"{file.rows:,} of the {rows:,} rows of {file.source}.")


def _row(sample: JudgedSample) -> tuple[Any, ...]:
    """Return what a file of results says about a row."""
    return (*sample[: sample._fields.index("verdict")], sample.gold)


def _row_of(sample: Sample) -> tuple[Any, ...]:
    """Return the same facts from the row itself."""
    about = sample.metadata or {}
    gold = None
    if "step_labels" in about:
        gold = step_signs(about["step_labels"])
    elif "wrong_steps" in about:
        wrong = about["wrong_steps"]
        gold = step_signs(-1 if i in wrong else 1 for i in range(len(about["steps"])))
    return _row(unjudged_sample(str(sample.id), sample.input, str(sample.target), about, gold))


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


def board_page(folder: Path, data: bool = False) -> str:
    """Return the board of a folder of results as Markdown; raise an error if a file is bad."""
    checked = read_results(folder, data)
    parts = [page_file("board.md")]
    for benchmark in sorted(benchmarks([one.run for one in checked]), key=lambda one: one.key):
        parts += [f"## {markdown_text(benchmark.key)}\n", board_table(benchmark)]
    parts += ["## Files\n", _files_table(checked)]
    return "\n".join(parts)


def board_table(benchmark: Benchmark) -> str:
    """Return the runs of a benchmark, best first, as a table in Markdown."""
    metrics = leaderboard_metrics(benchmark)
    headline = ranking_metric(benchmark, metrics)
    metrics = sorted(metrics, key=lambda metric: metric != headline)[:_MOST_METRICS]
    frame = leaderboard(benchmark)
    own: list[dict[str, Any]] = frame[~frame["published"].astype(bool)].to_dict("records")
    by_file = {run.file: run for run in benchmark.runs}
    rows = [
        [
            by_file[row["source"]].name.removeprefix("imported/"),
            by_file[row["source"]].protocol.replace("imported", "recorded"),
            int(row["samples"]),
            row["tied"] or UNDEFINED,
            *(
                with_interval(*(row[f"{metric}{end}"] for end in ("", "_lower", "_upper")))
                for metric in metrics
            ),
            percent(unread_share(by_file[row["source"]])),
        ]
        for row in own
    ]
    headings = [
        "run",
        "protocol",
        "samples",
        "group",
        *map(metric_name, metrics),
        "unparsed or truncated",
    ]
    return markdown_table(headings, rows)


def unread_share(run: Run) -> float:
    """Return the share of replies without a verdict.

    Recorded scores that end at the first wrong step do not count: where they give no verdict, any
    verdict would be wrong.
    """
    unread = [score.unread not in (None, Unread.NOT_RECORDED) for _, score in run.scored_pairs()]
    return sum(unread) / len(unread)


def _files_table(checked: Sequence[CheckedResults]) -> str:
    rows = [
        [
            one.run.file,
            one.run.name.removeprefix("imported/"),
            one.file.created,
            (one.file.weights_sha256 or "")[:16] or UNDEFINED,
            one.file.log_sha256[:16],
        ]
        for one in checked
    ]
    headings = ["file", "run", "date", "sha256 of the weights", "sha256 of the log"]
    return markdown_table(headings, rows)
