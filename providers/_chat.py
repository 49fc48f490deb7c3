"""From Inspect's messages and settings to a request for llama.cpp, and from its reply back."""

import secrets
from collections.abc import Sequence
from typing import Any

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
    ModelOutput,
    ModelUsage,
    StopReason,
    TopLogprob,
)
from inspect_ai.tool import ToolInfo

from misstep.providers._reply import Choice, Reply
from misstep.registry import ModelError, did_you_mean

# Sampling as the settings say and nothing else: llama.cpp's own defaults would cut the
# distribution (top_k 40, top_p 0.95, min_p 0.05) where nobody asked for it.
_PLAIN_SAMPLING = {"temperature": 1.0, "top_p": 1.0, "top_k": 0, "min_p": 0.0}
_SAME_NAME = ("temperature", "top_p", "top_k", "frequency_penalty", "presence_penalty")
_EXTRA = ("grammar",)
_SEEDS = 2**31


def request_body(
    input: Sequence[ChatMessage],
    tools: Sequence[ToolInfo],
    config: GenerateConfig,
    max_tokens: int,
    ctx: int,
) -> dict[str, Any]:
    """The request for one choice, in the form of llama.cpp's chat completions.

    Raises:
        ModelError: Something is asked for that an embedded model cannot do.
    """
    if tools:
        raise ModelError(
            f"Embedded models do not call tools, and {len(tools)} were given "
            f"({', '.join(tool.name for tool in tools)}). Use a task without tools."
        )
    body: dict[str, Any] = {
        "messages": [{"role": message.role, "content": _text(message)} for message in input],
        "max_tokens": max_tokens,
        # A drawn seed stands in the log, so that the run can be repeated all the same.
        "seed": secrets.randbelow(_SEEDS) if config.seed is None else config.seed % _SEEDS,
        **_PLAIN_SAMPLING,
        **{name: value for name in _SAME_NAME if (value := getattr(config, name)) is not None},
    }
    if config.frequency_penalty or config.presence_penalty:
        body["repeat_last_n"] = ctx  # else the penalties forget what is 64 tokens back
    if config.stop_seqs:
        body["stop"] = config.stop_seqs
    if config.logit_bias:
        body["logit_bias"] = {str(token): bias for token, bias in config.logit_bias.items()}
    if config.logprobs:
        body["logprobs"] = True
        body["top_logprobs"] = config.top_logprobs or 1  # with 0 llama.cpp gives none at all
    body.update(_constraint(config))
    return body


def model_output(model: str, reply: Reply, config: GenerateConfig, max_tokens: int) -> ModelOutput:
    """The reply as Inspect's output; the usage covers all choices."""
    written = sum(choice.tokens for choice in reply.choices)
    return ModelOutput(
        model=model,
        choices=[_choice(model, choice, config, max_tokens) for choice in reply.choices],
        usage=ModelUsage(
            input_tokens=reply.prompt_tokens,
            input_tokens_cache_read=reply.cached_tokens or None,
            output_tokens=written,
            total_tokens=reply.prompt_tokens + reply.cached_tokens + written,
        ),
    )


def too_long_output(model: str, n: int, error: str) -> ModelOutput:
    """What is answered to a prompt that does not fit the context: nothing, `n` times.

    The reason is not given as text, where a reader of verdicts could take its numbers for one.
    """
    return ModelOutput(
        model=model,
        choices=[
            ChatCompletionChoice(
                message=ChatMessageAssistant(content="", model=model, source="generate"),
                stop_reason="model_length",
            )
            for _ in range(n)
        ],
        usage=ModelUsage(),
        error=error,
    )


def _text(message: ChatMessage) -> str:
    if message.role == "tool":
        raise ModelError(
            "Embedded models do not call tools, and the conversation holds a tool's answer."
        )
    if isinstance(message.content, list):
        for part in message.content:
            if part.type not in ("text", "reasoning"):
                raise ModelError(f"Embedded models read text only, and were given {part.type!r}.")
    return message.text


def _constraint(config: GenerateConfig) -> dict[str, Any]:
    extra = config.extra_body or {}
    for name in extra:
        if name not in _EXTRA:
            raise ModelError(f"Unknown key {name!r} in extra_body.{did_you_mean(name, _EXTRA)}")
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


def _choice(
    model: str, choice: Choice, config: GenerateConfig, max_tokens: int
) -> ChatCompletionChoice:
    content: str | list[Content] = choice.text
    if choice.reasoning:
        content = [ContentReasoning(reasoning=choice.reasoning), ContentText(text=choice.text)]
    return ChatCompletionChoice(
        message=ChatMessageAssistant(content=content, model=model, source="generate"),
        stop_reason=_stop_reason(choice, max_tokens),
        logprobs=_logprobs(choice, config.top_logprobs or 0) if config.logprobs else None,
    )


def _stop_reason(choice: Choice, max_tokens: int) -> StopReason:
    if choice.finish != "length":
        return "stop"
    # llama.cpp has one word for both: the tokens asked for, and the end of the context.
    return "max_tokens" if choice.tokens >= max_tokens else "model_length"


def _logprobs(choice: Choice, top: int) -> Logprobs:
    return Logprobs(
        content=[
            Logprob(
                token=entry["token"],
                logprob=entry["logprob"],
                bytes=entry["bytes"],
                top_logprobs=[
                    TopLogprob(token=other["token"], logprob=other["logprob"], bytes=other["bytes"])
                    for other in entry["top_logprobs"][:top]
                ]
                or None,
            )
            for entry in choice.logprobs
        ]
    )
