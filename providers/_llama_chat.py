"""Translate Inspect's messages and settings into llama.cpp's requests, and its replies back."""

import secrets
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from inspect_ai.model import (
    ChatMessage,
    GenerateConfig,
    Logprobs,
    ModelOutput,
    ModelUsage,
    StopReason,
)
from inspect_ai.tool import ToolInfo

from misstep.providers._provider import choice
from misstep.registry import ModelError, did_you_mean

# The sampling that Inspect's settings describe. llama.cpp's own defaults would cut the distribution
# (top_k 40, top_p 0.95, min_p 0.05).
_PLAIN_SAMPLING = {"temperature": 1.0, "top_p": 1.0, "top_k": 0, "min_p": 0.0}
_SAME_NAME = ("temperature", "top_p", "top_k", "frequency_penalty", "presence_penalty")
_SEEDS = 2**31


@dataclass
class LlamaChoice:
    """One sampled answer."""

    text: str = ""
    reasoning: str = ""
    logprobs: list[dict[str, Any]] = field(default_factory=list)
    finish_reason: str = ""
    tokens: int = 0


@dataclass(frozen=True)
class LlamaReply:
    """The answers to one request, in the order of their seeds."""

    choices: list[LlamaChoice]
    prompt_tokens: int
    cached_tokens: int


class RefusedError(Exception):
    """llama.cpp did not answer a request."""

    def __init__(self, error: dict[str, Any]) -> None:
        super().__init__(str(error.get("message", error)))
        self.error = error


def request_body(
    messages: Sequence[ChatMessage],
    tools: Sequence[ToolInfo],
    config: GenerateConfig,
    max_tokens: int,
    ctx: int,
) -> dict[str, Any]:
    """Return the request for one choice, in the format of llama.cpp's chat completions."""
    if tools:
        raise ModelError(
            f"Embedded models do not call tools, and the task has {len(tools)} "
            f"({', '.join(tool.name for tool in tools)}). Use a task without tools."
        )
    body: dict[str, Any] = {
        "messages": [{"role": message.role, "content": _text(message)} for message in messages],
        "max_tokens": max_tokens,
        # The log has the seed, so a run without a seed can be repeated too.
        "seed": secrets.randbelow(_SEEDS) if config.seed is None else config.seed % _SEEDS,
        **_PLAIN_SAMPLING,
        **{name: value for name in _SAME_NAME if (value := getattr(config, name)) is not None},
    }
    if config.frequency_penalty or config.presence_penalty:
        body["repeat_last_n"] = ctx  # by default llama.cpp looks back 64 tokens only
    if config.stop_seqs:
        body["stop"] = config.stop_seqs
    if config.logit_bias:
        body["logit_bias"] = {str(token): bias for token, bias in config.logit_bias.items()}
    if config.logprobs:
        body["logprobs"] = True
        body["top_logprobs"] = config.top_logprobs or 1  # with 0 llama.cpp gives no logprobs
    return body | _constraint(config)


def read_reply(chunks: list[dict[str, Any]]) -> LlamaReply:
    """Join the streamed chunks of one request, or raise RefusedError if an answer is missing."""
    choices: dict[int, LlamaChoice] = {}
    timings: dict[str, Any] = {}
    for chunk in chunks:
        if "error" in chunk:
            raise RefusedError(chunk["error"])
        for part in chunk["choices"]:
            answer = choices.setdefault(part["index"], LlamaChoice())
            answer.text += part["delta"].get("content") or ""
            answer.reasoning += part["delta"].get("reasoning_content") or ""
            answer.logprobs += (part.get("logprobs") or {}).get("content") or []
            answer.finish_reason = part["finish_reason"] or ""
            if answer.finish_reason:
                timings = chunk["timings"]
                answer.tokens = timings["predicted_n"]
    if not choices or not all(answer.finish_reason for answer in choices.values()):
        raise RefusedError({"message": "the answer ended early"})
    return LlamaReply(
        choices=[choices[index] for index in sorted(choices)],
        prompt_tokens=timings["prompt_n"],
        cached_tokens=timings["cache_n"],
    )


def model_output(
    model: str, reply: LlamaReply, config: GenerateConfig, max_tokens: int
) -> ModelOutput:
    """Return Inspect's output for a reply. The usage covers all choices."""
    output_tokens = sum(answer.tokens for answer in reply.choices)
    return ModelOutput(
        model=model,
        choices=[
            choice(
                model,
                answer.text,
                answer.reasoning or None,
                _stop_reason(answer, max_tokens),
                _logprobs(answer, config.top_logprobs or 0) if answer.logprobs else None,
            )
            for answer in reply.choices
        ],
        usage=ModelUsage(
            input_tokens=reply.prompt_tokens,
            input_tokens_cache_read=reply.cached_tokens or None,
            output_tokens=output_tokens,
            total_tokens=reply.prompt_tokens + reply.cached_tokens + output_tokens,
        ),
    )


def _text(message: ChatMessage) -> str:
    if message.role == "tool":
        raise ModelError("Embedded models do not call tools, and a message holds a tool's answer.")
    for part in message.content if isinstance(message.content, list) else []:
        if part.type not in ("text", "reasoning"):
            raise ModelError(f"Embedded models read text only, and a message holds {part.type!r}.")
    return message.text


def _constraint(config: GenerateConfig) -> dict[str, Any]:
    """Return the part of a request that constrains the answer: a JSON schema or a grammar."""
    extra = config.extra_body or {}
    for name in extra.keys() - {"grammar"}:
        raise ModelError(f"Unknown key {name!r} in extra_body.{did_you_mean(name, ['grammar'])}")
    if config.response_schema is None:
        return dict(extra)
    if extra:
        raise ModelError(
            "A response_schema and a grammar exclude each other: llama.cpp would use the schema "
            "only. Give one of them."
        )
    schema = config.response_schema
    described = {"name": schema.name, "schema": schema.json_schema.model_dump(exclude_none=True)}
    return {"response_format": {"type": "json_schema", "json_schema": described}}


def _stop_reason(answer: LlamaChoice, max_tokens: int) -> StopReason:
    if answer.finish_reason != "length":
        return "stop"
    # llama.cpp says "length" for max_tokens and for the end of the context.
    return "max_tokens" if answer.tokens >= max_tokens else "model_length"


def _logprobs(answer: LlamaChoice, top: int) -> Logprobs:
    entries = [
        {**entry, "top_logprobs": entry["top_logprobs"][:top] or None} for entry in answer.logprobs
    ]
    return Logprobs.model_validate({"content": entries})
