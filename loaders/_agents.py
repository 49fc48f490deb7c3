"""Trajectories of agents as samples."""

import logging

from inspect_ai.dataset import Dataset, MemoryDataset

from misstep.loaders._first_error import (
    FirstErrorRow,
    RowOrder,
    Subsets,
    dataset_name,
    first_error_sample,
    load_rows,
    ordered,
)
from misstep.loaders._rows import wrong_kind_message
from misstep.loaders._trajectories import TRAJECTORY, read_messages
from misstep.registry import DataError, MisstepError, RowKind
from misstep.trajectories import render

logger = logging.getLogger(__name__)


def trajectory_dataset(
    source: str,
    subset: Subsets = None,
    accept: str | None = None,
    tool_result_chars: int | None = None,
    keep_messages: bool = False,
    labels_only: bool = False,
    order: RowOrder = "interleaved",
) -> MemoryDataset:
    """Return trajectories as samples: the task is the input, the first wrong step the target.

    Args:
        source: A registered source, or the user's own file.
        subset: Use only this set.
        accept: The sha256 of a changed copy of a registered source.
        tool_result_chars: Cut the middle out of longer tool results.
        keep_messages: Keep the original messages and tools in the metadata.
        labels_only: Accept rows that have labels and no messages.
        order: The order of samples.
    """
    if tool_result_chars is not None and tool_result_chars < 1:
        raise MisstepError(f"tool_result_chars={tool_result_chars}: expected at least 1.")
    samples = []
    cut = media = 0
    for row in ordered(_rows(source, subset, accept, "trajectory", "message_index"), order):
        sample = first_error_sample(row)
        metadata = sample.metadata or {}
        original = row.extra.get(TRAJECTORY)
        if keep_messages:
            metadata[TRAJECTORY] = original
        if original is None and not labels_only:
            raise DataError(
                f"{source}: the row {row.id!r} has labels and no messages, so there is nothing to "
                "show to a critic. To score recorded judgements: misstep import FILE --source "
                f"{source}"
            )
        media += bool(metadata.get("media"))
        if tool_result_chars is not None and original is not None:
            rendering = render(read_messages(original["messages"]), tool_result_chars)
            metadata |= {"steps": rendering.steps}
            if rendering.shortened:
                metadata["shortened"] = rendering.shortened
                cut += 1
        samples.append(sample)
    if cut:
        logger.warning(
            "Tool results of %d of %d trajectories are shortened to %s characters.",
            *(cut, len(samples), f"{tool_result_chars:,}"),
        )
    if media:
        logger.warning(
            "%d of %d trajectories have images or other parts without text, which critics do not "
            "see. Their places are marked.",
            *(media, len(samples)),
        )
    return MemoryDataset(samples, name=dataset_name(source, subset))


def _rows(
    source: str, subset: Subsets, accept: str | None, kind: RowKind, field: str
) -> list[FirstErrorRow]:
    """Return the rows of a kind, which have a field that other rows lack."""
    rows = load_rows(source, subset, accept, (kind,))
    for row in rows:
        if field not in row.extra:
            where = f"{source}: the row {row.id!r}"
            raise DataError(wrong_kind_message(where, "first_error", (kind,)))
    return rows


def attribution_dataset(
    source: str, subset: Subsets = None, accept: str | None = None, order: RowOrder = "interleaved"
) -> MemoryDataset:
    """Return logs of failed agents as samples: the question is the input, the step the target.

    The arguments are those of `trajectory_dataset`.
    """
    rows = ordered(_rows(source, subset, accept, "attribution", "agents"), order)
    return MemoryDataset([first_error_sample(row) for row in rows], dataset_name(source, subset))


def has_step_labels(dataset: Dataset) -> bool:
    """Return whether all samples have a label for each step, and not the first wrong step alone."""
    return all("step_labels" in (sample.metadata or {}) for sample in dataset)
