"""The providers of process reward models: `prm/…` on a server, `local_prm/…` in this process.

`prm/…` calls the pooling routes of a vLLM server. `local_prm/…` runs transformers.
"""

import json
import os
import time
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any

import anyio.to_thread
import httpx
from inspect_ai.model import ModelCall, ModelOutput

from misstep._inspect_private import RetryDecision, classify_http_retry
from misstep.providers import (
    HttpClient,
    ModelRequest,
    Provider,
    Refusal,
    Response,
    collect,
    read_scoring_messages,
    refusal_in,
    retry_wait,
    scored_output,
    unscored_output,
)
from misstep.registry import ModelError, Prm
from misstep.rewards._prm import (
    BOS,
    are_probabilities,
    find_scoring_prm,
    prm_input,
    prm_pieces,
    read_reward,
)

_BASE_URL = "MISSTEP_PRM_BASE_URL"
_API_KEY = "MISSTEP_PRM_API_KEY"
_MOST_TOKENIZED = 10_000
"""How many texts the provider keeps tokenized. A search sends the same steps many times."""
_MAX_QUOTED = 2000
"""How many characters of a server's answer the log and the messages quote."""


class ServedPrmAPI(Provider):
    """A process reward model of the registry, on a server: `prm/qwen2.5-math-prm-7b`.

    The address of the server is `--model-base-url` or `MISSTEP_PRM_BASE_URL`. The key of a
    protected server is `MISSTEP_PRM_API_KEY`. Model arguments (`-M name=value`):

    - `served`: the name of the model on the server.
    - `bos`: the text that begins the input, if the template has a place for it.
    - `route`, `returns`, `template`, `step_token`, `values`: they override the registry.
    """

    ARGUMENTS = ("served", "bos", "route", "returns", "template", "step_token", "values")
    scores_steps = True

    def configure(self, arguments: Mapping[str, Any]) -> None:
        """Read the facts of the model and the address of the server."""
        name = f"prm/{self.model_name}"
        self.prm = find_scoring_prm(name, arguments, judge_provider="vllm")
        self.served = str(arguments.get("served") or self.prm.repository)
        self.bos = str(arguments.get("bos") or "")
        if BOS in str(self.prm.template) and not self.bos:
            raise ModelError(
                f"{name}: the input begins with the BOS token of the tokenizer. "
                "Give the text of the token: -M bos=…"
            )
        url = self.base_url or os.environ.get(_BASE_URL)
        if not url:
            raise ModelError(
                f"{name}: the address of the server is missing. Give it, for example "
                f"--model-base-url http://localhost:8000, or set {_BASE_URL}."
            )
        self.url = url.rstrip("/").removesuffix("/v1")
        key = self.api_key or os.environ.get(_API_KEY)
        self.headers = {"Authorization": f"Bearer {key}"} if key else {}
        self._http = HttpClient(self.url)
        self._known_tokens: dict[str, list[int]] = {}

    async def respond(self, request: ModelRequest) -> Response:
        """Score the steps of a solution with one request."""
        problem, steps = read_scoring_messages(f"prm/{self.model_name}", request.messages)
        body: dict[str, Any] = {"model": self.served}
        positions: list[int] | None = None
        if self.prm.returns == "tokens":
            try:
                body["input"], positions = await self._tokens(problem, steps)
            except _TooLongError as refusal:
                return unscored_output(self.model_name, str(refusal))
        elif self.prm.returns == "input":
            ends = range(1, len(steps) + 1)
            body["input"] = [prm_input(self.prm, problem, steps[:end], self.bos) for end in ends]
        else:
            body["input"] = prm_input(self.prm, problem, steps, self.bos)
        if self.prm.values == "logits":
            body["use_activation"] = False  # by default vLLM returns probabilities
        call = ModelCall.create(body, None)
        started = time.monotonic()
        response = await self._http.post(f"{self.url}{self.prm.route}", body, self.headers)
        try:
            answer = _successful(response)
        except _TooLongError as refusal:
            call.set_error({"error": response.text[:_MAX_QUOTED]}, time.monotonic() - started)
            return unscored_output(self.model_name, str(refusal)), call
        call.set_response(answer, time.monotonic() - started)
        return self._output(answer, len(steps), positions), call

    def should_retry(self, ex: Exception) -> bool | RetryDecision:
        """Return how Inspect retries an HTTP error."""
        return classify_http_retry(ex)

    def retry_wait(self) -> Callable[..., float]:
        """Return the function that says how long to wait before the next attempt."""
        return retry_wait(self.should_retry)

    async def aclose(self) -> None:
        """Close the connections."""
        await self._http.aclose()

    def _output(
        self, answer: dict[str, Any], steps: int, positions: list[int] | None
    ) -> ModelOutput:
        tokens = (answer.get("usage") or {}).get("prompt_tokens") or 0
        results = _results(answer, self.prm)
        if positions is not None and results and len(results) > max(positions):
            results = [results[position] for position in positions]
        rewards = None
        if results is not None:
            probabilities = self.prm.values == "probabilities"
            if not probabilities and are_probabilities(results):
                raise ModelError(
                    f"prm/{self.model_name}: the registry says that the server returns logits, but "
                    "the values of each step add up to 1: they are probabilities. "
                    "Use -M values=probabilities."
                )
            rewards = [read_reward(self.prm, values, probabilities) for values in results]
        check = (
            f"step_token ({self.prm.step_token!r}), returns ({self.prm.returns!r}) and the "
            "server's pooler settings"
        )
        return scored_output(self.model_name, rewards, steps, check, tokens)

    async def _tokens(self, problem: str, steps: list[str]) -> tuple[list[int], list[int]]:
        """Return the input as tokens, and the positions of the tokens that end the steps.

        Each piece is tokenized separately, because the model was trained this way.
        """
        texts = [str(self.prm.step_token), *prm_pieces(self.prm, problem, steps, self.bos)]
        unknown = [text for text in dict.fromkeys(texts) if text not in self._known_tokens]
        if len(self._known_tokens) + len(unknown) > _MOST_TOKENIZED:
            self._known_tokens.clear()
            unknown = list(dict.fromkeys(texts))
        found = await collect(*(self._tokenize(text) for text in unknown))
        self._known_tokens |= dict(zip(unknown, found, strict=True))
        end, before, *pieces = (self._known_tokens[text] for text in texts)
        tokens, positions = list(before), []
        for piece in pieces:
            tokens += [*piece, end[-1]]
            positions.append(len(tokens) - 1)
        return tokens, positions

    async def _tokenize(self, text: str) -> list[int]:
        body = {"model": self.served, "prompt": text, "add_special_tokens": False}
        response = await self._http.post(f"{self.url}/tokenize", body, self.headers)
        return list(_successful(response)["tokens"])


def _results(answer: dict[str, Any], prm: Prm) -> list[object] | None:
    """Return the results for the steps or tokens, or None if the answer has another shape."""
    data = answer.get("data")
    if not isinstance(data, list) or not data or not all(isinstance(x, dict) for x in data):
        return None
    if prm.returns == "input":
        ordered = sorted(data, key=lambda item: item.get("index", 0))
        return [item.get("probs", item.get("data")) for item in ordered]
    results = data[0].get("data", data[0].get("embedding"))
    return results if isinstance(results, list) else None


class _TooLongError(Exception):
    """The server refuses a solution for its length."""


def _successful(response: httpx.Response) -> dict[str, Any]:
    """Return the JSON object of a successful call, or raise an error that Inspect may retry.

    Raises:
        _TooLongError: The server refuses the input for its length.
    """
    if response.is_error:
        text = _error_text(response)
        if response.status_code in (400, 413, 422) and refusal_in(text) is Refusal.TOO_LONG:
            raise _TooLongError(f"the server refused: {text}")
        message = f"{response.url} answered with status {response.status_code}: {text}"
        raise httpx.HTTPStatusError(message, request=response.request, response=response)
    if (content := _json(response)) is None:
        quoted = response.text[:200]
        raise ModelError(f"{response.url}: the answer is not a JSON object: {quoted!r}")
    return content


def _json(response: httpx.Response) -> dict[str, Any] | None:
    """Return the JSON object in a server's answer, or None if it is something else."""
    try:
        content = json.loads(response.content)
    except (ValueError, RecursionError):
        return None
    return content if isinstance(content, dict) else None


def _error_text(response: httpx.Response) -> str:
    """Return the error message in a server's answer."""
    content = _json(response)
    error = response.text if content is None else content.get("error", content)
    return str(error.get("message", error) if isinstance(error, dict) else error)[:_MAX_QUOTED]


class LocalPrmAPI(Provider):
    """A process reward model of the registry, in this process: `local_prm/<name>`.

    Model arguments (`-M name=value`):

    - `path`: a folder with the weights. Default: the repository on the Hugging Face hub.
    - `device`: such as cuda. Default: cpu.
    - `head`, `template`, `step_token`: they override the registry.
    - `trust_remote_code=true`: allow a model to run its own code on this machine.
    """

    ARGUMENTS = ("path", "device", "trust_remote_code", "head", "template", "step_token")
    scores_steps = True

    def configure(self, arguments: Mapping[str, Any]) -> None:
        """Read the facts of the model and load it."""
        name = f"local_prm/{self.model_name}"
        self.prm = find_scoring_prm(name, arguments, judge_provider="hf")
        if self.prm.head is None:
            raise ModelError(
                f"{name} cannot run in this process: the registry does not say how to load it. "
                f"Serve it: prm/{self.model_name}."
            )
        trusted = arguments.get("trust_remote_code") is True
        if self.prm.head == "own_code" and not trusted:
            raise ModelError(
                f"{name}: {self.prm.repository} contains its own code. To run the code on this "
                "machine: -M trust_remote_code=true."
            )
        self.loaded = _load(
            str(arguments.get("path") or self.prm.repository),
            str(self.prm.head),
            str(arguments.get("device") or "cpu"),
            trusted,
        )

    async def respond(self, request: ModelRequest) -> Response:
        """Score the steps of a solution in one pass."""
        problem, steps = read_scoring_messages(f"local_prm/{self.model_name}", request.messages)
        text = prm_input(self.prm, problem, steps)
        call = ModelCall.create({"input": text}, None)
        started = time.monotonic()
        tokens, results = await anyio.to_thread.run_sync(self.loaded.step_logits, self.prm, text)
        if results is None:
            reason = f"the input has {tokens} tokens, more than the model's context"
            return unscored_output(self.model_name, reason, tokens), call
        call.set_response({"data": results}, time.monotonic() - started)
        rewards = [read_reward(self.prm, values, probabilities=False) for values in results]
        check = f"step_token ({self.prm.step_token!r}): the tokenizer must know it as one token"
        return scored_output(self.model_name, rewards, len(steps), check, tokens), call

    def max_connections(self) -> int:
        """Return 1: the device computes one pass at a time."""
        return 1


class _LoadedPrm:
    """A loaded model and its tokenizer."""

    def __init__(self, path: str, head: str, device: str, trusted: bool) -> None:
        try:
            import torch
            import transformers
        except ImportError as error:
            raise ModelError(
                f"Local reward models need {error.name}, which is not installed. "
                "Install it: pip install 'misstep[local]'"
            ) from None
        loaders = {
            "token_classification": transformers.AutoModelForTokenClassification,
            "causal_lm": transformers.AutoModelForCausalLM,
            "own_code": transformers.AutoModel,
        }
        try:
            self.tokenizer = transformers.AutoTokenizer.from_pretrained(
                path, trust_remote_code=trusted
            )
            model = loaders[head].from_pretrained(
                path, trust_remote_code=trusted, torch_dtype="auto"
            )
        except (OSError, ValueError) as error:
            reason = " ".join(str(error).split())
            raise ModelError(f"{path}: the weights cannot be loaded ({reason}).") from None
        self.torch = torch
        self.model = model.to(device).eval()

    def step_logits(self, prm: Prm, text: str) -> tuple[int, list[list[float]] | None]:
        """Return the number of tokens of a text, and the logits of the labels after each step.

        There are no logits if the text is longer than the model's context.
        """
        tokens = self.tokenizer(text, return_tensors="pt").to(self.model.device)
        length = tokens["input_ids"].shape[1]
        if length > (getattr(self.model.config, "max_position_embeddings", None) or length):
            return length, None
        # If a word has several tokens, its last token ends the step.
        end = self.tokenizer.encode(str(prm.step_token), add_special_tokens=False)[-1]
        with self.torch.no_grad():
            logits = self.model(**tokens)[0][0]
        if prm.head == "causal_lm":
            labels = [
                self.tokenizer.encode(label, add_special_tokens=False)[-1]
                for label in prm.labels or []
            ]
            logits = logits[:, labels]
        ends = tokens["input_ids"][0] == end
        return len(ends), logits[ends].float().tolist()


_load = lru_cache(maxsize=2)(_LoadedPrm)
"""Load a model once per process, even if several Inspect models use it."""
