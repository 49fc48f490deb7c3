"""Read finished runs from logs, in several processes if logs are large.

Logs that cannot be counted are skipped and listed.
"""

import gc
import multiprocessing
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar
from zipfile import BadZipFile, ZipFile

from inspect_ai.log import EvalLog, EvalResults, EvalSpec, list_eval_logs, read_eval_log

from misstep.plain_text import printable
from misstep.registry import MisstepError, evals, max_expanded_size
from misstep.reports._runs import (
    ANSWERS,
    EPOCHS,
    IMPORTED,
    REDUCER,
    REWARD_MODEL,
    SCORERS,
    Run,
    plain_traits,
)
from misstep.reports._samples import (
    Epoch,
    SampleRecord,
    prompt_tokens,
    read_samples,
    read_summaries,
)

NOTES = ("max_tokens",)
"""Keys of a log's metadata that hold notes on its settings."""
_ROWS_WITHOUT_RESULT = "rows_without_result"
"""The key for the number of rows for which an imported file had no result."""

A = TypeVar("A")
B = TypeVar("B")

_MANY_BYTES = 40 << 20
"""Logs larger than this in total are read by several processes, which take two seconds to start."""


@dataclass(frozen=True)
class SkippedLog:
    """A log that is not counted, and the reason."""

    location: str
    reason: str


@dataclass(frozen=True)
class Logs:
    """The runs of some logs, and the logs that were skipped."""

    runs: list[Run]
    skipped: list[SkippedLog]


@contextmanager
def no_garbage_collection() -> Iterator[None]:
    """Disable garbage collection: it takes a third of the time and finds nothing here."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def in_processes(
    work: Callable[[A], B],
    jobs: Sequence[A],
    large: bool,
    meanwhile: Callable[[], None] | None = None,
) -> Iterator[B]:
    """Return the results of some work on each job, in order; processes share large work.

    Processes begin at once. `meanwhile` is called only if there are processes.
    """
    count = min(os.cpu_count() or 1, len(jobs))
    if count < 2 or not large:
        return map(work, jobs)
    method = "forkserver" if sys.platform == "linux" else "spawn"
    context = multiprocessing.get_context(method)
    context.set_forkserver_preload(["misstep.reports"])
    pool = ProcessPoolExecutor(count, context)
    try:
        results = pool.map(work, jobs)
        if meanwhile is not None:
            meanwhile()
        return results
    finally:
        pool.shutdown(wait=False)


def are_large(locations: Iterable[str]) -> bool:
    """Whether logs are so large that several processes should read them."""
    return sum(map(_local_size, locations)) >= _MANY_BYTES


def _local_size(location: str) -> int:
    place = Path(location.removeprefix("file://"))
    return place.stat().st_size if place.is_file() else 0


@no_garbage_collection()
def read_logs(*places: str | Path, meanwhile: Callable[[], None] | None = None) -> Logs:
    """Read log files and folders of logs. Logs that cannot be counted are skipped and listed.

    Args:
        places: Files and folders.
        meanwhile: Work to do while other processes read large logs.
    """
    runs: dict[str, Run] = {}
    skipped: list[SkippedLog] = []
    files = list(_log_files(places))
    large = are_large(location for location, _ in files)
    found = in_processes(_try_run, files, large, meanwhile)
    for (location, _), run in zip(files, found, strict=True):
        if isinstance(run, SkippedLog):
            skipped.append(run)
        elif run.id in runs:
            skipped.append(SkippedLog(location, f"the same run as {runs[run.id].file}"))
        else:
            runs[run.id] = run
    return Logs(sorted(runs.values(), key=lambda run: (run.eval, run.data, run.created)), skipped)


def _try_run(file: tuple[str, str]) -> Run | SkippedLog:
    """Read a log; say why if it cannot be counted."""
    location, name = file
    if _SHARDS in name:
        return SkippedLog(location, "a part of a run that is not finished. Resume the run.")
    try:
        return read_run(*file)
    except MisstepError as problem:
        return SkippedLog(location, str(problem).removeprefix(f"{location}: "))


_SHARDS = ".shards/"


def _log_files(places: Iterable[str | Path]) -> Iterator[tuple[str, str]]:
    """The location of each log, and its path relative to the folder that was given."""
    for place in map(str, places):
        if place.endswith((".eval", ".json")):
            yield place, place.rpartition("/")[2]
            continue
        remote = "://" in place
        if not remote and not Path(place).is_dir():
            raise MisstepError(f"{place}: there is no such log or folder of logs.")
        root = place if remote else Path(place).resolve().as_posix()
        infos = list_eval_logs(root, descending=False)
        names = dict.fromkeys(
            info.name if remote else info.name.removeprefix("file://") for info in infos
        )
        for name in names:
            # `misstep run` keeps the parts of a run beside its log, and the viewer hides them.
            run, part, _ = name.partition(_SHARDS)
            if not (part and f"{run}.eval" in names):
                yield name, name.removeprefix(root.rstrip("/") + "/")


def read_run(location: str, file: str | None = None) -> Run:
    """Read one log; an error if it is not a finished log of an eval of misstep."""
    with _log_errors(location), no_garbage_collection():
        _refuse_bomb(location)
        log = read_eval_log(location, header_only=True)
        name = _countable_eval(log, location)
        summaries = read_summaries(location)
        refuse_lost_samples(log, len(summaries), location)
        samples, computed = read_samples(log, summaries, location)
        usage = _usage(log, summaries)
    if not any(sample.scores for sample in samples):
        raise MisstepError(f"{location}: empty: no sample has a score.")
    return _run(log, location, file or location.rpartition("/")[2], name, samples, computed, usage)


def run_in_memory(log: EvalLog) -> Run:
    """Return the run of a log that was written a moment ago, from the samples that it holds."""
    name, found = _countable_eval(log, log.location), log.samples or []
    samples, computed = read_samples(log, found, log.location)
    file = log.location.rpartition("/")[2]
    return _run(log, log.location, file, name, samples, computed, _usage(log, found))


def refuse_lost_samples(log: EvalLog, found: int, location: str) -> None:
    """Raise an error if a log holds fewer samples than its header claims."""
    claimed = log.results.total_samples if log.results else 0
    if found < claimed and not (log.results and log.results.early_stopping):
        raise MisstepError(
            f"{location}: it holds {found:,} of the {claimed:,} samples that its header claims. "
            "The others are lost: run the eval again, with distinct ids and with log samples on."
        )


def read_log(location: str, header_only: bool = False) -> EvalLog:
    """Read a log with its samples, or its header only."""
    with _log_errors(location):
        _refuse_bomb(location)
        return read_eval_log(location, header_only=header_only)


_LARGE, _MOST_EXPANDED = 100 << 20, 200
"""The size and the ratio of compression from which a member of a log counts as a zip bomb, if the
user sets no other size."""


def _refuse_bomb(location: str) -> None:
    """Raise an error if a log would expand to much more than any run writes."""
    place = location.removeprefix("file://")
    if not place.endswith(".eval") or "://" in place:
        return
    allowed = max_expanded_size()
    with ZipFile(place) as archive:
        for member in archive.infolist():
            most = allowed or max(_LARGE, _MOST_EXPANDED * member.compress_size)
            if member.file_size > most:
                raise MisstepError(
                    f"{location}: {printable(member.filename)} would expand from "
                    f"{member.compress_size:,} to {member.file_size:,} bytes, and {most:,} are "
                    "allowed. If you trust the log, allow more bytes with --max-size."
                )


@contextmanager
def _log_errors(location: str) -> Iterator[None]:
    """Turn every error of reading a log into one that names the log."""
    try:
        yield
    except MisstepError:
        raise
    except Exception as problem:  # Inspect has no own error for a file that is not a log.
        reason = " ".join(str(problem).split()) or type(problem).__name__
        if isinstance(problem, FileNotFoundError):
            reason = "there is no such file"
        elif Path(location).is_dir():
            reason = "it is a folder; name the logs in it"
        elif isinstance(problem, BadZipFile) or reason.startswith("Unable to read log file"):
            reason = "it was cut off, or it is another kind of file"
        raise MisstepError(f"{location}: cannot be read as an Inspect log ({reason}).") from None


def _usage(log: EvalLog, summaries: Iterable[Epoch]) -> dict[str, tuple[int, int]]:
    """Return the input and output tokens by model, from the samples or from the header.

    The header of a run that was resumed has the usage of the last attempt only. The header has more
    than the samples if samples were repeated after an error.
    """
    header = {m: (prompt_tokens(u), u.output_tokens) for m, u in log.stats.model_usage.items()}
    total: dict[str, tuple[int, int]] = {}
    for summary in summaries:
        for name, usage in summary.model_usage.items():
            tokens_in, tokens_out = total.get(name, (0, 0))
            total[name] = tokens_in + prompt_tokens(usage), tokens_out + usage.output_tokens
    names = [*header, *(name for name in total if name not in header)]
    return {name: max(header.get(name, (0, 0)), total.get(name, (0, 0)), key=sum) for name in names}


def result_metrics(results: EvalResults) -> dict[str, dict[str, float]]:
    """Return the metrics in the results of a log, by scorer.

    With several reducers, the first is the one that reduced the samples. Metrics of single epochs
    stand in an entry of their own.
    """
    metrics: dict[str, dict[str, float]] = {}
    for score in results.scores:
        for name, metric in score.metrics.items():
            metrics.setdefault(score.name, {}).setdefault(name, float(metric.value))
    return metrics


def _run(
    log: EvalLog,
    location: str,
    file: str,
    name: str,
    samples: list[SampleRecord],
    computed: dict[str, dict[str, float]],
    usage: dict[str, tuple[int, int]],
) -> Run:
    spec, headline = log.eval, log.eval.headline_metric
    metrics = result_metrics(log.results) if log.results else {}
    metrics |= {scorer: metrics.get(scorer, {}) | values for scorer, values in computed.items()}
    kinds = (kind for kind, by in SCORERS.items() if metrics.keys() & set(by.values()))
    return Run(
        location=location,
        file=file,
        id=spec.eval_id,
        eval=name,
        task=spec.task.removeprefix("misstep/"),
        kind=next(kinds, ANSWERS),
        version=str(spec.task_version),
        data=spec.dataset.name or name,
        model=spec.model,
        created=spec.created,
        settings=_settings(spec.task_args_passed),
        imported=bool((spec.metadata or {}).get("imported")),
        metrics=metrics,
        headline=headline.scorer if headline else None,
        samples=samples,
        epochs=spec.config.epochs or 1,
        usage=usage,
        headline_metric=headline.metric if headline else None,
        notes=tuple(_notes(spec.metadata or {})),
        traits=_traits(log, samples),
        tags=_tags(spec),
    )


def _notes(metadata: Mapping[str, Any]) -> Iterator[str]:
    yield from (str(metadata[name]) for name in NOTES if name in metadata)
    if isinstance(rows := metadata.get(_ROWS_WITHOUT_RESULT), int):
        yield f"The imported file had no result for {rows:,} of the rows. They are not counted."


def _traits(log: EvalLog, samples: Iterable[SampleRecord]) -> dict[str, Any]:
    """Return how the model was asked. A variant's arguments are those of its solver."""
    spec = log.eval
    scores = (score for sample in samples for score in sample.scores.values())
    votes = max((max(score.hits_at, default=1) for score in scores), default=1)
    solver = dict(log.plan.steps[-1].params) if log.plan.steps else {}
    imported = bool((spec.metadata or {}).get("imported"))
    known: dict[str, Any] = {IMPORTED: True} if imported else {}
    known |= {"critic": None, "method": None} | solver | _settings(spec.task_args)
    known |= _settings(spec.task_args_passed)
    asked = known.get("votes")
    known["votes"] = max(votes, asked) if isinstance(asked, int) else votes
    if known["votes"] == 1 and known["critic"] != "critique":
        del known["votes"]
    reward = (spec.model_roles or {}).get("reward")
    if reward is not None:
        models = reward if isinstance(reward, list) else [reward]
        known[REWARD_MODEL] = ", ".join(one.model for one in models)
    epochs = spec.config.epochs or 1
    if epochs > 1:
        known[EPOCHS] = epochs
        known[REDUCER] = ", ".join(spec.config.epochs_reducer or ["mean"])
    return plain_traits(known)


def _tags(spec: EvalSpec) -> dict[str, str]:
    """Return the tags `name=value` of a log; values of its metadata are tags too."""
    found = {
        str(name): str(value)
        for name, value in (spec.metadata or {}).items()
        if isinstance(value, str | int | float) and not isinstance(value, bool)
    }
    for tag in spec.tags or []:
        name, sign, value = tag.partition("=")
        if sign:
            found[name.strip()] = value.strip()
    return found


def _settings(arguments: dict[str, Any]) -> dict[str, Any]:
    """Return task arguments by their present names: `order` was once the calls of stepwise."""
    if arguments.get("order") in ("sequential", "parallel"):
        return {"calls" if name == "order" else name: value for name, value in arguments.items()}
    return dict(arguments)


def _countable_eval(log: EvalLog, location: str) -> str:
    """Return the name of the eval; raise if the log cannot be counted."""
    name = log.eval.task.rpartition("/")[2].partition(".")[0].replace("-", "_")
    scores = log.results.scores if log.results else []
    scorers = {scorer for readings in SCORERS.values() for scorer in readings.values()}
    known = {known.replace("-", "_") for known in evals()}
    if name not in known and not scorers & {score.name for score in scores}:
        raise MisstepError(f"{location}: foreign: {log.eval.task!r} is not an eval of misstep.")
    if log.status != "success":
        words = {"started": "unfinished", "error": "ended in an error"}
        word = words.get(log.status, log.status)
        cause = f" ({log.error.message.splitlines()[0]})" if log.error and log.error.message else ""
        raise MisstepError(
            f"{location}: {word}{cause}. To finish it: inspect eval-retry {location}"
        )
    if log.invalidated:
        raise MisstepError(f"{location}: marked as invalid.")
    if not any(score.metrics for score in scores):
        raise MisstepError(f"{location}: empty: it has no scores.")
    return name
