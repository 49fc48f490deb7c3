"""A run that is split into shards: its folder, the state of each shard, and the joined log.

The layout is one that Inspect's viewer knows: the folder `<name>.shards` has a folder for each
shard, and the joined log is `<name>.eval` beside it. The viewer hides the folder if the log exists.

The joined log is an ordinary log, with metrics over all samples. Samples are copied one at a time,
so that a log of any size can be joined. Inspect's own reading and writing would hold all samples in
memory.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from hashlib import sha256
from itertools import pairwise
from pathlib import PurePath
from typing import Any
from zipfile import BadZipFile, ZipFile

import fsspec

# With this import, zipfile can also read zstd, the compression of Inspect's logs.
from inspect_ai.log import (
    EvalError,
    EvalLog,
    EvalSample,
    EvalShardEntry,
    EvalShards,
    EvalStats,
    list_eval_logs,
    read_eval_log,
    recompute_metrics,
)
from inspect_ai.model import ModelUsage
from inspect_ai.scorer import Score
from pydantic import BaseModel, ConfigDict, TypeAdapter, ValidationError
from pydantic_core import from_json
from shortuuid import uuid

from misstep.log_files import SAMPLES, SUMMARIES, NewLog, new_log
from misstep.registry import DataError, MisstepError
from misstep.runs._command import NOT_IN_RESULTS, EvalCommand

_BLANK = EvalSample(id="", epoch=1, input="", target="")


@dataclass(frozen=True)
class ShardLog:
    """The header of a shard's log."""

    index: int
    size: int
    """How many samples the shard has."""
    log: EvalLog

    @property
    def sample_ids(self) -> list[str | int]:
        """The ids of the samples that were selected."""
        return [*(self.log.eval.dataset.sample_ids or [])]


class _ScoredSample(BaseModel):
    """The part of a sample that metrics read."""

    id: int | str
    epoch: int
    scores: dict[str, Score] | None = None
    metadata: dict[str, Any] = {}
    error: EvalError | None = None


def join_logs(
    shards: Sequence[ShardLog],
    location: str,
    limit: tuple[int, int] | None,
    order: Sequence[int | str] | None = None,
) -> EvalLog:
    """Join the logs of all shards of one run, write the result, and return its header.

    `order` has all sample ids in the order of the unsplit run, if shards were drawn at random.
    """
    _check_alike([shard.log for shard in shards])
    ids = [one for shard in shards for one in shard.sample_ids]
    double = [one for one, count in Counter(ids).items() if count > 1]
    if double:
        raise MisstepError(f"sample '{double[0]}' is in more than one shard")
    places = {one: place for place, one in enumerate(order or ids)}
    with new_log(location) as target:
        summaries: list[dict[str, Any]] = []
        samples = [one for shard in shards for one in _copied(shard, target, summaries)]
        stats = _sum_stats([shard.log.stats for shard in shards], summaries)
        header = _header(shards, samples, stats, limit, places, order is not None)
        summaries.sort(key=lambda one: (one["epoch"], places[one["id"]]))
        target.finish(header, summaries)
    return header.model_copy(update={"samples": None, "location": location})


def _copied(shard: ShardLog, target: NewLog, summaries: list[dict[str, Any]]) -> list[EvalSample]:
    """Copy the samples of a shard and their summaries, and return what metrics read of them."""
    location = shard.log.location
    samples = []
    try:
        with fsspec.open(location, "rb") as stream, ZipFile(stream) as source:
            # If several members have one name, the last one counts, and `read` returns it.
            for name in dict.fromkeys(source.namelist()):
                if name.startswith(SAMPLES):
                    content = source.read(name)
                    target.add_member(name, content)
                    scored = _ScoredSample.model_validate_json(content)
                    samples.append(_BLANK.model_copy(update=dict(scored)))
            summaries += from_json(source.read(SUMMARIES))
    except (BadZipFile, ValueError) as error:
        raise MisstepError(f"the log {location} is damaged: {error}") from None
    expected = len(shard.sample_ids) * (shard.log.eval.config.epochs or 1)
    if len(shard.sample_ids) != shard.size or len(samples) != expected:
        raise MisstepError(
            f"shard {shard.index} is incomplete: {location} holds {len(samples):,} of "
            f"{expected:,} samples; {len(shard.sample_ids):,} of {shard.size:,} were selected"
        )
    return samples


def _header(
    shards: Sequence[ShardLog],
    samples: Sequence[EvalSample],
    stats: EvalStats,
    limit: tuple[int, int] | None,
    places: dict[int | str, int],
    spread: bool,
) -> EvalLog:
    """Return the joined log with its metrics."""
    found = {one.id for one in samples}
    if found != set(places):
        raise MisstepError(
            f"the shards hold {len(found):,} samples, not the {len(places):,} of the run. If the "
            "data has changed since the run was planned, start a new run"
        )
    first = shards[0].log
    spec = first.eval.model_copy(deep=True)
    spec.eval_id, spec.run_id, spec.task_id = uuid(), uuid(), uuid()
    spec.dataset.sample_ids = list(places)
    spec.config.limit = limit
    if spread:
        spec.config.sample_shuffle, spec.dataset.shuffled = None, False
    spec.shards = EvalShards(selection="ids", ledger=[_ledger_entry(shard) for shard in shards])
    ordered = sorted(samples, key=lambda one: (one.epoch, places[one.id]))
    joined = first.model_copy(update={"eval": spec, "samples": ordered, "stats": stats})
    recompute_metrics(joined)
    return joined


def _check_alike(logs: Sequence[EvalLog]) -> None:
    def essentials(log: EvalLog) -> dict[str, object]:
        return {
            "task": log.eval.task,
            "version": log.eval.task_version,
            "arguments": log.eval.task_args,
            "model": log.eval.model,
            "model settings": log.eval.model_generate_config.model_dump(exclude=NOT_IN_RESULTS),
            "plan": log.plan.model_dump(exclude={"config": NOT_IN_RESULTS}),
            "epochs": log.eval.config.epochs,
            "packages": log.eval.packages,
        }

    expected = essentials(logs[0])
    for log in logs[1:]:
        for name, value in essentials(log).items():
            if value != expected[name]:
                raise MisstepError(
                    f"the logs are not parts of one run: the {name} of {log.location} is {value}, "
                    f"that of {logs[0].location} {expected[name]}"
                )


def _sum_stats(stats: Sequence[EvalStats], summaries: Sequence[dict[str, Any]]) -> EvalStats:
    """Return the stats of the whole run.

    The header of a shard that was resumed has the usage of its last attempt only, so the usage is
    that of the samples. A header has more if samples were repeated after an error.
    """
    usage = EvalStats(
        started_at=min(one.started_at for one in stats),
        completed_at=max(one.completed_at for one in stats),
        model_usage=_sum_usage(_USAGE.validate_python(one.get("model_usage")) for one in summaries),
        role_usage=_sum_usage(_USAGE.validate_python(one.get("role_usage")) for one in summaries),
    )
    for kind in ("model_usage", "role_usage"):
        of_samples: dict[str, ModelUsage] = getattr(usage, kind)
        for name, total in _sum_usage(getattr(one, kind) for one in stats).items():
            if name not in of_samples or total.total_tokens > of_samples[name].total_tokens:
                of_samples[name] = total
    return usage


_USAGE = TypeAdapter(dict[str, ModelUsage] | None)


def _sum_usage(parts: Iterable[dict[str, ModelUsage] | None]) -> dict[str, ModelUsage]:
    total: dict[str, ModelUsage] = {}
    for part in parts:
        for name, usage in (part or {}).items():
            total[name] = total[name] + usage if name in total else usage
    return total


def _ledger_entry(shard: ShardLog) -> EvalShardEntry:
    log, ids = shard.log, shard.sample_ids
    return EvalShardEntry(
        shard=str(shard.index),
        log=PurePath(log.location).name,
        status=log.status,
        samples=len(ids) * (log.eval.config.epochs or 1),
        selected=len(ids),
        selection_digest=sha256("\n".join(map(str, ids)).encode()).hexdigest(),
        size=0,
        **dict(log.stats),
    )


_PLAN = "split.json"
_SEED = 42
"""The seed of the shuffle that spreads samples over shards."""


@dataclass(frozen=True)
class Shard:
    """A part of a run: the samples from `start` up to, not including, `stop`."""

    index: int
    start: int
    stop: int

    @property
    def limit(self) -> str:
        """The range as Inspect's `--limit` takes it: counted from one, both ends included."""
        return f"{self.start + 1}-{self.stop}"

    def __str__(self) -> str:
        return f"shard {self.index} ({len(self):,} samples)"

    def __len__(self) -> int:
        return self.stop - self.start


def split(start: int, stop: int, count: int) -> list[Shard]:
    """Return shards whose sizes differ by at most one; none is empty."""
    count = max(1, min(count, stop - start))
    ends = [start + (stop - start) * part // count for part in range(count + 1)]
    return [Shard(index, first, last) for index, (first, last) in enumerate(pairwise(ends))]


class _Plan(BaseModel):
    model_config = ConfigDict(extra="forbid")
    command: EvalCommand
    start: int
    stop: int
    count: int
    spread: list[int | str] | None = None
    """All sample ids in the order of the eval, if shards are drawn at random.

    Every worker shuffles the samples with one seed and takes a range of them. A list of ids would
    also do, but Inspect matches ids as patterns, each against every sample.
    """


class SplitRun:
    """One eval, split into shards."""

    def __init__(self, folder: str, plan: _Plan) -> None:
        self.folder = folder
        self.command = plan.command
        self.shards: Sequence[Shard] = split(plan.start, plan.stop, plan.count)
        self._plan = plan

    @classmethod
    def create(
        cls, command: EvalCommand, count: int, log_dir: str, name: str | None = None
    ) -> "SplitRun":
        """Plan a run and write the plan to its folder, so that it can be resumed.

        The shards are random samples of the data, so that easy and hard subsets are spread. They
        are consecutive if the user limits or shuffles the samples, or if samples have no ids.
        """
        command.check_no_key()
        dataset = command.load_dataset()
        start, stop = command.sample_range(len(dataset))
        ids = [sample.id for sample in dataset if sample.id is not None]
        plan = _Plan(command=command, start=start, stop=stop, count=count)
        if stop - start == len(dataset) == len(ids) and not (command.shuffles or dataset.shuffled):
            plan.spread = ids
        run = cls(f"{log_dir.rstrip('/')}/{name or _log_name(command.eval)}.shards", plan)
        run._write()
        return run

    @classmethod
    def open(cls, folder: str) -> "SplitRun":
        """Return a run that was planned before; a DataError says if its plan cannot be read."""
        folder = folder.rstrip("/")
        files: Any = fsspec
        try:
            with files.open(f"{folder}/{_PLAN}", "r", encoding="utf-8") as file:
                return cls(folder, _Plan.model_validate_json(file.read()))
        except OSError:
            raise DataError(
                f"'{folder}' is not a split run: it has no {_PLAN}; name a folder that ends "
                "in .shards"
            ) from None
        except ValidationError as error:
            raise DataError(f"{folder}/{_PLAN} is not readable: {error}") from None

    def replace_command(self, command: EvalCommand) -> None:
        """Run what is left with other settings, such as more connections."""
        if command != self.command:
            command.check_no_key()
            self.command = self._plan.command = command
            self._write()

    @property
    def location(self) -> str:
        """Where the joined log is."""
        return f"{self.folder.removesuffix('.shards')}.eval"

    def unfinished(self) -> list[Shard]:
        """Return the shards that are not done."""
        attempts = ((shard, self._attempt(shard)) for shard in self.shards)
        return [shard for shard, log in attempts if log is None or log.status != "success"]

    def next_arguments(
        self, shard: Shard, command: EvalCommand, config_file: str
    ) -> list[str] | None:
        """Return the arguments of `inspect` that start or resume a shard; None if it is done."""
        log_dir, attempt = f"{self.folder}/{shard.index}", self._attempt(shard)
        if attempt is None:
            arguments = command.eval_arguments(shard.limit, log_dir, config_file)
            shuffle = [] if self._plan.spread is None else ["--sample-shuffle", str(_SEED)]
            return [*arguments, *shuffle]
        if attempt.status == "success":
            return None
        return command.retry_arguments(attempt.location, log_dir)

    def join(self) -> EvalLog:
        """Write the joined log and return its header; refuse if a shard is missing."""
        attempts = [(shard, self._attempt(shard)) for shard in self.shards]
        logs = [
            ShardLog(shard.index, len(shard), log)
            for shard, log in attempts
            if log is not None and log.status == "success"
        ]
        if len(logs) < len(attempts):
            states = (f"{shard}: {log.status if log else 'not started'}" for shard, log in attempts)
            raise MisstepError(
                f"cannot join the logs, because shards are missing: {'; '.join(states)}. "
                f"Resume: misstep run --resume {self.folder}"
            )
        try:
            return join_logs(logs, self.location, self.command.limit, self._plan.spread)
        except OSError as problem:
            raise MisstepError(
                f"{self.location}: cannot be written ({problem.strerror or problem}). All samples "
                f"are done. Free some space, then: misstep run --resume {self.folder}"
            ) from None

    def _attempt(self, shard: Shard) -> EvalLog | None:
        """Return the header of a shard's log that counts: a successful one, else the newest."""
        return best_log(f"{self.folder}/{shard.index}")

    def _write(self) -> None:
        files: Any = fsspec
        try:
            path = f"{self.folder}/{_PLAN}"
            with files.open(path, "w", auto_mkdir=True, encoding="utf-8") as file:
                file.write(self._plan.model_dump_json(indent=1))
        except OSError as error:
            raise MisstepError(
                f"{self.folder}: cannot be written ({error.strerror or error}). Choose another "
                "folder: --log-dir."
            ) from None


def best_log(folder: str) -> EvalLog | None:
    """Return the header of the log in a folder that counts: a successful one, else the newest."""
    logs = list_eval_logs(folder, formats=["eval"], recursive=False)
    logs.sort(key=lambda log: (log.mtime or 0, log.name), reverse=True)
    headers = [read_eval_log(log, header_only=True) for log in logs]
    return next(
        (header for header in headers if header.status == "success"), next(iter(headers), None)
    )


def _log_name(eval: str) -> str:
    task = eval.rpartition("@")[2].rpartition("/")[2].removesuffix(".py").replace("_", "-")
    return f"{datetime.now(UTC):%Y-%m-%dT%H-%M-%S-00-00}_{task}_{uuid()}"
