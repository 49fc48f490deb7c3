"""Reading a judge's verdict on one step."""

from dataclasses import dataclass

from inspect_ai.model import ChatCompletionChoice

from misstep.boxes import boxed_words
from misstep.registry import Judge
from misstep.rewards._verdict_logprobs import MissingProbability, right_probability
from misstep.verdicts import Unread


@dataclass(frozen=True)
class StepVerdict:
    """What a judge said of a step."""

    right: bool | Unread
    probability: float | None = None
    """How probable the judge held the step to be right, where the provider gave logprobs."""
    missing: MissingProbability | None = None
    """Why there is no probability of a verdict that was read."""


def read_step_verdict(choice: ChatCompletionChoice, judge: Judge) -> StepVerdict:
    """The verdict in a judge's reply; an unreadable one is never a verdict."""
    text = choice.message.text
    if choice.stop_reason == "content_filter":
        return StepVerdict(Unread.REFUSED)
    if choice.stop_reason == "model_length":
        # Where the prompt is too long, providers give the error as the text.
        return StepVerdict(Unread.TRUNCATED)
    if not text.strip():
        return StepVerdict(Unread.EMPTY)
    if judge.reply == "token":
        right, word = text.strip().lower().startswith(tuple(judge.right)), text.strip()[:1]
    elif choice.stop_reason == "max_tokens":
        return StepVerdict(Unread.TRUNCATED)
    else:
        found = _last_verdict(text, judge)
        if found is None:
            return StepVerdict(Unread.NO_BOX)
        right, word = found
    tokens = choice.logprobs.content if choice.logprobs else []
    probability = right_probability(tokens, word, judge.right, judge.wrong)
    if isinstance(probability, MissingProbability):
        return StepVerdict(right, missing=probability)
    return StepVerdict(right, probability)


def _last_verdict(text: str, judge: Judge) -> tuple[bool, str] | None:
    """Whether the last verdict in a text is a right one, and its word; None where there is none."""
    found: tuple[bool, str] | None = None
    for word in boxed_words(text, bracketed=("right", "wrong")):
        plain = word.rstrip(".,!").lower()
        if plain in judge.right or plain in judge.wrong:
            found = plain in judge.right, word
    return found
