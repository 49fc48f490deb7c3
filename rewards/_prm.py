"""The provider `prm/…`: discriminative process reward models behind vLLM's pooling routes."""

import json
import os
import time
from collections.abc import Callable
from typing import Any

import httpx
from inspect_ai.model import ChatMessage, GenerateConfig, ModelAPI, ModelCall, ModelOutput
from inspect_ai.tool import ToolChoice, ToolInfo

from misstep._inspect_private import RetryDecision, classify_http_retry
from misstep.providers._connections import Connections, waits
from misstep.providers._step_scores import asked_steps, scored_output, unscored_output
from misstep.registry import ModelError, Prm, did_you_mean, find_prm
from misstep.rewards._prm_input import BOS, prm_input, prm_pieces, reward_of

_BASE_URL = "MISSTEP_PRM_BASE_URL"
_ARGUMENTS = ("served", "bos", "route", "returns", "step_token", "values")
_MOST = 2000
"""Characters of a server's answer that the log and messages quote."""


class PrmAPI(ModelAPI):
    """A process reward model of the registry: `prm/qwen2.5-math-prm-7b`.

    The server is `base_url`, else `MISSTEP_PRM_BASE_URL`. Model arguments (`-M name=value`):
    `served`, the name under which the server has it; `bos`, the text that begins its input where
    the template asks for one; `route`, `returns`, `step_token` and `values` in place of the
    registry's.
    """

    def __init__(
        self,
        model_name: str,
        base_url: str | None = None,
        api_key: str | None = None,
        config: GenerateConfig = GenerateConfig(),  # noqa: B008 - the signature of every provider
        **model_args: object,
    ) -> None:
        super().__init__(model_name, base_url, api_key, [], config)
        self.prm = prm_of(model_name, model_args)
        self.served = str(model_args.get("served") or self.prm.repository)
        self.bos = str(model_args.get("bos") or "")
        if BOS in str(self.prm.template) and not self.bos:
            raise ModelError(
                f"prm/{model_name}: its input begins with its tokenizer's BOS token. "
                "Give the token's text: -M bos=…"
            )
        url = base_url or os.environ.get(_BASE_URL)
        if not url:
            raise ModelError(
                f"prm/{model_name}: no server is named. Give its address, such as "
                f"--model-base-url http://localhost:8000, or set {_BASE_URL}."
            )
        self.url = url.rstrip("/").removesuffix("/v1")
        self.headers = {"Authorization": f"Bearer {api_key}"} if api_key else {}
        self._connections = Connections(self.url)

    @property
    def scores_steps(self) -> bool:
        """It does nothing else."""
        return True

    async def generate(
        self,
        input: list[ChatMessage],
        tools: list[ToolInfo],
        tool_choice: ToolChoice,
        config: GenerateConfig,
    ) -> ModelOutput | tuple[ModelOutput | Exception, ModelCall]:
        """Score the steps of a solution by one request."""
        problem, steps = asked_steps(f"prm/{self.model_name}", input)
        body: dict[str, Any] = {"model": self.served}
        places: list[int] | None = None
        if self.prm.returns == "tokens":
            body["input"], places = await self._tokens(problem, steps)
        elif self.prm.returns == "input":
            ends = range(1, len(steps) + 1)
            body["input"] = [prm_input(self.prm, problem, steps[:end], self.bos) for end in ends]
        else:
            body["input"] = prm_input(self.prm, problem, steps, self.bos)
        call = ModelCall.create(body, None)
        started = time.monotonic()
        response = await self._post(str(self.prm.route), body)
        if response.status_code == 400:
            call.set_error({"error": response.text[:_MOST]}, time.monotonic() - started)
            return unscored_output(self.model_name, f"the server refused: {_said(response)}"), call
        response.raise_for_status()
        answer = _json(response)
        call.set_response(answer, time.monotonic() - started)
        return self._read(answer, len(steps), places), call

    def _read(self, answer: dict[str, Any], steps: int, places: list[int] | None) -> ModelOutput:
        tokens = (answer.get("usage") or {}).get("prompt_tokens") or 0
        results = _results(answer, self.prm)
        if places is not None and results and len(results) > max(places):
            results = [results[place] for place in places]
        if results is None or len(results) != steps:
            found = "no list of results" if results is None else f"{len(results)} rewards"
            return unscored_output(
                self.model_name,
                f"{found} for {steps} steps; check step_token ({self.prm.step_token!r}), returns "
                f"({self.prm.returns!r}) and the server's pooler settings",
                tokens,
            )
        known = self.prm.values == "probabilities"
        rewards = [reward_of(self.prm, values, known) for values in results]
        return scored_output(self.model_name, rewards, tokens)

    async def _tokens(self, problem: str, steps: list[str]) -> tuple[list[int], list[int]]:
        """The input as tokens, and the places of the tokens that end the steps.

        Each piece is tokenized by itself, as the model was trained.
        """
        end = (await self._tokenized(str(self.prm.step_token)))[-1]
        pieces = prm_pieces(self.prm, problem, steps, self.bos)
        tokens = await self._tokenized(pieces[0])
        places = []
        for piece in pieces[1:]:
            tokens += [*await self._tokenized(piece), end]
            places.append(len(tokens) - 1)
        return tokens, places

    async def _tokenized(self, text: str) -> list[int]:
        body = {"model": self.served, "prompt": text, "add_special_tokens": False}
        response = await self._post("/tokenize", body)
        response.raise_for_status()
        return list(_json(response)["tokens"])

    async def _post(self, route: str, body: dict[str, Any]) -> httpx.Response:
        return await self._connections.post(f"{self.url}{route}", body, self.headers)

    def should_retry(self, ex: Exception) -> bool | RetryDecision:
        """As Inspect retries any HTTP call."""
        return classify_http_retry(ex)

    def retry_wait(self) -> Callable[..., float]:
        """How long to wait before a call is made again."""
        return waits(self.should_retry)

    async def aclose(self) -> None:
        """Close the connections."""
        await self._connections.aclose()


def prm_of(name: str, arguments: dict[str, object]) -> Prm:
    """The facts of a reward model, with some of them replaced.

    Raises:
        ModelError: It judges as a chat model, or an argument is unknown or not allowed.
        UnknownNameError: No such model.
    """
    prm = find_prm(name)
    if prm.way == "judge":
        raise ModelError(
            f"prm/{name}: it is a chat model that judges step by step. Serve it and run "
            f"--model vllm/{prm.repository} -T critic=reward -T style={prm.style}."
        )
    for argument in arguments:
        if argument not in _ARGUMENTS:
            raise ModelError(
                f"Unknown model argument {argument!r}.{did_you_mean(argument, _ARGUMENTS)}"
            )
    own = {key: value for key, value in arguments.items() if key in Prm.model_fields}
    if "step_token" in own:
        own["step"] = str(prm.step).replace(str(prm.step_token), str(own["step_token"]))
    try:
        return Prm.model_validate(prm.model_dump() | own)
    except ValueError as problem:
        reason = " ".join(str(problem).split())
        raise ModelError(f"prm/{name}: {reason}") from None


def _results(answer: dict[str, Any], prm: Prm) -> list[object] | None:
    """A result for each step, or for each token; None where the answer is of another shape."""
    data = answer.get("data")
    if not isinstance(data, list) or not data or not all(isinstance(x, dict) for x in data):
        return None
    if prm.returns == "input":
        ordered = sorted(data, key=lambda item: item.get("index", 0))
        return [item.get("probs", item.get("data")) for item in ordered]
    results = data[0].get("data", data[0].get("embedding"))
    return results if isinstance(results, list) else None


def _json(response: httpx.Response) -> dict[str, Any]:
    try:
        content = json.loads(response.content)
    except (ValueError, RecursionError):
        content = None
    if not isinstance(content, dict):
        raise ModelError(f"{response.url}: the answer is no JSON object: {response.text[:200]!r}")
    return content


def _said(response: httpx.Response) -> str:
    try:
        content = response.json()
        error = content.get("error", content)
        return str(error.get("message", error) if isinstance(error, dict) else error)[:_MOST]
    except (ValueError, AttributeError):
        return response.text[:_MOST]
