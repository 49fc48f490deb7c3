"""Check files of results: their metrics, counts and rows agree with their samples."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from inspect_ai.dataset import Sample

from misstep.registry import MisstepError, UnknownNameError, evals, sources
from misstep.reports._result_files import (
    METRICS,
    PROTOCOL_ARGUMENTS,
    JudgedSample,
    ResultFile,
    read_result_file,
    recomputed,
    rows_digest,
    step_signs,
    stored_metrics,
    unjudged_sample,
)
from misstep.reports._runs import Run
from misstep.reports._tasks import load_task
from misstep.solvers import CRITICS, SECTION_CRITICS, STEP_CRITICS

_WITH_FIRST_ERROR: tuple[list[str], ...] = ([], ["step_labels"], ["step_validity"])
"""The scorers that stand beside the one of first errors."""
_EXACT, _DRAWN = 1e-6, 0.005
"""Allowed differences of a metric, and of the ends of an interval that is drawn at random."""


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


def _row(sample: JudgedSample) -> tuple[Any, ...]:
    """Return what a file tells of a row."""
    return (*sample[: sample._fields.index("verdict")], sample.gold)


def _row_of(sample: Sample) -> tuple[Any, ...]:
    """Return the same of the row itself."""
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
