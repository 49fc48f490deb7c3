"""vLLM's routes for reward models: /pooling, /classify and /tokenize."""

import re
from collections.abc import Callable
from typing import Any, TypeAlias
from zlib import crc32

from tests.support.openai_server._wire import BadRequestError, ChatRequest, tokens_in

POOLING = ("/pooling", "/classify", "/tokenize")

PoolingFunction: TypeAlias = Callable[[str | list[int]], Any]
"""Scores one input: a result for each step's token, or for each token, or, to be classified, the
probabilities of the labels."""

_PIECE = re.compile(r"\n|[^\S\n]?[^\s]+|[^\S\n]+")


def pooled(request: ChatRequest, score: PoolingFunction | None) -> dict[str, Any]:
    """Return the body of an answer.

    Raises:
        BadRequestError: There is no input, or no function that scores it.
    """
    if request.path == "/tokenize":
        tokens = tokenize(str(request.body["prompt"]))
        return {"count": len(tokens), "max_model_len": 8192, "tokens": tokens}
    given = request.body.get("input")
    if not given or score is None:
        raise BadRequestError(
            "there is no input" if score else "the model does not support pooling"
        )
    # A list of numbers is one input as tokens; a list of texts is several.
    inputs = given if isinstance(given, list) and isinstance(given[0], str) else [given]
    shape = _classified if request.path == "/classify" else _pooled
    data = [shape(index, score(one)) for index, one in enumerate(inputs)]
    used = sum(len(one) if isinstance(one, list) else tokens_in(one) for one in inputs)
    usage = {"prompt_tokens": used, "total_tokens": used, "completion_tokens": 0}
    model = request.body.get("model", "")
    return {"id": f"pool-{request.number}", "object": "list", "model": model} | {
        "data": data,
        "usage": usage,
    }


def tokenize(text: str) -> list[int]:
    """Return a token for each word and line break; equal pieces have equal tokens."""
    return [crc32(piece.encode()) % 50_000 for piece in _PIECE.findall(text)]


def _pooled(index: int, results: object) -> dict[str, Any]:
    return {"index": index, "object": "pooling", "data": results}


def _classified(index: int, probs: Any) -> dict[str, Any]:
    label = max(range(len(probs)), key=probs.__getitem__)
    return {"index": index, "label": str(label), "probs": probs, "num_classes": len(probs)}


def confident(text: str | list[int]) -> list[list[float]]:
    """Return a reward of 0.9 for every step that ends in Qwen's step token."""
    return [[0.1, 0.9]] * str(text).count("<extra_0>")
