"""Transcripts of the user's own agents as samples, without labels.

They come from an Inspect log or a file of chat messages.
"""

import logging
from collections.abc import Iterator, Mapping
from math import isnan
from typing import Any, Literal, TypeAlias

from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.log import EvalSample, read_eval_log
from inspect_ai.scorer import value_to_float

from misstep.loaders._files import file_format, read_rows
from misstep.loaders._trajectories import read_messages
from misstep.plain_text import check_name
from misstep.registry import DataError, user_path
from misstep.trajectories import Message, from_inspect, render

logger = logging.getLogger(__name__)

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
