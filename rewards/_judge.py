"""Ask a judge about one step, and read its verdict and the probability of the verdict."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import accumulate
from math import exp, isnan

from inspect_ai.model import (
    ChatCompletionChoice,
    ChatMessage,
    ChatMessageAssistant,
    ChatMessageSystem,
    ChatMessageUser,
    Logprob,
)

from misstep.boxes import boxed_words
from misstep.loaders import published_wording
from misstep.registry import Judge, MisstepError, Wording, fill, find_judge
from misstep.verdicts import Unread

_BRACKETED = ("right", "wrong")
"""Verdicts that also count in square or angle brackets, and at the end of a reply."""


class MissingProbability(StrEnum):
    """Why a verdict has no probability."""

    NO_LOGPROBS = "the model gave no logprobs; use a provider that gives them"
    NO_ALTERNATIVES = "the model gave no alternatives to the verdict's token (top_logprobs)"
    NO_TOKEN = "the tokens do not contain the verdict"  # noqa: S105
    NO_WORD = "no token at the verdict's position begins exactly one of the verdict words"
    NOT_A_NUMBER = "the logprobs at the verdict's position are not numbers"


@dataclass(frozen=True)
class StepVerdict:
    """The verdict of a judge on one step."""

    right: bool | Unread
    probability: float | None = None
    """The probability that the judge calls the step right, if the provider gives logprobs."""
    missing: MissingProbability | None = None
    """Why a verdict that was read has no probability."""


def worded_judge(style: str, wording: Wording = "own") -> Judge:
    """Return how a judge is asked; the published wording is that of GroundedPRM."""
    judge = find_judge(style)
    if wording == "own":
        return judge
    if style != "written":
        raise MisstepError(
            f"wording={wording}: style={style} has no published wording to read. Only "
            "style=written has: that of GroundedPRM's judge."
        )
    words = published_wording("groundedprm")
    texts = {"system": words.text("system"), "first": "{problem}\n\n{step}", "next": "{step}"}
    return judge.model_copy(
        update=texts | {"history": words.template("history").fill(sign=judge.right[1])}
    )


def judge_messages(
    judge: Judge, problem: str, steps: Sequence[str], step: int
) -> list[ChatMessage]:
    """Return the messages that ask a judge about a step."""
    messages: list[ChatMessage] = []
    if judge.system:
        messages.append(ChatMessageSystem(content=judge.system))
    begin = 0 if judge.next is not None else step
    for i in range(begin, step + 1):
        template = judge.first if i == begin else (judge.next or "")
        previous = "\n\n".join(steps[:i]) or "(none yet)"
        values = {"{problem}": problem, "{step}": steps[i], "{previous}": previous}
        messages.append(ChatMessageUser(content=fill(template, values)))
        if i < step:
            messages.append(ChatMessageAssistant(content=judge.history or ""))
    return messages


def read_step_verdict(choice: ChatCompletionChoice, judge: Judge) -> StepVerdict:
    """Read the verdict in a judge's reply.

    An unreadable reply never becomes a verdict, unless the judge's `other_replies` says so.
    """
    if judge.reply == "token":
        return _read_sign(choice, judge)
    text = choice.message.text
    if choice.stop_reason == "content_filter":
        return StepVerdict(Unread.REFUSED)
    if choice.stop_reason == "model_length":
        # If the prompt is too long, some providers return the error message as the text.
        return StepVerdict(Unread.TRUNCATED)
    if not text.strip():
        return StepVerdict(Unread.EMPTY)
    if choice.stop_reason == "max_tokens":
        return StepVerdict(Unread.TRUNCATED)
    boxed = [(word.rstrip(".,!").lower(), word) for word in boxed_words(text, _BRACKETED)]
    verdicts = [pair for pair in boxed if pair[0] in [*judge.right, *judge.wrong]]
    if not verdicts and (word := _last_word(text)).lower() in _BRACKETED:
        verdicts = [(word.lower(), word)]
    if not verdicts:
        return StepVerdict(Unread.NO_BOX)
    plain, word = verdicts[-1]
    return _with_probability(plain in judge.right, _tokens(choice), word, judge)


def _last_word(text: str) -> str:
    """Return the word that stands alone in the last line, or after a colon: `Verdict: Right`."""
    last = text.strip().rpartition("\n")[2]
    return last.rpartition(":")[2].strip(" \t*_`#>.!")


def _read_sign(choice: ChatCompletionChoice, judge: Judge) -> StepVerdict:
    """Read a verdict of one token. Its probability is known even if another token was drawn."""
    text = choice.message.text
    sign = text.strip().lower()
    right: bool | Unread = sign.startswith(tuple(judge.right))
    if not right and judge.other_replies == "unread":
        if choice.stop_reason == "content_filter":
            return StepVerdict(Unread.REFUSED)
        if choice.stop_reason == "model_length":
            return StepVerdict(Unread.TRUNCATED)
        if not sign.startswith(tuple(judge.wrong)):
            right = Unread.NO_SIGN if sign else Unread.EMPTY
    tokens = _tokens(choice)
    first = next((token for token in tokens if token.token.strip()), None)
    kept = [first] if first else tokens[:1]
    return _with_probability(right, kept, kept[0].token if kept else "", judge)


def _tokens(choice: ChatCompletionChoice) -> Sequence[Logprob]:
    return choice.logprobs.content if choice.logprobs else []


def _with_probability(
    right: bool | Unread, tokens: Sequence[Logprob], word: str, judge: Judge
) -> StepVerdict:
    """Return a verdict with its probability at the token where its word begins."""
    probability = right_probability(tokens, word, judge.right, judge.wrong)
    if isinstance(probability, MissingProbability):
        return StepVerdict(right, missing=probability)
    return StepVerdict(right, probability)


def right_probability(
    tokens: Sequence[Logprob], verdict: str, right: Sequence[str], wrong: Sequence[str]
) -> float | MissingProbability:
    """Return P(right) / (P(right) + P(wrong)) at the token where the verdict begins.

    `verdict` is the word as written in the reply, and its last occurrence counts. A word may be
    several tokens, so a token counts for the word that it begins. If the alternatives contain only
    one of the two verdicts, the least probable alternative is the bound for the other.
    """
    if not tokens:
        return MissingProbability.NO_LOGPROBS
    token = _token_at_last(tokens, verdict)
    if token is None:
        return MissingProbability.NO_TOKEN
    logprobs = {token.token: token.logprob}
    logprobs |= {option.token: option.logprob for option in token.top_logprobs or []}
    if any(isnan(logprob) for logprob in logprobs.values()):
        return MissingProbability.NOT_A_NUMBER
    if len(logprobs) < 2:
        return MissingProbability.NO_ALTERNATIVES
    least = exp(min(logprobs.values()))
    by_verdict: dict[bool | None, list[float]] = {}
    for option, logprob in logprobs.items():
        side = _begun_verdict(option, right, wrong, drawn=option == token.token)
        by_verdict.setdefault(side, []).append(exp(logprob))
    p_right, p_wrong = (sum(by_verdict.get(side, [least])) for side in (True, False))
    if not {True, False} & by_verdict.keys() or p_right + p_wrong == 0:
        return MissingProbability.NO_WORD
    return p_right / (p_right + p_wrong)


def _token_at_last(tokens: Sequence[Logprob], verdict: str) -> Logprob | None:
    """Return the token in which the last occurrence of the verdict begins."""
    start = "".join(token.token for token in tokens).rfind(verdict)
    ends = accumulate(len(token.token) for token in tokens)
    following = (token for token, end in zip(tokens, ends, strict=True) if end > start >= 0)
    return next(following, None)


def _begun_verdict(
    token: str, right: Sequence[str], wrong: Sequence[str], drawn: bool
) -> bool | None:
    """Return the verdict that a token begins: True for right. None: neither, or both.

    A single letter begins a longer word only if it was drawn: the reply shows which word it begins.
    As an alternative it may begin any other word.
    """
    start = token.strip().strip("{[<").lower()
    if not start:
        return None
    if len(start) == 1 and not drawn:
        right, wrong = ([word for word in words if len(word) == 1] for words in (right, wrong))
    begins = [any(word.startswith(start) for word in words) for words in (right, wrong)]
    return None if begins[0] == begins[1] else begins[0]
