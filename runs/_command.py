"""What is run: an eval and its options, as given to `inspect eval`."""

import re
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import yaml
from pydantic import BaseModel, ConfigDict

from misstep._inspect_private import load_tasks
from misstep.registry import MisstepError, task_arguments
from misstep.runs._split import Shard

_PLACES = {
    "--sample-id": "run it in one process",
    "--log-dir": "give it to this command",
    "--log-format": "parts are written and joined as .eval logs",
}
_LEAN = (
    *("--no-log-realtime", "--no-score-display", "--ctl-server", "false"),
    # Any other lays out a table of all figures at the end, which takes more than half a second.
    *("--display", "log"),
)
"""Nobody watches a part while it runs: what serves watching only costs time."""


class EvalCommand(BaseModel):
    """An eval and the options of `inspect eval` that it runs with."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    eval: str
    task_args: dict[str, Any] = {}
    options: tuple[str, ...] = ()
    """Further options, as typed, without the task's arguments and the limit."""
    config: dict[str, Any] = {}
    """A run configuration, as `inspect eval --run-config` reads them."""
    limit: tuple[int, int] | None = None
    """Which samples: from, counted from zero, and up to, not included."""

    @classmethod
    def parse(
        cls, eval: str, task_args: Sequence[str], limit: str | None, options: Sequence[str]
    ) -> "EvalCommand":
        """Read what was typed.

        Raises:
            MisstepError: Options that a split run cannot have.
        """
        _check(options)
        return cls(
            eval=eval,
            task_args=task_arguments(task_args),
            limit=None if limit is None else _limit(limit),
            options=tuple(options),
        )

    def samples(self) -> tuple[int, int]:
        """The range of samples that the eval has and the limit leaves.

        Raises:
            MisstepError: There are none.
        """
        tasks = load_tasks(self.eval, dict(self.task_args))
        if len(tasks) != 1:
            raise MisstepError(
                f"'{self.eval}' names {len(tasks)} tasks; name one: `misstep list` lists them"
            )
        if tasks[0].sample_source is not None:
            raise MisstepError(
                f"the samples of '{self.eval}' come while it runs, so it cannot be split: "
                "run it in one process, or ask for fewer"
            )
        size = len(tasks[0].dataset)
        start, stop = self.limit or (0, size)
        start, stop = min(start, size), min(stop, size)
        if start >= stop:
            raise MisstepError(f"the limit {start + 1}-{stop} leaves none of {size:,} samples")
        return start, stop

    def for_shard(self, shard: Shard, log_dir: str, config_file: str) -> list[str]:
        """The arguments to Inspect's command that run one shard.

        Args:
            shard: Which samples.
            log_dir: Where the log goes.
            config_file: Where the worker has put the run configuration.
        """
        given = [f"{name}={_written(value)}" for name, value in self.task_args.items()]
        return [
            "eval",
            self.eval,
            *(part for text in given for part in ("-T", text)),
            *_LEAN,
            *self.options,
            *(("--run-config", config_file) if self.config else ()),
            *("--limit", shard.limit),
            *("--log-dir", log_dir),
        ]


def retry_arguments(log: str, log_dir: str) -> list[str]:
    """The arguments that go on with an attempt that did not finish."""
    return ["eval-retry", log, *_LEAN, "--log-dir", log_dir]


def _check(options: Sequence[str]) -> None:
    for option in options:
        name = option.partition("=")[0]
        if name in _PLACES:
            raise MisstepError(f"{name} does not go with a split run: {_PLACES[name]}")
    for option, following in pairwise([*options, ""]):
        name, equals, value = option.partition("=")
        seed = value if equals else following
        if name == "--sample-shuffle" and not seed.isdigit():
            raise MisstepError(
                "every part must shuffle alike: give --sample-shuffle a seed, such as 42"
            )


def _written(value: object) -> str:
    return yaml.safe_dump(value, default_flow_style=True, width=10**9).removesuffix("...\n").strip()


def _limit(text: str) -> tuple[int, int]:
    if not re.fullmatch(r"\d+(-\d+)?", text):
        raise MisstepError(f"'{text}' is no limit; it is a number, or a range such as 1-50")
    first, dash, last = text.partition("-")
    start, stop = (int(first) - 1, int(last)) if dash else (0, int(first))
    if not 0 <= start < stop:
        raise MisstepError(f"'{text}' holds no sample; samples are counted from 1")
    return start, stop
