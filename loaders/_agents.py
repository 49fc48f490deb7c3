"""Trajectories of agents as samples: labelled, with recorded judgements, or without labels.

The user's own transcripts have no labels. They come from an Inspect log or a file of chat messages.
"""

import logging
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from math import inf, isnan
from pathlib import PurePosixPath
from typing import Annotated, Any, Literal, TypeAlias

from inspect_ai.dataset import Dataset, MemoryDataset, Sample
from inspect_ai.log import EvalSample, read_eval_log
from inspect_ai.scorer import value_to_float
from pydantic import BaseModel, BeforeValidator, ConfigDict

from misstep.generator import VERSION, WORLDS, trajectories
from misstep.loaders._files import file_format, read_rows
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
from misstep.loaders._rows import named, validate_row, whole_number, wrong_kind_message
from misstep.loaders._trajectories import (
    RUNS_PER_QUERY,
    SET_ROWS,
    SETS,
    STEP_LABELS,
    TRAJECTORY,
    Index,
    StepLabel,
    read_messages,
)
from misstep.plain_text import check_name
from misstep.registry import DataError, MisstepError, RowKind, UnknownNameError, user_path
from misstep.samples import StepLabelsMetadata
from misstep.trajectories import Message, from_inspect, render

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


Chosen: TypeAlias = Literal["failed", "all"]
"""Which samples of a log are used."""


class TranscriptDataset(MemoryDataset):
    """Transcripts as samples, and those that are left out."""

    left_out: dict[str, str]
    """Why a transcript cannot be judged, by its id or the number of its row."""

    def __init__(self, samples: list[Sample], name: str, left_out: dict[str, str]) -> None:
        super().__init__(samples, name=name)
        self.left_out = left_out


def transcript_dataset(
    address: str, chosen: Chosen = "failed", tool_result_chars: int | None = None
) -> TranscriptDataset:
    """Return the transcripts of an Inspect log, or of a file with `messages`, as samples.

    A transcript without an assistant message is left out, and so is a row that is not chat messages
    or has an id that cannot be used. `left_out` names them.

    Args:
        address: A `.eval` or `.json` log, or a JSONL file whose rows have `messages`.
        chosen: failed (samples with a wrong or missing score) or all. Rows of a file have no score.
        tool_result_chars: Cut the middle out of longer tool results.
    """
    left_out: dict[str, str] = {}
    found = (
        _file_samples(address, left_out)
        if file_format(address) == ".jsonl"
        else _log_samples(address, chosen)
    )
    names: dict[str, str] = {}
    samples, media = [], 0
    for place, name, task, messages, more in found:
        if problem := _id_problem(name, names):
            left_out[place] = problem
            continue
        names[name] = place
        rendering = render(messages, tool_result_chars)
        if not rendering.steps:
            left_out[name] = "no assistant message"
            continue
        media += bool(rendering.media)
        metadata = {
            "steps": rendering.steps,
            "n_steps": len(rendering.steps),
            "message_index": rendering.message_index,
            "message_ids": [messages[i].id for i in rendering.message_index],
            **more,
        }
        if rendering.shortened:
            metadata["shortened"] = rendering.shortened
        samples.append(Sample(id=name, input=task, metadata=metadata))
    if media:
        logger.warning("Samples with images or other parts that critics do not see: %d.", media)
    if not samples:
        raise DataError(_nothing_to_judge(address, chosen, left_out))
    return TranscriptDataset(samples, address.rpartition("/")[2], left_out)


def _id_problem(name: str, earlier: Mapping[str, str]) -> str:
    """Return why a transcript cannot have this id; empty if it can."""
    if name in earlier:
        return f"the id {name!r} is that of {earlier[name]} already; give each its own id"
    try:
        check_name(name)
    except ValueError as problem:
        return f"id {name!r}: {problem}"
    return ""


def _nothing_to_judge(address: str, chosen: Chosen, left_out: Mapping[str, str]) -> str:
    is_file = file_format(address) == ".jsonl"
    cure = "" if is_file or chosen == "all" else " For all samples: --all."
    if left_out:
        name, reason = next(iter(left_out.items()))
        return (
            f"{address}: no {'row' if is_file else 'sample'} can be judged, because none has an "
            f"assistant message that can be read. First: {name}: {reason}.{cure}"
        )
    if is_file:
        return f"{address}: it has no rows. Each line is an object with `messages`."
    return f"{address}: it has no {'failed ' if chosen == 'failed' else ''}sample.{cure}"


Transcript: TypeAlias = tuple[str, str, str, list[Message], dict[str, Any]]
"""The place, the id, the task, the messages and further metadata of a transcript."""


def _log_samples(address: str, chosen: Chosen) -> Iterator[Transcript]:
    try:
        log = read_eval_log(str(user_path(address)), resolve_attachments=True)
    except FileNotFoundError:
        raise DataError(f"{address}: there is no such file.") from None
    except Exception as problem:  # a log may be anything
        raise DataError(
            f"{address}: not an Inspect log ({type(problem).__name__}). Give an Inspect log, or a "
            ".jsonl file whose rows have `messages`."
        ) from None
    for number, sample in enumerate(log.samples or [], start=1):
        if chosen == "all" or is_failed(sample):
            messages = [from_inspect(message) for message in sample.messages]
            name = str(sample.id) if sample.epoch == 1 else f"{sample.id}-epoch-{sample.epoch}"
            task = _task(sample.input, messages)
            yield f"sample {number}", name, task, messages, {"transcript": sample.uuid}


_MARKS = ("C", "P", "I", "N")
"""Inspect's scores: correct, partly correct, incorrect, no answer."""
_TRUTHS = ("yes", "true", "no", "false")


def is_failed(sample: EvalSample) -> bool:
    """Return whether a sample ended in an error, has no score, or a score under 1."""
    if sample.error is not None or not sample.scores:
        return True
    numbers = [x for score in sample.scores.values() for x in _numbers(score.value)]
    return not numbers or min(numbers) < 1


def _numbers(value: Any) -> Iterator[float]:  # noqa: ANN401
    """Yield the numbers of a score, without those that its scorer could not give, which are nan.

    A text that is no number and no mark, such as the name of a category, says nothing of a failure.
    """
    parts = (
        value.values() if isinstance(value, dict) else value if isinstance(value, list) else [value]
    )
    as_number = value_to_float()
    for part in parts:
        mark = part in _MARKS or str(part).lower() in _TRUTHS
        try:
            number = as_number(part) if mark else float(part)
        except (TypeError, ValueError):
            continue
        if not isnan(number):
            yield number


def _file_samples(address: str, left_out: dict[str, str]) -> Iterator[Transcript]:
    def refuse(number: int, reason: str) -> None:
        left_out[f"row {number}"] = reason

    for number, row in read_rows(address, refuse):
        if not isinstance(row, dict) or not isinstance(row.get("messages"), list):
            refuse(number, 'no messages; it needs `{"messages": [{"role": "user", …}, …]}`')
            continue
        try:
            messages = read_messages(row["messages"])
        except ValueError as problem:
            refuse(number, str(problem))
            continue
        name = f"row-{number}" if row.get("id") is None else str(row["id"])
        yield f"row {number}", name, _task(row.get("question"), messages), messages, {}


def _task(given: object, messages: list[Message]) -> str:
    if isinstance(given, str) and given.strip():
        return given
    return next((one.text for one in messages if one.role == "user"), "") or "(no task is given)"
