"""The provider `replay/…`: it answers each sample from recorded outputs, by the sample's id."""

from collections.abc import Mapping
from functools import lru_cache
from math import inf, log
from pathlib import Path
from typing import Annotated, Any, Literal, Self, TypeAlias

from inspect_ai.model import Logprobs, ModelCall, ModelOutput, ModelUsage, StopReason
from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from misstep.loaders import read_rows
from misstep.providers._provider import (
    ModelRequest,
    Provider,
    Response,
    choice,
    read_scoring_messages,
    scored_output,
)
from misstep.registry import ModelError, did_you_mean, user_path

_THRESHOLD = 0.5
"""A step with a lower score is wrong."""

_Count = Annotated[int, Field(ge=0)]


class Record(BaseModel):
    """One row of the file: the votes for a sample or for one of its steps, or its step scores.

    `text` is short for `texts` with one vote. Then `reasoning` is one string too.
    """

    model_config = ConfigDict(extra="forbid", strict=True)

    id: str | int
    text: str | None = None
    texts: list[str] | None = Field(default=None, min_length=1)
    scores: list[Annotated[float, Field(allow_inf_nan=False)]] | None = None
    step: _Count | None = None
    stop_reason: StopReason = "stop"
    usage: dict[Literal["input_tokens", "output_tokens"], _Count] | None = None
    reasoning: str | list[str] | None = None

    @model_validator(mode="after")
    def _check_keys(self) -> Self:
        if [self.text, self.texts, self.scores].count(None) != 2:
            raise ValueError("give one of 'text', 'texts' and 'scores'")
        if self.scores is not None and (self.step is not None or self.reasoning is not None):
            raise ValueError("'scores' cover all steps: leave out 'step' and 'reasoning'")
        if self.text is not None:
            if isinstance(self.reasoning, list):
                raise ValueError("with 'text', 'reasoning' is one string")
            self.texts = [self.text]
            self.reasoning = None if self.reasoning is None else [self.reasoning]
        elif self.texts and (
            isinstance(self.reasoning, str)
            or (self.reasoning is not None and len(self.reasoning) != len(self.texts))
        ):
            raise ValueError("with 'texts', 'reasoning' is a list of the same length")
        return self


Records: TypeAlias = dict[tuple[str, int | str | None], tuple[int, Record]]
"""Line and record, by the id of the sample and the part: a step, "scores", or None for all."""


@lru_cache(maxsize=8)
def read_records(path: Path, changed: int, size: int) -> Records:
    """Read recorded outputs. A file whose time and size did not change is read once per process."""
    records: Records = {}
    for line, row in read_rows(str(path)):
        try:
            record = Record.model_validate(row)
        except ValidationError as error:
            raise ModelError(f"{path}, line {line}: {_explanation(error)}") from None
        key = str(record.id), record.step if record.scores is None else "scores"
        if key in records:
            raise ModelError(
                f"{path}, line {line}: id {key[0]!r}, {_part_name(key[1])}: already recorded on "
                f"line {records[key][0]}. Keep one of them. Several votes belong into the 'texts' "
                "of one record."
            )
        records[key] = line, record
    if not records:
        raise ModelError(f"{path} holds no records. Write one JSON object on each line.")
    return records


def _explanation(problem: ValidationError) -> str:
    error = problem.errors(include_url=False)[0]
    # pydantic also names the member of a union that it tried. That does not help a user.
    where = [part for part in error["loc"] if part not in ("str", "int", "list[str]", "[key]")]
    match error["type"]:
        case "extra_forbidden":
            return f"unknown key {where[0]!r}.{did_you_mean(str(where[0]), Record.model_fields)}"
        case "value_error":
            return f"{error['ctx']['error']}."
        case "model_type":
            return f"{error['input']!r:.60} is not a JSON object."
        case _:
            return f"{'.'.join(map(str, where))}: {error['msg']}."


def _part_name(part: int | str | None) -> str:
    return f"step {part}" if isinstance(part, int) else part or "the whole sample"


class ReplayAPI(Provider):
    """Recorded outputs as a model: `replay//path/to/outputs.jsonl`, or `replay/outputs.jsonl`."""

    def configure(self, arguments: Mapping[str, Any]) -> None:
        """Read the recorded outputs."""
        self.path = user_path(self.model_name)
        try:
            status = self.path.stat()
        except OSError as error:
            raise ModelError(
                f"Recorded outputs {self.path} cannot be read: {error.strerror}. "
                "Give the path of a JSON Lines file: replay//path/to/outputs.jsonl."
            ) from None
        self.records = read_records(self.path, status.st_mtime_ns, status.st_size)
        self.scores_steps = any(part == "scores" for _, part in self.records)

    async def respond(self, request: ModelRequest) -> Response:
        """Answer with the record of this sample, vote and step.

        The first `num_choices` texts answer the first epoch, the next ones answer the second epoch.
        A vote over epochs must not count one recorded answer several times.
        """
        name = request.sample_id
        if name is None:
            raise ModelError(
                f"{self.path}: replay answers the sample that is running, and none is running. "
                "Use replay/… as the model of an eval."
            )
        if request.rewards:
            line, scores = self._scores(name)
            _, steps = read_scoring_messages(f"replay/{self.model_name}", request.messages)
            check = f"'scores' of id {name!r} on line {line} of {self.path}"
            return scored_output(self.model_name, scores, len(steps), check)
        n = request.config.num_choices or 1
        line, record = self._find(name, request.step)
        first, texts = (request.epoch - 1) * n + request.vote, record.texts or []
        if first + n > len(texts):
            raise ModelError(
                f"{self.path}, line {line}: id {name!r} has {len(texts)} texts, and {first + n} "
                f"are needed (epoch {request.epoch}, {n} in this call). Record more texts, or ask "
                "for fewer."
            )
        call = {"id": name, "step": request.step, "vote": first, "n": n}
        return self._output(record, texts, first, n), ModelCall.create(call, {"line": line})

    def _output(self, record: Record, texts: list[str], first: int, n: int) -> ModelOutput:
        choices = [
            choice(
                self.model_name,
                text=texts[i],
                reasoning=record.reasoning[i] if record.reasoning else None,
                stop_reason=record.stop_reason,
                logprobs=_logprobs(record.scores[0], texts[i][0]) if record.scores else None,
            )
            for i in range(first, first + n)
        ]
        # The recorded usage covers all texts, so it counts once: with the first text.
        counts = record.usage or {} if first == 0 else {}
        usage = ModelUsage(**counts, total_tokens=sum(counts.values()))
        return ModelOutput(model=self.model_name, choices=choices, usage=usage)

    def _find(self, name: str, step: int | None) -> tuple[int, Record]:
        if (name, step) in self.records:
            return self.records[name, step]
        if step is not None and (name, "scores") in self.records:
            return self._record_from_score(name, step)
        known = ", ".join(_part_name(part) for other, part in self.records if other == name)
        raise ModelError(
            f"{self.path}: nothing is recorded for id {name!r}"
            f"{'' if step is None else f', step {step}'}{known and f' (recorded: {known})'}."
        )

    def _scores(self, name: str) -> tuple[int, list[float]]:
        if (name, "scores") not in self.records:
            raise ModelError(f"{self.path}: no scores are recorded for id {name!r}.")
        line, record = self.records[name, "scores"]
        return line, record.scores or []

    def _record_from_score(self, name: str, step: int) -> tuple[int, Record]:
        """Return a recorded score as a reply that every style of judging reads: `+` or `-`."""
        line, scores = self._scores(name)
        if step >= len(scores):
            raise ModelError(
                f"{self.path}, line {line}: id {name!r} has {len(scores)} scores, "
                f"and the task asks about step {step}."
            )
        if not 0 <= scores[step] <= 1:
            raise ModelError(
                f"{self.path}, line {line}: id {name!r}, step {step}: the score {scores[step]} "
                "is not a probability. Scores that judge a step are from 0 to 1."
            )
        sign = "+" if scores[step] >= _THRESHOLD else "-"
        text = rf"{sign} \boxed{{{sign}}}"
        return line, Record.model_construct(id=name, texts=[text], scores=[scores[step]])


def _logprobs(right_probability: float, sign: str) -> Logprobs:
    probabilities = {"+": right_probability, "-": 1 - right_probability}
    logprobs = {token: log(p) if p else -inf for token, p in probabilities.items()}
    top = [{"token": token, "logprob": logprob} for token, logprob in logprobs.items()]
    entry = {"token": sign, "logprob": logprobs[sign], "top_logprobs": top}
    return Logprobs.model_validate({"content": [entry]})
