"""Trajectories of agents as samples: labelled, with recorded judgements, or logs of teams."""

import logging
from collections.abc import Iterable
from datetime import datetime
from math import inf
from pathlib import PurePosixPath
from typing import Annotated, Any

from inspect_ai.dataset import Dataset, MemoryDataset, Sample
from pydantic import BaseModel, BeforeValidator, ConfigDict

from misstep.generator import VERSION, WORLDS, trajectories
from misstep.loaders._files import read_rows
from misstep.loaders._first_error import (
    FirstErrorRow,
    RowOrder,
    Subsets,
    check_rows,
    dataset_name,
    first_error_sample,
    load_rows,
    ordered,
)
from misstep.loaders._rows import Index, named, validate_row, whole_number, wrong_kind_message
from misstep.loaders._trajectories import (
    RUNS_PER_QUERY,
    SET_ROWS,
    SETS,
    STEP_LABELS,
    TRAJECTORY,
    StepLabel,
    read_messages,
)
from misstep.registry import DataError, MisstepError, RowKind, UnknownNameError
from misstep.samples import StepLabelsMetadata
from misstep.trajectories import render

logger = logging.getLogger(__name__)

GENERATED = "generated"
"""The source of generated trajectories."""


def trajectory_dataset(
    source: str,
    subset: Subsets = None,
    accept: str | None = None,
    tool_result_chars: int | None = None,
    keep_messages: bool = False,
    labels_only: bool = False,
    order: RowOrder = "interleaved",
    seed: int = 0,
    n: int = 120,
) -> MemoryDataset:
    """Return trajectories as samples: the task is the input, the first wrong step the target.

    Args:
        source: A registered source, the user's own file, or `generated`.
        subset: Use only this set.
        accept: The sha256 of a changed copy of a registered source.
        tool_result_chars: Cut the middle out of longer tool results.
        keep_messages: Keep the original messages and tools in the metadata.
        labels_only: Accept rows that have labels and no messages.
        order: The order of samples.
        seed: The seed of generated trajectories.
        n: The number of generated trajectories.
    """
    if tool_result_chars is not None and tool_result_chars < 1:
        raise MisstepError(f"tool_result_chars={tool_result_chars}: expected at least 1.")
    samples = []
    cut = media = 0
    if source == GENERATED:
        rows = _generated(seed, n, subset)
    else:
        rows = _rows(source, subset, accept, "trajectory", "message_index")
    for row in ordered(rows, order):
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
    name = f"worlds-{VERSION}-{seed}" if source == GENERATED else source
    return MemoryDataset(samples, name=dataset_name(name, subset))


def _generated(seed: int, n: int, subset: Subsets) -> list[FirstErrorRow]:
    wanted = [subset] if isinstance(subset, str) else subset
    for name in wanted or ():
        if name not in WORLDS:
            raise UnknownNameError("subset", name, WORLDS)
    made = trajectories(seed, n)
    raw = [row for row in made if wanted is None or row["subset"] in wanted]
    rows, bad = check_rows(enumerate(raw, start=1), ("trajectory",))
    assert not bad, bad  # noqa: S101 (our own rows)
    return rows


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


_BLIND = "__blind_"
"""A part of the names of the published files, `<judge>/<set>__blind_<model>.jsonl`."""


def _judged_labels(value: object) -> object:
    """Return recorded labels by the places of messages; a value that is no label becomes None."""
    if value is None:
        return {}
    found = dict(enumerate(value)) if isinstance(value, list) else value
    if not isinstance(found, dict):
        return value
    return {str(place): _judged_label(label) for place, label in found.items()}


def _judged_label(value: object) -> int | None:
    try:
        label = whole_number(value)
    except ValueError:
        return None
    return label if label in STEP_LABELS else None


class JudgementRow(BaseModel):
    """What a judge recorded about one trajectory."""

    model_config = ConfigDict(extra="ignore", strict=True)

    dataset: str
    total_index: Index = None
    query_index: Index = None
    sample_index: Index = None
    annotator: str | None = None
    step_labels: Annotated[dict[str, StepLabel | None], BeforeValidator(_judged_labels)]
    final_label: Any = None
    comment: str | None = None
    time: Any = named("updated_at", "created_at", "timestamp", default=None)
    explanations: Any = None

    @property
    def row_id(self) -> str | None:
        """The id of the trajectory."""
        index = self.total_index
        if index is None and self.query_index is not None and self.sample_index is not None:
            offset = SET_ROWS * SETS.index(self.dataset) if self.dataset in SETS else 0
            index = offset + RUNS_PER_QUERY * self.query_index + self.sample_index
        return None if index is None else f"{self.dataset}-{index}"


def holds_judgements(address: str) -> bool:
    """Return whether the first row of a file is the judgement of a trajectory."""
    first: Any = next(read_rows(address), (0, None))[1]
    return isinstance(first, dict) and {"step_labels", "annotator"} <= first.keys()


def judgement_datasets(
    files: Iterable[str], source: str, judge: str | None = None
) -> dict[str, MemoryDataset]:
    """Return the trajectories with the recorded judgement as metadata, by judge.

    All trajectories of each set that a judge's files name are in its data set: the published rule
    counts all of them. A trajectory without a judgement has an empty record. Of several records of
    one trajectory, the newest counts. A name of the judge holds for all files.
    """
    judges: dict[str, dict[str, JudgementRow]] = {}
    sets: dict[str, dict[str, Sample]] = {}
    used: dict[str, dict[str, None]] = {}
    for address in files:
        for number, content in read_rows(address):
            where = f"{address}: row {number}"
            row = validate_row(content, JudgementRow, where)
            if row.dataset not in sets:
                samples = trajectory_dataset(source, row.dataset, labels_only=True)
                sets[row.dataset] = {str(sample.id): sample for sample in samples}
            if row.row_id not in sets[row.dataset]:
                raise DataError(
                    f"{where}: {row.row_id!r} is not among the rows of {source!r}, subset "
                    f"{row.dataset!r}."
                )
            name = judge or _judge(address, row)
            used.setdefault(name, {})[row.dataset] = None
            records = judges.setdefault(name, {})
            earlier = records.get(row.row_id)
            if earlier is None or _seconds(earlier.time) <= _seconds(row.time):
                records[row.row_id] = row
    if not judges:
        raise DataError("The files hold no judgements.")
    return {
        name: MemoryDataset(
            [
                _sample(sample, records.get(str(sample.id)))
                for subset in used[name]
                for sample in sets[subset].values()
            ],
            name=source,
        )
        for name, records in judges.items()
    }


def _seconds(time: object) -> float:
    """Return a time stamp as a number; one that cannot be read is before all others."""
    if isinstance(time, int | float):
        return float(time)
    try:
        return datetime.fromisoformat(str(time).strip()).timestamp()
    except ValueError:
        return -inf


def _judge(address: str, row: JudgementRow) -> str:
    """Return the judge's name: the folder of a published file, else the row's annotator."""
    path = PurePosixPath(address)
    if _BLIND in path.name and path.parent.name.strip():
        return path.parent.name.strip()
    return row.annotator or "unnamed"


def _sample(sample: Sample, row: JudgementRow | None) -> Sample:
    recorded: dict[str, Any] = {}
    if row is not None:
        places = sample.metadata_as(StepLabelsMetadata).message_index
        labels = [row.step_labels.get(str(place)) for place in places]
        recorded = {"labels": labels, "final_label": row.final_label, "comment": row.comment}
        recorded["reason"] = _reason(row.explanations, places, labels)
    known = {name: value for name, value in recorded.items() if value not in (None, "")}
    return sample.model_copy(
        update={"metadata": {**(sample.metadata or {}), "recorded": known}}, deep=False
    )


def _reason(explanations: object, places: list[int], labels: list[StepLabel | None]) -> str | None:
    """Return what the judge says about the first step that it labels -1."""
    steps = explanations.get("steps") if isinstance(explanations, dict) else None
    if not isinstance(steps, dict) or -1 not in labels:
        return None
    reason = steps.get(str(places[labels.index(-1)]))
    return reason if isinstance(reason, str) else None
