"""The provider `replay/…`: recorded outputs, answered again by the id of the running sample."""

from math import inf, log

from inspect_ai.model import (
    ChatCompletionChoice,
    ChatMessage,
    ChatMessageAssistant,
    Content,
    ContentReasoning,
    ContentText,
    GenerateConfig,
    Logprob,
    Logprobs,
    ModelAPI,
    ModelCall,
    ModelOutput,
    ModelUsage,
    TopLogprob,
)
from inspect_ai.tool import ToolChoice, ToolInfo

from misstep._inspect_private import sample_active
from misstep.providers._asked import what_is_asked
from misstep.providers._records import Answer, Recording, read_recording
from misstep.providers._step_scores import asked_steps, scored_output, unscored_output
from misstep.registry import ModelError, from_start

_THRESHOLD = 0.5
"""A step that scores less is wrong."""


class ReplayAPI(ModelAPI):
    """Recorded outputs as a model: `replay//path/to/outputs.jsonl`, or `replay/outputs.jsonl`."""

    def __init__(
        self,
        model_name: str,
        base_url: str | None = None,
        api_key: str | None = None,
        config: GenerateConfig = GenerateConfig(),  # noqa: B008 - the signature of every provider
        **model_args: object,
    ) -> None:
        super().__init__(model_name, base_url, api_key, [], config)
        if model_args:
            raise ModelError(
                f"Unknown model argument {next(iter(model_args))!r}: replay takes none."
            )
        self.recording = read_recording(from_start(model_name))

    @property
    def scores_steps(self) -> bool:
        """Whether scores of steps are recorded."""
        return bool(self.recording.scores)

    async def generate(
        self,
        input: list[ChatMessage],
        tools: list[ToolInfo],
        tool_choice: ToolChoice,
        config: GenerateConfig,
    ) -> ModelOutput | tuple[ModelOutput | Exception, ModelCall]:
        """Answer with what was recorded for this sample, and for this vote and step.

        The first `num_choices` texts answer the first epoch, the next ones the second: a vote over
        epochs must not count one recorded answer again and again.
        """
        sample = sample_active()
        if sample is None:
            raise ModelError(
                f"{self.recording.path}: recorded outputs answer the sample that is running, and "
                "none is. Use replay/… as the model of an eval."
            )
        asked = what_is_asked()
        if asked.rewards:
            return self._scored(str(sample.sample.id), input)
        n = config.num_choices or 1
        answer = _find(self.recording, str(sample.sample.id), asked.step)
        first = (sample.epoch - 1) * n + asked.vote
        if first + n > len(answer.texts):
            raise ModelError(
                f"{self.recording.path}, line {answer.line}: id {str(sample.sample.id)!r} has "
                f"{len(answer.texts)} texts, and {first + n} are needed "
                f"(epoch {sample.epoch}, {n} asked for). Record more, or ask for fewer."
            )
        call = ModelCall.create(
            {"id": str(sample.sample.id), "step": asked.step, "vote": first, "n": n},
            {"line": answer.line},
        )
        return self._output(answer, first, n), call

    def _scored(self, name: str, input: list[ChatMessage]) -> ModelOutput:
        """All recorded scores of a sample as rewards, if there are as many as steps."""
        if name not in self.recording.scores:
            raise ModelError(f"{self.recording.path}: no scores are recorded for id {name!r}.")
        line, scores = self.recording.scores[name]
        _, steps = asked_steps(f"replay/{self.model_name}", input)
        if len(scores) != len(steps):
            return unscored_output(
                self.model_name,
                f"{len(scores)} rewards for {len(steps)} steps; check 'scores' of id {name!r} on "
                f"line {line} of {self.recording.path}",
            )
        return scored_output(self.model_name, scores)

    def _output(self, answer: Answer, first: int, n: int) -> ModelOutput:
        return ModelOutput(
            model=self.model_name,
            choices=[
                ChatCompletionChoice(
                    message=ChatMessageAssistant(
                        content=_content(answer, i), model=self.model_name, source="generate"
                    ),
                    stop_reason=answer.stop_reason,
                    logprobs=_logprobs(answer.chance, answer.texts[i]),
                )
                for i in range(first, first + n)
            ],
            # The record's usage is that of all its texts, so it counts with the first of them.
            usage=answer.usage if first == 0 else ModelUsage(),
        )


def _find(recording: Recording, name: str, step: int | None) -> Answer:
    if (answer := recording.answers.get((name, step))) is not None:
        return answer
    if step is not None and name in recording.scores:
        return _judged(recording, name, step)
    others = sorted(k for i, k in recording.answers if i == name and k is not None)
    if (name, None) in recording.answers:
        known = " (one record of it has no step)"
    elif others:
        known = f" (recorded steps: {', '.join(map(str, others))})"
    elif name in recording.scores:
        known = " (only its scores are recorded)"
    else:
        known = ""
    asked = "" if step is None else f", step {step}"
    raise ModelError(f"{recording.path}: nothing is recorded for id {name!r}{asked}{known}.")


def _judged(recording: Recording, name: str, step: int) -> Answer:
    """A recorded score as a judge of single tokens would have given it: the sign and its chance."""
    line, scores = recording.scores[name]
    if step >= len(scores):
        raise ModelError(
            f"{recording.path}, line {line}: id {name!r} has {len(scores)} scores, "
            f"and step {step} is asked about."
        )
    if not 0 <= scores[step] <= 1:
        raise ModelError(
            f"{recording.path}, line {line}: id {name!r}, step {step}: the score {scores[step]} "
            "is not a probability. Scores that judge a step are from 0 to 1."
        )
    sign = "+" if scores[step] >= _THRESHOLD else "-"
    return Answer(line, [sign], None, "stop", ModelUsage(), chance=scores[step])


def _logprobs(chance: float | None, sign: str) -> Logprobs | None:
    if chance is None:
        return None
    chances = {"+": chance, "-": 1 - chance}
    top = [TopLogprob(token=s, logprob=log(p) if p else -inf) for s, p in chances.items()]
    own = next(option.logprob for option in top if option.token == sign)
    return Logprobs(content=[Logprob(token=sign, logprob=own, top_logprobs=top)])


def _content(answer: Answer, i: int) -> str | list[Content]:
    if answer.reasoning is None:
        return answer.texts[i]
    return [ContentReasoning(reasoning=answer.reasoning[i]), ContentText(text=answer.texts[i])]
