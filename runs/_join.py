"""Join the logs of shards into one ordinary log, with metrics over all samples.

Samples are copied one at a time, so that a log of any size can be joined. Inspect's own reading and
writing would hold all samples in memory.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import PurePath
from typing import Any
from zipfile import BadZipFile, ZipFile

import fsspec

# This import also teaches zipfile to read zstd, the compression of Inspect's logs.
from inspect_ai.log import (
    EvalError,
    EvalLog,
    EvalSample,
    EvalShardEntry,
    EvalShards,
    EvalStats,
    recompute_metrics,
)
from inspect_ai.model import ModelUsage
from inspect_ai.scorer import Score
from pydantic import BaseModel, TypeAdapter
from pydantic_core import from_json
from shortuuid import uuid

from misstep.log_files import SAMPLES, SUMMARIES, NewLog, new_log
from misstep.registry import MisstepError
from misstep.runs._command import NOT_IN_RESULTS

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
            # Of several members with one name the last one counts, and reading gives that one.
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
