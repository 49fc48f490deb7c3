"""A run split into shards: its folder, how far each shard has come, and what is left to do.

The folder is laid out as Inspect's viewer knows it: beside the joined log `<name>.eval`, a folder
`<name>.shards` with a folder for each shard, which the viewer hides once the joined log is there.
"""

import re
from collections.abc import Sequence
from contextlib import nullcontext
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any

import fsspec
from inspect_ai.log import EvalLog, EvalLogInfo, list_eval_logs, read_eval_log
from pydantic import BaseModel, ConfigDict, ValidationError
from shortuuid import uuid

from misstep.registry import DataError, MisstepError
from misstep.runs._archive import Archive
from misstep.runs._command import EvalCommand, retry_arguments
from misstep.runs._join import join_logs
from misstep.runs._split import Shard, split

_PLAN = "split.json"
_KEY = re.compile(r"""(api[_-]?key|authorization)[\\"']*\s*[=:]""", re.IGNORECASE)
"""The name of a key of a service, as an argument or in a mapping, with its value behind it."""


class State(StrEnum):
    """How far a shard has come."""

    NEW = "new"
    UNFINISHED = "unfinished"
    DONE = "done"


class _Plan(BaseModel):
    model_config = ConfigDict(extra="forbid")
    command: EvalCommand
    start: int
    stop: int
    count: int


class SplitRun:
    """One eval, split over shards."""

    def __init__(self, folder: str, plan: _Plan) -> None:
        self.folder = folder
        self.command = plan.command
        self.shards: Sequence[Shard] = split(plan.start, plan.stop, plan.count)

    @classmethod
    def create(
        cls, command: EvalCommand, count: int, log_dir: str, name: str | None = None
    ) -> "SplitRun":
        """Plan a run and write the plan down, so that it can be resumed.

        Args:
            command: What to run.
            count: Over how many shards.
            log_dir: Where the joined log goes.
            name: The joined log's name; one as Inspect gives them where it is not given.

        Raises:
            MisstepError: It cannot be written, or must not be: it holds a key.
        """
        if _KEY.search(command.model_dump_json()):
            raise MisstepError(
                "the command of a run is written down, so that it can go on, and a key must not "
                "be: give it by the environment, such as OPENAI_API_KEY, not as an argument"
            )
        start, stop = command.samples()
        plan = _Plan(command=command, start=start, stop=stop, count=count)
        folder = f"{log_dir.rstrip('/')}/{name or _log_name(command.eval)}.shards"
        files: Any = fsspec
        try:
            with files.open(f"{folder}/{_PLAN}", "w", auto_mkdir=True, encoding="utf-8") as file:
                file.write(plan.model_dump_json(indent=1))
        except OSError as error:
            raise MisstepError(f"cannot write to {folder}: {error}") from None
        return cls(folder, plan)

    @classmethod
    def open(cls, folder: str) -> "SplitRun":
        """A run that was planned before.

        Raises:
            DataError: The folder holds no readable plan.
        """
        folder = folder.rstrip("/")
        files: Any = fsspec
        try:
            with files.open(f"{folder}/{_PLAN}", "r", encoding="utf-8") as file:
                return cls(folder, _Plan.model_validate_json(file.read()))
        except OSError:
            raise DataError(
                f"'{folder}' is no split run: it holds no {_PLAN}; name a folder …​.shards"
            ) from None
        except ValidationError as error:
            raise DataError(f"{folder}/{_PLAN} is not readable: {error}") from None

    @property
    def location(self) -> str:
        """Where the joined log stands."""
        return f"{self.folder.removesuffix('.shards')}.eval"

    def shard_dir(self, shard: Shard) -> str:
        """The folder of a shard's logs."""
        return f"{self.folder}/{shard.index}"

    def attempt(self, shard: Shard) -> EvalLog | None:
        """The header of the log that counts for a shard: one that succeeded, else the newest."""
        logs = list_eval_logs(self.shard_dir(shard), formats=["eval"], recursive=False)
        headers = [
            read_eval_log(log, header_only=True)
            for log in sorted(logs, key=lambda log: (log.mtime or 0, log.name), reverse=True)
        ]
        succeeded = [header for header in headers if header.status == "success"]
        return next(iter(succeeded or headers), None)

    def state(self, shard: Shard) -> State:
        """How far a shard has come."""
        attempt = self.attempt(shard)
        if attempt is None:
            return State.NEW
        return State.DONE if attempt.status == "success" else State.UNFINISHED

    def left(self) -> list[Shard]:
        """The shards that are not done."""
        return [shard for shard in self.shards if self.state(shard) is not State.DONE]

    def next_command(self, shard: Shard, config_file: str) -> list[str] | None:
        """The arguments to Inspect's command that bring a shard forward; None where it is done."""
        log_dir, attempt = self.shard_dir(shard), self.attempt(shard)
        if attempt is None:
            return self.command.for_shard(shard, log_dir, config_file)
        if attempt.status == "success":
            return None
        return retry_arguments(attempt.location, log_dir)

    def logs(self) -> list[EvalLogInfo]:
        """The newest log of every shard that has begun."""
        found = (
            list_eval_logs(self.shard_dir(shard), formats=["eval"], recursive=False)
            for shard in self.shards
        )
        return [max(logs, key=lambda log: log.mtime or 0) for logs in found if logs]

    def join(self, archive: Archive | None = None) -> EvalLog:
        """Write the joined log.

        Args:
            archive: Where samples may have been taken already.

        Raises:
            MisstepError: A shard is missing or did not succeed; it is named.
        """
        attempts = [(shard, self.attempt(shard)) for shard in self.shards]
        missing = [
            f"shard {shard.index} (samples {shard.limit}): "
            + ("not started" if attempt is None else attempt.status)
            for shard, attempt in attempts
            if attempt is None or attempt.status != "success"
        ]
        if missing:
            raise MisstepError(
                f"not joined, for parts are missing: {'; '.join(missing)}. "
                f"Go on with: misstep run --resume {self.folder}"
            )
        parts = [(shard, attempt) for shard, attempt in attempts if attempt is not None]
        with nullcontext(archive) if archive else Archive() as filled:
            return join_logs(filled, parts, self.location, self.command.limit)


def _log_name(eval: str) -> str:
    task = eval.rpartition("@")[2].rpartition("/")[2].removesuffix(".py").replace("_", "-")
    return f"{datetime.now(UTC):%Y-%m-%dT%H-%M-%S-00-00}_{task}_{uuid()}"
