"""Joining the logs of shards into one ordinary log, its metrics computed over all samples."""

from collections import Counter
from collections.abc import Iterable, Sequence
from hashlib import sha256
from pathlib import PurePath

from inspect_ai.log import (
    EvalLog,
    EvalSample,
    EvalShardEntry,
    EvalShards,
    EvalStats,
    recompute_metrics,
)
from inspect_ai.model import ModelUsage
from shortuuid import uuid

from misstep.registry import MisstepError
from misstep.runs._archive import Archive
from misstep.runs._split import Shard


def join_logs(
    archive: Archive,
    parts: Sequence[tuple[Shard, EvalLog]],
    location: str,
    limit: tuple[int, int] | None,
) -> EvalLog:
    """Join the logs of all shards of one run, and write the result.

    Args:
        archive: Where samples may have been taken already.
        parts: The shards in order, each with its log, of which only the header is looked at.
        location: Where the joined log goes.
        limit: The whole run's limit.

    Raises:
        MisstepError: The logs are not parts of one run, or a sample is missing or double.
    """
    logs = [log for _, log in parts]
    _check_alike(logs)
    _check_distinct(logs)
    order = {sample: place for place, sample in enumerate(_ids(logs))}

    def header(samples: list[EvalSample]) -> EvalLog:
        counts = _check_complete(parts, samples)
        spec = logs[0].eval.model_copy(deep=True)
        spec.eval_id, spec.run_id, spec.task_id = uuid(), uuid(), uuid()
        spec.dataset.sample_ids = list(order)
        spec.config.limit = limit
        entries = [_entry(*part, count) for part, count in zip(parts, counts, strict=True)]
        spec.shards = EvalShards(selection="ids", ledger=entries)
        joined = logs[0].model_copy(
            update={
                "eval": spec,
                "samples": sorted(samples, key=lambda one: (one.epoch, order[one.id])),
                "stats": _stats(logs),
            }
        )
        recompute_metrics(joined)
        return joined

    return archive.write(
        [log.location for log in logs],
        location,
        header,
        lambda one: (one["epoch"], order[one["id"]]),
    )


def _ids(logs: Iterable[EvalLog]) -> list[str | int]:
    return [sample for log in logs for sample in log.eval.dataset.sample_ids or []]


def _check_alike(logs: Sequence[EvalLog]) -> None:
    def what(log: EvalLog) -> dict[str, object]:
        return {
            "task": log.eval.task,
            "version": log.eval.task_version,
            "arguments": log.eval.task_args,
            "model": log.eval.model,
            "model settings": log.eval.model_generate_config,
            "plan": log.plan,
            "epochs": log.eval.config.epochs,
            "packages": log.eval.packages,
        }

    expected = what(logs[0])
    for log in logs[1:]:
        for name, value in what(log).items():
            if value != expected[name]:
                raise MisstepError(
                    f"the logs are not parts of one run: the {name} of {log.location} is {value}, "
                    f"that of {logs[0].location} {expected[name]}"
                )


def _check_distinct(logs: Sequence[EvalLog]) -> None:
    counts = Counter(_ids(logs))
    double = [sample for sample, count in counts.items() if count > 1]
    if double:
        raise MisstepError(f"sample '{double[0]}' is in more than one shard")


def _check_complete(
    parts: Sequence[tuple[Shard, EvalLog]], samples: Sequence[EvalSample]
) -> list[int]:
    """How many samples each part holds.

    Raises:
        MisstepError: A part is not whole.
    """
    held = Counter(sample.id for sample in samples)
    found = []
    for shard, log in parts:
        ids = log.eval.dataset.sample_ids or []
        wanted = len(ids) * (log.eval.config.epochs or 1)
        found.append(sum(held[sample] for sample in ids))
        if len(ids) != len(shard) or found[-1] != wanted:
            raise MisstepError(
                f"shard {shard.index} (samples {shard.limit}) is not whole: {log.location} holds "
                f"{found[-1]:,} of {wanted:,} samples, selected {len(ids):,} "
                f"of {len(shard):,}"
            )
    return found


def _stats(logs: Sequence[EvalLog]) -> EvalStats:
    return EvalStats(
        started_at=min(log.stats.started_at for log in logs),
        completed_at=max(log.stats.completed_at for log in logs),
        model_usage=_summed([log.stats.model_usage for log in logs]),
        role_usage=_summed([log.stats.role_usage for log in logs]),
    )


def _summed(parts: Iterable[dict[str, ModelUsage]]) -> dict[str, ModelUsage]:
    total: dict[str, ModelUsage] = {}
    for part in parts:
        for name, usage in part.items():
            total[name] = total[name] + usage if name in total else usage
    return total


def _entry(shard: Shard, log: EvalLog, samples: int) -> EvalShardEntry:
    ids = log.eval.dataset.sample_ids or []
    return EvalShardEntry(
        shard=str(shard.index),
        log=PurePath(log.location).name,
        status=log.status,
        samples=samples,
        selected=len(ids),
        selection_digest=sha256("\n".join(map(str, ids)).encode()).hexdigest(),
        started_at=log.stats.started_at,
        completed_at=log.stats.completed_at,
        model_usage=log.stats.model_usage,
        role_usage=log.stats.role_usage,
        size=0,
    )
