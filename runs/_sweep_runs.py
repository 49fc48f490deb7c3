"""The runs that a sweep file asks for, each with a name that stays the same."""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import sha256
from itertools import product
from typing import Any

from misstep.registry import DataError
from misstep.runs import EvalCommand, Job, SplitRun
from misstep.runs._sweep_file import Sweep, SweepEval, SweepModel


@dataclass(frozen=True)
class Run:
    """One model on one eval, with one set of arguments."""

    eval: SweepEval
    model: SweepModel
    args: dict[str, Any]
    seed: int | None
    command: EvalCommand
    log_dir: str

    @property
    def name(self) -> str:
        """What the run's log is called: readable, and different for every different run."""
        digest = sha256(json.dumps(self.command.model_dump(), sort_keys=True).encode()).hexdigest()
        tried = [f"{name}-{self.args[name]}" for name in self.eval.each]
        seeded = [] if self.seed is None else [f"seed-{self.seed}"]
        words = [self.eval.eval.rpartition("/")[2], self.label, *tried, *seeded, digest[:8]]
        return "_".join(re.sub(r"[^A-Za-z0-9.-]+", "-", word) for word in words)

    @property
    def label(self) -> str:
        """What the model is called."""
        return self.model.name or self.model.model

    @property
    def folder(self) -> str:
        """Where its shards are."""
        return f"{self.log_dir.rstrip('/')}/{self.name}.shards"

    def planned(self) -> SplitRun:
        """The run, from its plan where it was begun before, else planned anew."""
        try:
            return SplitRun.open(self.folder)
        except DataError:
            return SplitRun.create(self.command, self.eval.shards, self.log_dir, self.name)

    def job(self, shard: int) -> Job:
        """One shard of it to run."""
        return Job(self.folder, shard, cpus=self.model.cpus, gpus=self.model.gpus)


def runs_of(sweep: Sweep) -> list[Run]:
    """All runs of a sweep, evals first: what every model does on the first, then on the second."""
    seeds: list[int | None] = [*sweep.seeds] or [None]
    return [
        Run(eval, model, args, seed, _command(sweep, eval, model, args, seed), sweep.log_dir)
        for eval in sweep.evals
        for args in _combinations(eval)
        for model in sweep.models
        for seed in seeds
    ]


def _combinations(eval: SweepEval) -> Iterator[dict[str, Any]]:
    for values in product(*eval.each.values()):
        yield {**eval.args, **dict(zip(eval.each, values, strict=True))}


def _command(
    sweep: Sweep, eval: SweepEval, model: SweepModel, args: dict[str, Any], seed: int | None
) -> EvalCommand:
    generate = sweep.generate_config if seed is None else {**sweep.generate_config, "seed": seed}
    described = {
        "model": model.model,
        "base_url": model.base_url,
        "args": model.args,
        "config": model.config,
    }
    config = {
        "model": {name: value for name, value in described.items() if value},
        "model_roles": {
            role: {"model": entry} if isinstance(entry, str) else entry
            for role, entry in model.roles.items()
        },
        "generate_config": generate,
        "eval_config": sweep.eval_config,
        "tags": sweep.tags,
    }
    return EvalCommand(
        eval=eval.eval,
        task_args=args,
        config={name: value for name, value in config.items() if value},
        limit=None if eval.limit is None else (0, eval.limit),
    )
