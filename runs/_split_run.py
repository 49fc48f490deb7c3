"""A run that is split into shards: its folder, the state of each shard, and what is left to do.

The folder has the layout that Inspect's viewer knows. Beside the joined log `<name>.eval` stands
`<name>.shards` with a folder for each shard. The viewer hides it once the joined log is there.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import pairwise
from typing import Any

import fsspec
from inspect_ai.log import EvalLog, list_eval_logs, read_eval_log
from pydantic import BaseModel, ConfigDict, ValidationError
from shortuuid import uuid

from misstep.registry import DataError, MisstepError
from misstep.runs._command import EvalCommand
from misstep.runs._join import ShardLog, join_logs

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
    do as well, but Inspect matches ids as patterns, each against every sample.
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
        """Where the joined log stands."""
        return f"{self.folder.removesuffix('.shards')}.eval"

    @property
    def joined(self) -> bool:
        """Whether the joined log is there."""
        system, path = fsspec.url_to_fs(self.location)
        return bool(system.exists(path))

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
