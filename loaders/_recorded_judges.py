"""Judgements of agents recorded elsewhere: the result files of AgentProcessBench."""

from collections.abc import Iterable
from pathlib import PurePosixPath
from typing import Annotated, Any

from inspect_ai.dataset import MemoryDataset, Sample
from pydantic import BaseModel, ConfigDict, Field

from misstep.loaders._agents import trajectory_dataset
from misstep.loaders._files import read_rows
from misstep.loaders._rows import validate_row
from misstep.loaders._trajectories import RUNS_PER_QUERY, SET_ROWS, SETS, StepLabel
from misstep.registry import DataError
from misstep.samples import StepLabelsMetadata

_BLIND = "__blind_"
"""Stands in the names of the published files, `<judge>/<set>__blind_<model>.jsonl`."""

_Index = Annotated[int, Field(ge=0)]


class JudgementRow(BaseModel):
    """What a judge recorded about one trajectory."""

    model_config = ConfigDict(extra="ignore", strict=True)

    dataset: str
    total_index: _Index | None = None
    query_index: _Index | None = None
    sample_index: _Index | None = None
    annotator: str | None = None
    step_labels: dict[str, StepLabel | None]
    final_label: int | None = None
    comment: str | None = None
    updated_at: str = ""
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
            if earlier is None or earlier.updated_at <= row.updated_at:
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
