"""The protocols: how a request is read, what is refused, and what an answer looks like.

Each rule has its source: the address of a page that says it, or the file of the vendor's own client
library (the locked version) whose docstring or type says it. Where no documentation says it, the
source is an error message of the API that public code quotes. The words of a refusal are those of
the vendor where they are known.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tests.support.openai_server import Reply
from tests.support.openai_server._wire import (
    CHAT,
    BadRequestError,
    ChatRequest,
    completion,
    tokens_in,
)
from tests.support.vendors._wire import Conversation, text_of

Body = dict[str, Any]


@dataclass(frozen=True)
class Protocol:
    """An API, as one of Inspect's providers calls it."""

    name: str
    model: str
    """The name of a model in Inspect."""
    route: re.Pattern[str]
    read: Callable[[Body], Conversation]
    """Returns the conversation; raises BadRequestError if the vendor refuses the request."""
    answer: Callable[[Conversation, Sequence[Reply]], Body]
    error: Callable[[int, str], Body]
    base: str = ""
    """The path of the address that the provider is given."""
    stream: Callable[[Body], Iterator[Body]] | None = None
    """Returns an answer as the events of a stream, if the protocol has streams."""
    options: Mapping[str, Any] = field(default_factory=dict)
    """Arguments of Inspect's provider."""


def _refuse_if(condition: object, message: str) -> None:
    if condition:
        raise BadRequestError(message)


# Chat completions: OpenAI, Mistral, Groq, vLLM and other servers


def _chat(body: Body, continues: bool = False) -> Conversation:
    messages = [(_role(one["role"]), text_of(one.get("content"))) for one in body["messages"]]
    stop = body.get("stop") or []
    return Conversation(
        messages,
        body,
        choices=body.get("n") or 1,
        seed=body.get("seed", body.get("random_seed")),
        stop=[stop] if isinstance(stop, str) else stop,
        logprobs=bool(body.get("logprobs")),
        continues=continues,
    )


def _role(role: str) -> str:
    return "system" if role == "developer" else role


def _chat_answer(conversation: Conversation, replies: Sequence[Reply]) -> Body:
    return completion(ChatRequest(0, CHAT, {}, conversation.body), replies)


def _chat_error(status: int, message: str) -> Body:
    error = {"message": message, "type": "invalid_request_error", "param": None, "code": None}
    return {"error": error}


_OPENAI_FIELDS = {
    *("messages", "model", "max_completion_tokens", "max_tokens", "temperature", "top_p", "n"),
    *("seed", "stop", "logprobs", "top_logprobs", "response_format", "stream", "store", "tools"),
    *("frequency_penalty", "presence_penalty", "reasoning_effort", "user", "logit_bias"),
    *("prompt_cache_key", "safety_identifier", "service_tier", "metadata", "tool_choice"),
}


def _openai_chat(body: Body) -> Conversation:
    # openai/types/chat/completion_create_params.py: the fields, "between 0 and 20" alternatives,
    # "up to 4 sequences". That unknown fields are refused is the API's own error message.
    for name in body.keys() - _OPENAI_FIELDS:
        raise BadRequestError(f"Unrecognized request argument supplied: {name}")
    # The same file: max_tokens is "not compatible with o-series models", `stop` is not supported
    # with them. The rest: https://developers.openai.com/api/docs/guides/reasoning
    if re.match(r"o\d", body["model"]):
        for name in ("max_tokens", "stop", "temperature", "top_p", "logprobs", "top_logprobs"):
            _refuse_if(
                body.get(name) is not None,
                f"Unsupported parameter: '{name}' is not supported with this model.",
            )
    _refuse_if((body.get("top_logprobs") or 0) > 20, "top_logprobs must be at most 20")
    _refuse_if(len(body.get("stop") or []) > 4, "at most 4 stop sequences")
    return _chat(body)


def _groq(body: Body) -> Conversation:
    # https://console.groq.com/docs/openai: a 400 for logprobs, logit_bias, top_logprobs, and n > 1
    _refuse_if((body.get("n") or 1) > 1, "'n' : number must be at most 1")
    for name in ("logprobs", "top_logprobs", "logit_bias"):
        _refuse_if(body.get(name), f"`{name}` is not supported with this model")
    return _chat(body, continues=body["messages"][-1]["role"] == "assistant")


def _mistral(body: Body) -> Conversation:
    # The conversations API, which Inspect calls by default. Its fields are in
    # mistralai/client/models/conversationrequest.py and completionargs.py.
    messages = [
        ("user" if one["role"] == "user" else "assistant", text_of(one["content"]))
        for one in body["inputs"]
    ]
    options = body.get("completion_args") or {}
    # The API's error 3230 for chat completions, which share the rule; public code quotes it.
    _refuse_if(
        messages[-1][0] != "user",
        "Expected last role User or Tool (or Assistant with prefix True) for serving but got "
        "assistant",
    )
    # completionargs.py: "white-listed arguments", of which random_seed is one, and these are none
    for name in ("seed", "n", "logprobs"):
        _refuse_if(name in options, f"Extra inputs are not permitted: {name}")
    return Conversation(
        messages,
        body,
        system=body.get("instructions") or "",
        seed=options.get("random_seed"),
        stop=options.get("stop") or [],
    )


def _mistral_answer(conversation: Conversation, replies: Sequence[Reply]) -> Body:
    [reply] = replies
    prompt, written = tokens_in(conversation.text), tokens_in(reply.text)
    output = {"object": "entry", "type": "message.output", "role": "assistant"}
    return {
        "object": "conversation.response",
        "conversation_id": "conv_1",
        "outputs": [output | {"content": reply.text}],
        "usage": {
            "prompt_tokens": prompt,
            "completion_tokens": written,
            "total_tokens": prompt + written,
        },
    }


def _mistral_error(status: int, message: str) -> Body:
    return {"object": "error", "message": message, "type": "invalid_request_error", "code": "3230"}


def _vllm(body: Body) -> Conversation:
    # https://docs.vllm.ai/en/latest/serving/openai_compatible_server
    n = body.get("n") or 1
    _refuse_if(
        n > 1 and body.get("temperature") == 0, f"n must be 1 when using greedy sampling, got {n}."
    )
    continued = bool(body.get("continue_final_message"))
    _refuse_if(
        continued and body.get("add_generation_prompt", True),
        "Cannot set both `continue_final_message` and `add_generation_prompt` to True.",
    )
    return _chat(body, continues=continued)


def _bare(body: Body) -> Conversation:
    """Read as a server with little: one choice, no logprobs, the system message first."""
    roles = [one["role"] for one in body["messages"]]
    _refuse_if("system" in roles[1:], "System message must be at the beginning.")
    _refuse_if(
        "continue_final_message" in body,
        "Unrecognized request argument supplied: continue_final_message",
    )
    return _chat({**body, "n": 1, "logprobs": None, "seed": None})


# OpenAI's Responses API


def _responses(body: Body) -> Conversation:
    # The API's error message, which public code quotes; the documentation names no minimum.
    most = body.get("max_output_tokens")
    _refuse_if(
        most is not None and most < 16,
        "Invalid 'max_output_tokens': integer below minimum value. Expected a value >= 16.",
    )
    # openai/types/responses/response_create_params.py has no n, seed and stop. Reasoning models
    # refuse the rest: https://developers.openai.com/api/docs/guides/reasoning
    for name in ("n", "seed", "stop", "temperature", "top_p", "top_logprobs"):
        _refuse_if(body.get(name) is not None, f"Unsupported parameter: '{name}'")
    _refuse_if(
        any("logprobs" in one for one in body.get("include") or []),
        "logprobs are not supported with reasoning models.",
    )
    # `input` is a text or a list. Inspect asks with a text whether reasoning may be summarised.
    items = body["input"]
    items = [{"role": "user", "content": items}] if isinstance(items, str) else items
    items = [one for one in items if one.get("type", "message") == "message"]
    messages = [(_role(one["role"]), text_of(one["content"])) for one in items]
    return Conversation(messages, body, system=body.get("instructions") or "")


def _responses_answer(conversation: Conversation, replies: Sequence[Reply]) -> Body:
    [reply] = replies
    content = [{"type": "output_text", "text": reply.text, "annotations": []}]
    message = {"type": "message", "id": "msg_1", "role": "assistant", "status": "completed"}
    prompt, written = tokens_in(conversation.text), tokens_in(reply.text)
    return {
        "id": "resp_1",
        "object": "response",
        "created_at": 0,
        "status": "completed",
        "model": conversation.body["model"],
        "output": [message | {"content": content}],
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": [],
        "usage": {
            "input_tokens": prompt,
            "input_tokens_details": {"cached_tokens": 0},
            "output_tokens": written,
            "output_tokens_details": {"reasoning_tokens": 0},
            "total_tokens": prompt + written,
        },
    }


# Anthropic's messages


def _anthropic(body: Body, prefill: bool = True) -> Conversation:
    # https://platform.claude.com/docs/en/api/messages/create, and the same text in
    # anthropic/types/message_create_params.py: max_tokens is required, `system` is on top, and
    # there is no n, seed or logprobs.
    for name in ("n", "seed", "logprobs", "top_logprobs"):
        _refuse_if(name in body, f"{name}: Extra inputs are not permitted")
    _refuse_if("max_tokens" not in body, "max_tokens: Field required")
    messages = [(one["role"], text_of(one["content"])) for one in body["messages"]]
    for role, text in messages:
        _refuse_if(
            role not in ("user", "assistant"),
            f'messages: Unexpected role "{role}". The Messages API accepts a top-level `system` '
            "parameter",
        )
        _refuse_if(not text.strip(), "messages: text content blocks must be non-empty")
    # The API's error message, which public code quotes; the documentation does not say it.
    for stop in body.get("stop_sequences") or []:
        _refuse_if(
            not stop.strip(), "stop_sequences: each stop sequence must contain non-whitespace"
        )
    # https://platform.claude.com/docs/en/api/errors#prefill-not-supported, and for white space
    # https://platform.claude.com/docs/en/build-with-claude/prompt-engineering/prefill-claudes-response
    role, text = messages[-1]
    if role == "assistant":
        _refuse_if(
            not prefill,
            "This model does not support assistant message prefill. The conversation must end "
            "with a user message.",
        )
        _refuse_if(
            text != text.rstrip(),
            "messages: final assistant content cannot end with trailing whitespace",
        )
    return Conversation(
        messages,
        body,
        system=text_of(body.get("system")),
        stop=body.get("stop_sequences") or [],
        continues=role == "assistant",
    )


def _anthropic_new(body: Body) -> Conversation:
    # https://platform.claude.com/docs/en/about-claude/models/migration-guide: no prefill since 4.6
    return _anthropic(body, prefill=False)


def _anthropic_answer(conversation: Conversation, replies: Sequence[Reply]) -> Body:
    [reply] = replies
    return {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": conversation.body["model"],
        "content": [{"type": "text", "text": reply.text}] if reply.text else [],
        "stop_reason": "end_turn",
        "stop_sequence": None,
        "usage": {
            "input_tokens": tokens_in(conversation.text),
            "output_tokens": tokens_in(reply.text),
        },
    }


def _anthropic_events(answer: Body) -> Iterator[Body]:
    """Yield the events of a streamed answer. Inspect streams long replies."""
    # https://platform.claude.com/docs/en/build-with-claude/streaming
    yield {"type": "message_start", "message": answer | {"content": [], "stop_reason": None}}
    for index, block in enumerate(answer["content"]):
        yield {
            "type": "content_block_start",
            "index": index,
            "content_block": {"type": "text", "text": ""},
        }
        delta = {"type": "text_delta", "text": block["text"]}
        yield {"type": "content_block_delta", "index": index, "delta": delta}
        yield {"type": "content_block_stop", "index": index}
    ended = {"stop_reason": answer["stop_reason"], "stop_sequence": None}
    yield {"type": "message_delta", "delta": ended, "usage": answer["usage"]}
    yield {"type": "message_stop"}


def _anthropic_error(status: int, message: str) -> Body:
    kind = "not_found_error" if status == 404 else "invalid_request_error"
    return {"type": "error", "error": {"type": kind, "message": message}}


# Google's generateContent


def _google(body: Body, most: int = 8) -> Conversation:
    # https://ai.google.dev/api/generate-content; earlier versions of the page say "up to 5" stop
    # sequences, and "between [1, 8]" candidates. That some models have one candidate, and that the
    # user has the last turn, are error messages of the API, which public code quotes.
    config = body.get("generationConfig") or {}
    messages = [
        ("assistant" if one.get("role") == "model" else "user", text_of(one["parts"]))
        for one in body["contents"]
    ]
    for one in body["contents"]:
        _refuse_if(
            one.get("role") not in ("user", "model"), "Please use a valid role: user, model."
        )
    _refuse_if(
        messages[-1][0] == "assistant",
        "Please ensure that multiturn requests ends with a user role or a function response.",
    )
    n = config.get("candidateCount") or 1
    _refuse_if(n > most, "Multiple candidates is not enabled for this model")
    _refuse_if(len(config.get("stopSequences") or []) > 5, "at most 5 stop sequences")
    return Conversation(
        messages,
        body,
        system=text_of((body.get("systemInstruction") or {}).get("parts")),
        choices=n,
        seed=config.get("seed"),
        stop=config.get("stopSequences") or [],
        logprobs=bool(config.get("responseLogprobs")),
    )


def _google_single(body: Body) -> Conversation:
    return _google(body, most=1)


def _google_answer(conversation: Conversation, replies: Sequence[Reply]) -> Body:
    chat = _chat_answer(
        Conversation(
            conversation.messages,
            {"messages": [], "logprobs": conversation.logprobs, "top_logprobs": 10},
        ),
        replies,
    )
    prompt, written = tokens_in(conversation.text), sum(tokens_in(one.text) for one in replies)
    return {
        "candidates": [
            {
                "content": {"role": "model", "parts": [{"text": choice["message"]["content"]}]},
                "finishReason": "STOP",
                "index": index,
            }
            | _google_logprobs(choice["logprobs"])
            for index, choice in enumerate(chat["choices"])
        ],
        "usageMetadata": {
            "promptTokenCount": prompt,
            "candidatesTokenCount": written,
            "totalTokenCount": prompt + written,
        },
    }


def _google_logprobs(logprobs: Body | None) -> Body:
    if not logprobs:
        return {}

    def entry(one: Body) -> Body:
        return {"token": one["token"], "tokenId": 1, "logProbability": one["logprob"]}

    content = logprobs["content"]
    return {
        "logprobsResult": {
            "chosenCandidates": [entry(one) for one in content],
            "topCandidates": [{"candidates": list(map(entry, x["top_logprobs"]))} for x in content],
        }
    }


def _google_error(status: int, message: str) -> Body:
    return {"error": {"code": status, "message": message, "status": "INVALID_ARGUMENT"}}


_CHAT_ROUTE = re.compile(r"(/openai)?/v1/chat/completions")


def _chat_like(
    name: str, model: str, read: Callable[[Body], Conversation], base: str = "/v1"
) -> Protocol:
    return Protocol(name, model, _CHAT_ROUTE, read, _chat_answer, _chat_error, base)


def _anthropic_like(name: str, model: str, read: Callable[[Body], Conversation]) -> Protocol:
    route = re.compile("/v1/messages")
    return Protocol(
        name, model, route, read, _anthropic_answer, _anthropic_error, stream=_anthropic_events
    )


def _google_like(name: str, read: Callable[[Body], Conversation]) -> Protocol:
    route = re.compile(r"/v1(beta)?/models/[^/]+:generateContent")
    return Protocol(name, "google/gemini-2.0-flash", route, read, _google_answer, _google_error)


PROTOCOLS: dict[str, Protocol] = {
    protocol.name: protocol
    for protocol in (
        _chat_like("OpenAI chat", "openai/gpt-4o-mini", _openai_chat),
        Protocol(
            "OpenAI Responses",
            "openai/o3-mini",
            re.compile("/v1/responses"),
            _responses,
            _responses_answer,
            _chat_error,
            "/v1",
        ),
        _anthropic_like("Anthropic", "anthropic/claude-3-5-haiku-latest", _anthropic),
        _anthropic_like("Anthropic, no prefill", "anthropic/claude-opus-4-8", _anthropic_new),
        _google_like("Google", _google),
        _google_like("Google, one candidate", _google_single),
        Protocol(
            "Mistral",
            "mistral/mistral-small-latest",
            re.compile("/v1/conversations"),
            _mistral,
            _mistral_answer,
            _mistral_error,
        ),
        _chat_like("Groq", "groq/llama-3.3-70b-versatile", _groq, ""),
        _chat_like("vLLM", "vllm/model", _vllm),
        _chat_like("OpenAI-compatible, vLLM", "openai-api/local/model", _vllm),
        _chat_like("OpenAI-compatible, bare", "openai-api/local/bare", _bare),
    )
}
