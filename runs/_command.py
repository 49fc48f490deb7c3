"""What is run: an eval and its options, as `inspect eval` takes them."""

import json
import re
from collections.abc import Sequence
from hashlib import sha256
from typing import Any

import yaml
from inspect_ai.dataset import Dataset
from pydantic import BaseModel, ConfigDict, field_validator

from misstep._inspect_private import load_tasks
from misstep.registry import MisstepError, UnknownEvalError, eval_names, find_secret, task_arguments

_REFUSED = {
    "--sample-id": "run it with `inspect eval`",
    "--log-dir": "give it to this command",
    "--log-format": "parts are written and joined as .eval logs",
}
_WORKER_OPTIONS = (
    "--no-log-realtime",
    "--no-score-display",
    "--ctl-server",
    "false",
    "--display",
    "log",
)
"""Workers have no display. These options save a fifth of their time and print no table."""
_CONNECTIONS = "max_connections"
# As in Inspect's own identity of a task in an eval set.
NOT_IN_RESULTS = {
    *("base_url", "max_retries", "timeout", "attempt_timeout", "stream_idle_timeout"),
    *(_CONNECTIONS, "adaptive_connections", "batch", "cache", "cache_prompt"),
    *("max_samples", "max_dataset_memory", "max_tasks", "max_subprocesses", "max_sandboxes"),
    *("sandbox_cleanup", "sandbox_prebuilt", "notification", "score_display", "acp_server"),
    *("log_samples", "log_realtime", "log_images", "log_model_api", "log_buffer", "log_shared"),
    *("retry_on_error", "tags", "metadata"),
}
"""Settings that cannot change results."""
_OPAQUE = {"args", "extra_body"}
"""Settings whose keys are names of other programs."""


class EvalCommand(BaseModel):
    """An eval and the options of `inspect eval` that it runs with."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    eval: str
    task_args: dict[str, Any] = {}
    options: tuple[str, ...] = ()
    """Further options, as typed, without the task's arguments and the limit."""
    config: dict[str, Any] = {}
    """A run configuration, as `inspect eval --run-config` reads it."""
    max_connections: int | None = None
    """The total over all workers, if it is not in the configuration."""
    limit: tuple[int, int] | None = None
    """The range of samples: the first, counted from zero, and the one after the last."""

    @field_validator("eval")
    @classmethod
    def _with_package(cls, eval: str) -> str:
        """`misstep list` shows the names without `misstep/`; Inspect needs it."""
        return f"misstep/{eval}" if eval in eval_names() else eval

    @classmethod
    def parse(
        cls,
        eval: str,
        task_args: Sequence[str],
        limit: tuple[int, int] | None,
        options: Sequence[str],
        max_connections: int | None = None,
    ) -> "EvalCommand":
        """Read the arguments of the command line; refuse what a split run cannot do."""
        for name, cure in _REFUSED.items():
            if any(option.partition("=")[0] == name for option in options):
                raise MisstepError(f"{name} does not go with a split run: {cure}")
        shuffle = re.search(r"--sample-shuffle[= ]?(\d*)", " ".join(options))
        if shuffle and int(shuffle[1] or 0) < 2:
            raise MisstepError(
                "every part must shuffle alike: give --sample-shuffle a seed of 2 or more, such as "
                "42 (Inspect reads 0 and 1 as no and yes)"
            )
        return cls(
            eval=eval,
            task_args=task_arguments(task_args),
            options=tuple(options),
            max_connections=max_connections,
            limit=limit,
        )

    @property
    def shuffles(self) -> bool:
        """Whether the user asks for shuffled samples."""
        typed = any(option.startswith("--sample-shuffle") for option in self.options)
        return typed or "sample_shuffle" in self.config.get("eval_config", {})

    @property
    def digest(self) -> str:
        """A hash of everything that can change the results."""
        content = self.model_dump(mode="json", exclude={"max_connections"})
        content["config"] = _result_settings(content["config"])
        return sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()

    def check_no_key(self) -> None:
        """Refuse a command that holds a secret, because commands are written to files."""
        secret = find_secret([self.eval, self.task_args, self.options, self.config])
        if secret is not None:
            raise MisstepError(
                "the command of a run is written to a file so that it can be resumed, and a secret "
                f"must not be: {secret}. Set keys in the environment, such as OPENAI_API_KEY, not "
                "as arguments, headers or parts of a URL"
            )

    def load_dataset(self) -> Dataset:
        """Return all samples of the eval, whatever the limit."""
        tasks = load_tasks(self.eval, dict(self.task_args))
        is_file = ".py" in self.eval or "/" in self.eval
        if not tasks and (self.eval.startswith("misstep/") or not is_file):
            raise UnknownEvalError(self.eval, eval_names())
        if len(tasks) != 1:
            raise MisstepError(
                f"'{self.eval}' names {len(tasks)} tasks; name one: `misstep list` lists them"
            )
        if tasks[0].sample_source is not None:
            raise MisstepError(
                f"the samples of '{self.eval}' are generated while it runs, so it cannot be "
                "split: run it with `inspect eval`, or ask for fewer samples"
            )
        return tasks[0].dataset

    def sample_range(self, size: int) -> tuple[int, int]:
        """Return the range of samples that the limit selects, of `size` samples."""
        start, stop = self.limit or (0, size)
        start, stop = min(start, size), min(stop, size)
        if start >= stop:
            raise MisstepError(f"the limit {start + 1}-{stop} leaves none of {size:,} samples")
        return start, stop

    def shared_among(self, workers: int) -> "EvalCommand":
        """Return the command for one of several workers: each has its share of connections."""
        shared = _with_shares({_CONNECTIONS: self.max_connections, "config": self.config}, workers)
        return self.model_copy(update=shared)

    def eval_arguments(self, limit: str, log_dir: str, config_file: str) -> list[str]:
        """Return the arguments of `inspect` that run a range of its samples."""
        return [
            *("eval", self.eval),
            *(part for item in self.task_args.items() for part in ("-T", _argument(*item))),
            *(*_WORKER_OPTIONS, *self.options, *_connections(self.max_connections)),
            *(("--run-config", config_file) if self.config else ()),
            *("--limit", limit, "--log-dir", log_dir),
        ]

    def retry_arguments(self, log: str, log_dir: str) -> list[str]:
        """Return the arguments of `inspect` that resume a part from its log."""
        general = self.config.get("generate_config", {}).get(_CONNECTIONS)
        connections = _connections(self.max_connections or general)
        return ["eval-retry", log, *_WORKER_OPTIONS, *connections, "--log-dir", log_dir]


def _result_settings(config: dict[str, Any]) -> dict[str, Any]:
    """Return the settings that can change results."""
    kept = {
        name: _result_settings(value) if isinstance(value, dict) and name not in _OPAQUE else value
        for name, value in config.items()
        if name not in NOT_IN_RESULTS
    }
    # Empty settings count as no settings.
    return {name: value for name, value in kept.items() if value not in ({}, [], None)}


def _with_shares(config: dict[str, Any], workers: int) -> dict[str, Any]:
    def shared(name: str, value: Any) -> Any:  # noqa: ANN401
        if isinstance(value, dict):
            return _with_shares(value, workers)
        return max(1, value // workers) if name == _CONNECTIONS and value else value

    return {name: shared(name, value) for name, value in config.items()}


def _connections(count: int | None) -> tuple[str, ...]:
    return ("--max-connections", str(count)) if count else ()


def _argument(name: str, value: object) -> str:
    text = yaml.safe_dump(value, default_flow_style=True, width=10**9)
    return f"{name}={text.strip().removesuffix('...').strip()}"
