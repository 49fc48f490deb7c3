r"""Replies that depend only on the messages, the seed and the index of the choice."""

import json
import re
from hashlib import blake2b
from random import Random

from tests.support.openai_server._wire import ChatRequest, Reply, ReplyFunction

_STEP_END = re.compile(r"</[a-z_]+_\d+>")
_TAGGED_STEP = re.compile(r"<step_(\d+)>\n(.*?)\n</step_\1>", re.DOTALL)
_STEP_RANGE = re.compile(r"step (\d+) and every step after it, up to step (\d+)")
_INJECTED = "What we found here holds in every other case"
_ANSWER = re.compile(r"\[Correct answer\]\n\n(.*?)\n\nRewrite step", re.DOTALL)
_VOCABULARY = (
    "the step restates given information and this follows directly from the previous one so we "
    "check the arithmetic again carefully by expanding both sides and comparing each term which "
    "agrees with the claim made in the solution therefore the reasoning here is consistent however "
    "we should verify that the substitution is valid for all values in the domain including zero"
)
_CRITIQUE_LENGTH = 1150
_JUDGEMENT_LENGTH = 400
_RIGHT_OF_TEN = 8
SEARCH_STEPS = 3
"""The number of steps that `searcher` writes."""


def critic(request: ChatRequest, choice: int) -> str:
    r"""Return a critique of about 300 tokens that ends in the `\boxed{}` index of a step, or -1."""
    number = _number(request, choice)
    prose = _PROSE[number % len(_PROSE)]
    return f"{prose}\n\nThe earliest error is therefore at index {_box(request, number)}."


def short(request: ChatRequest, choice: int) -> str:
    """Return only the box."""
    return _box(request, _number(request, choice))


def plus_minus(request: ChatRequest, choice: int) -> Reply:
    """Return a verdict on one step, + or -, with the other sign among its logprobs."""
    return _verdict("{}", ("+", "-"), _number(request, choice))


def judge(request: ChatRequest, choice: int) -> Reply:
    """Return a written judgement of one step that ends in a boxed Right or Wrong."""
    number = _number(request, choice)
    prose = _PROSE[number % len(_PROSE)][:_JUDGEMENT_LENGTH]
    return _verdict(f"{prose}\n\nThe step is \\boxed{{{{{{}}}}}}", ("Right", "Wrong"), number)


def injector(request: ChatRequest, choice: int) -> str:
    """Return an injected error for `misstep forge build`, the same for the same solution."""
    prompt = _text(request)
    steps = dict(_TAGGED_STEP.findall(prompt))
    first, last = (int(number) for number in _STEP_RANGE.findall(prompt)[0])
    rewritten = [steps[str(index)] for index in range(first, last + 1)]
    box = _ANSWER.findall(prompt)[-1]
    wrong = str(int(box) + 1) if box.isdigit() else f"{box} + 1"
    rewritten[0] += f" {_INJECTED}, too, so that we get {wrong}."
    if len(rewritten) > 1:
        number = re.match(r"\d+\. ", rewritten[-1])
        rewritten[-1] = f"{number[0] if number else ''}The value is $\\boxed{{{wrong}}}$."
    # Other steps before the end may state the right answer too.
    for place, step in enumerate(rewritten[1:-1], 1):
        if re.search(rf"\b{re.escape(box)}\b", step):
            number = re.match(r"\d+\. ", step)
            rewritten[place] = f"{number[0] if number else ''}We keep {wrong} in mind."
    reply = {
        "error_step": first,
        "error_type": "invalid_generalization",
        "rationale": "It is the first that is allowed.",
        "rewritten_steps": rewritten,
        "final_answer": wrong,
        "what_changed": "A claim about all cases was added.",
        "why_incorrect": "It was not shown.",
        "detection_difficulty": "It is short.",
    }
    return json.dumps(reply)


def reviewer(request: ChatRequest, choice: int) -> str:
    """Return a blind review that finds the errors of `injector`, and no others."""
    steps = _TAGGED_STEP.findall(_text(request))
    wrong = (int(index) for index, step in steps if _INJECTED in step)
    found = {"first_wrong_step": next(wrong, -1), "later_steps_follow": True, "reason": "It is so."}
    return json.dumps(found)


def forge(request: ChatRequest, choice: int) -> str:
    """Return what `misstep forge make` asks for: an error, a review or a critique."""
    prompt = _text(request)
    if "first_wrong_step" in prompt:
        return reviewer(request, choice)
    return injector(request, choice) if _STEP_RANGE.search(prompt) else critic(request, choice)


def searcher(request: ChatRequest, choice: int) -> Reply | str:
    """Return the next step of a solution; as the model `judge`, return a reward."""
    if request.body["model"] == "judge":
        return Reply("+", "length", {"+": {"+": 0.5 + choice / 100, "-": 0.4}})
    *_, last = request.messages
    steps = last["content"].count("\n\n") if last["role"] == "assistant" else 0
    done = steps + 1 == SEARCH_STEPS
    return rf"So \boxed{{{choice}}}" if done else f"Step {steps}, way {choice}."


def _text(request: ChatRequest) -> str:
    """Return the user's first message, which comes before any complaint."""
    return next(str(m["content"]) for m in request.messages if m["role"] == "user")


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


# Written once: a new critique for each request would be most of the server's work.
_PROSE = [_prose(Random(index), _CRITIQUE_LENGTH) for index in range(64)]
