"""The provider `replay/…`: it answers each sample from recorded outputs, by the sample's id."""

from collections.abc import Mapping
from math import inf, log
from typing import Any

from inspect_ai.model import Logprob, Logprobs, ModelCall, ModelOutput, ModelUsage, TopLogprob

from misstep.providers._provider import ModelRequest, Provider, Response, choice
from misstep.providers._recording import RecordedAnswer, Recording, read_recording
from misstep.providers._step_scores import read_scoring_messages, scored_output
from misstep.registry import ModelError, user_path

_THRESHOLD = 0.5
"""A step with a lower score is wrong."""


class ReplayAPI(Provider):
    """Recorded outputs as a model: `replay//path/to/outputs.jsonl`, or `replay/outputs.jsonl`."""

    def configure(self, arguments: Mapping[str, Any]) -> None:
        """Read the recorded outputs."""
        self.recording = read_recording(user_path(self.model_name))
        self.scores_steps = bool(self.recording.scores)

    async def respond(self, request: ModelRequest) -> Response:
        """Answer with the record of this sample, vote and step.

        The first `num_choices` texts answer the first epoch, the next ones answer the second epoch.
        A vote over epochs must not count one recorded answer several times.
        """
        name, purpose = request.sample_id, request.purpose
        if name is None:
            raise ModelError(
                f"{self.recording.path}: replay answers the sample that is running, and none is "
                "running. Use replay/… as the model of an eval."
            )
        if purpose.rewards:
            return self._scored_output(name, request)
        n = request.config.num_choices or 1
        answer = _find_answer(self.recording, name, purpose.step)
        first = (request.epoch - 1) * n + purpose.vote
        if first + n > len(answer.texts):
            raise ModelError(
                f"{self.recording.path}, line {answer.line}: id {name!r} has {len(answer.texts)} "
                f"texts, and {first + n} are needed (epoch {request.epoch}, {n} in this call). "
                "Record more texts, or ask for fewer."
            )
        call = ModelCall.create(
            {"id": name, "step": purpose.step, "vote": first, "n": n}, {"line": answer.line}
        )
        return self._output(answer, first, n), call

    def _scored_output(self, name: str, request: ModelRequest) -> ModelOutput:
        """Return the recorded scores of a sample as rewards."""
        if name not in self.recording.scores:
            raise ModelError(f"{self.recording.path}: no scores are recorded for id {name!r}.")
        line, scores = self.recording.scores[name]
        _, steps = read_scoring_messages(f"replay/{self.model_name}", request.messages)
        check = f"'scores' of id {name!r} on line {line} of {self.recording.path}"
        return scored_output(self.model_name, scores, len(steps), check)

    def _output(self, answer: RecordedAnswer, first: int, n: int) -> ModelOutput:
        choices = [
            choice(
                self.model_name,
                text=answer.texts[i],
                reasoning=answer.reasoning[i] if answer.reasoning else None,
                stop_reason=answer.stop_reason,
                logprobs=_logprobs(answer.right_probability, answer.texts[i]),
            )
            for i in range(first, first + n)
        ]
        # The recorded usage covers all texts, so it counts once: with the first text.
        usage = answer.usage if first == 0 else ModelUsage()
        return ModelOutput(model=self.model_name, choices=choices, usage=usage)


def _find_answer(recording: Recording, name: str, step: int | None) -> RecordedAnswer:
    if (answer := recording.answers.get((name, step))) is not None:
        return answer
    if step is not None and name in recording.scores:
        return _answer_from_score(recording, name, step)
    steps = sorted(k for i, k in recording.answers if i == name and k is not None)
    if (name, None) in recording.answers:
        known = " (its record has no step)"
    elif steps:
        known = f" (recorded steps: {', '.join(map(str, steps))})"
    elif name in recording.scores:
        known = " (only its scores are recorded)"
    else:
        known = ""
    of_step = "" if step is None else f", step {step}"
    raise ModelError(f"{recording.path}: nothing is recorded for id {name!r}{of_step}{known}.")


def _answer_from_score(recording: Recording, name: str, step: int) -> RecordedAnswer:
    """Return a recorded score as the reply of a single-token judge: `+` or `-` with logprobs."""
    line, scores = recording.scores[name]
    if step >= len(scores):
        raise ModelError(
            f"{recording.path}, line {line}: id {name!r} has {len(scores)} scores, "
            f"and the task asks about step {step}."
        )
    if not 0 <= scores[step] <= 1:
        raise ModelError(
            f"{recording.path}, line {line}: id {name!r}, step {step}: the score {scores[step]} "
            "is not a probability. Scores that judge a step are from 0 to 1."
        )
    sign = "+" if scores[step] >= _THRESHOLD else "-"
    return RecordedAnswer(line, [sign], None, "stop", ModelUsage(), scores[step])


def _logprobs(right_probability: float | None, sign: str) -> Logprobs | None:
    if right_probability is None:
        return None
    probabilities = {"+": right_probability, "-": 1 - right_probability}
    logprobs = {token: log(p) if p else -inf for token, p in probabilities.items()}
    top = [TopLogprob(token=token, logprob=logprob) for token, logprob in logprobs.items()]
    return Logprobs(content=[Logprob(token=sign, logprob=logprobs[sign], top_logprobs=top)])
