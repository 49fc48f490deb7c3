r"""Replies that are a function of the messages, the seed and the choice's index."""

import re
from hashlib import blake2b
from random import Random

from benchmarks.openai_server._wire import ChatRequest, Reply, ReplyFunction

_STEP_END = re.compile(r"</[a-z_]+_\d+>")
_VOCABULARY = (
    "the step restates given information and this follows directly from the previous one so we "
    "check the arithmetic again carefully by expanding both sides and comparing each term which "
    "agrees with the claim made in the solution therefore the reasoning here is consistent however "
    "we should verify that the substitution is valid for all values in the domain including zero"
)
_CRITIQUE_LENGTH = 1150
_JUDGEMENT_LENGTH = 400
_RIGHT_OF_TEN = 8


def critic(request: ChatRequest, choice: int) -> str:
    r"""A critique of about 300 tokens that ends in the `\boxed{}` index of a step, or -1."""
    number = _number(request, choice)
    prose = _PROSE[number % len(_PROSE)]
    return f"{prose}\n\nThe earliest error is therefore at index {_box(request, number)}."


def short(request: ChatRequest, choice: int) -> str:
    """Only the box."""
    return _box(request, _number(request, choice))


def plus_minus(request: ChatRequest, choice: int) -> Reply:
    """The verdict on one step, + or -, with the other among its logprobs."""
    return _verdict("{}", ("+", "-"), _number(request, choice))


def judge(request: ChatRequest, choice: int) -> Reply:
    """A written judgement of one step, boxed Right or Wrong."""
    number = _number(request, choice)
    prose = _PROSE[number % len(_PROSE)][:_JUDGEMENT_LENGTH]
    return _verdict(f"{prose}\n\nThe step is \\boxed{{{{{{}}}}}}", ("Right", "Wrong"), number)


REPLIES: dict[str, ReplyFunction] = {
    "critic": critic,
    "short": short,
    "plus_minus": plus_minus,
    "judge": judge,
}


def _number(request: ChatRequest, choice: int) -> int:
    digest = blake2b(request.key, digest_size=8, salt=choice.to_bytes(8))
    return int.from_bytes(digest.digest())


def _box(request: ChatRequest, number: int) -> str:
    steps = len(_STEP_END.findall(request.text)) or 1
    return rf"\boxed{{{(number >> 8) % (steps + 1) - 1}}}"


def _verdict(text: str, words: tuple[str, str], number: int) -> Reply:
    right = (number >> 8) % 10 < _RIGHT_OF_TEN
    word, other = words if right else reversed(words)
    sure = 0.55 + (number >> 16) % 40 / 100
    return Reply(text.format(word), chances={word: {word: sure, other: 0.99 - sure}})


def _prose(generator: Random, length: int) -> str:
    words = _VOCABULARY.split()
    text = ""
    while len(text) < length:
        sentence = " ".join(generator.choices(words, k=generator.randint(9, 17)))
        a, b = generator.randint(2, 99), generator.randint(2, 999)
        text += f"{sentence.capitalize()}, so that ${a}x = {b}$. "
    return text.strip()


# Made once: writing a critique anew for each request would be most of the server's work.
_PROSE = [_prose(Random(index), _CRITIQUE_LENGTH) for index in range(64)]
