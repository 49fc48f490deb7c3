"""What a sample of given reasoning takes, estimated before a run."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from inspect_ai.model import ModelOutput

from misstep.registry import CHARACTERS_PER_TOKEN, find_continuation
from misstep.scorers import VARIATIONS
from misstep.solvers._conversations import ContinuationOptions, conversation
from misstep.solvers._turns import Call, TurnPlan

REASONING_TOKENS = 200
"""What a model is taken to write where it reasons; one that reasons at length writes far more."""
ANSWER_TOKENS = 20
"""The same where it answers."""


@dataclass(frozen=True)
class TokenUse:
    """The calls of a sample, and their tokens."""

    calls: int
    prompt_tokens: int
    completion_tokens: int


def continuation_tokens(
    question: str,
    metadata: Mapping[str, Any],
    options: ContinuationOptions | None = None,
    prompts: str = "error_recovery",
    reasoning_tokens: int = REASONING_TOKENS,
    answer_tokens: int = ANSWER_TOKENS,
) -> TokenUse:
    """Estimate what a sample takes, by holding its conversations with nobody.

    Args:
        question: The sample's input.
        metadata: The sample's: `task`, `correct_steps` and `incorrect_step`.
        options: What the user chose.
        prompts: A name in `registry/continuations.yaml`.
        reasoning_tokens: How much the model writes where it reasons.
        answer_tokens: How much it writes where it answers.
    """
    words, chosen = find_continuation(prompts), options or ContinuationOptions()
    reply = ModelOutput.from_content("none", "x" * CHARACTERS_PER_TOKEN * reasoning_tokens)
    calls = prompt = completion = 0
    for variation in VARIATIONS:
        plan = TurnPlan("new_turn")
        talk = conversation(words, question, metadata, variation, chosen, plan)
        reasoned = 2 if chosen.notice_in(variation) == "end" else 1
        # The messages grow from call to call, so each is measured when it is made.
        prompts_of = [_tokens(next(talk))]
        prompts_of += [_tokens(talk.send(reply)) for _ in range(reasoned)]
        calls, prompt = calls + len(prompts_of), prompt + sum(prompts_of)
        completion += reasoned * reasoning_tokens + answer_tokens
    return TokenUse(calls, prompt, completion)


def _tokens(call: Call) -> int:
    return -(-sum(len(message.text) for message in call.messages) // CHARACTERS_PER_TOKEN)
