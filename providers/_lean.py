"""The provider `lean/…`: any OpenAI-compatible service, called with little work of the processor.

By the openai client a call takes some 3 ms more of it than by aiohttp, most of that in
transforming, building and validating. All else is as Inspect's `openai-api/…` does it.
"""

import json
from collections.abc import Callable
from typing import Any

import httpx
from inspect_ai.model import GenerateConfig
from openai import APIConnectionError, APITimeoutError, NotGiven, Omit
from openai.types.chat import ChatCompletion
from pydantic import ValidationError

from misstep._inspect_private import OpenAICompatibleAPI, OpenAIResponseError
from misstep.providers._connections import Connections, waits

_OPENAI = "https://api.openai.com/v1"
_SECONDS = 600
_MOST = 200
"""Characters of a server's answer that a message quotes."""


class LeanAPI(OpenAICompatibleAPI):
    """`lean/<service>/<model>`, with the key and the address of `openai-api/<service>/<model>`.

    They are `<SERVICE>_API_KEY` and `<SERVICE>_BASE_URL`, or `--model-base-url`; the address of
    OpenAI itself is known. Streams and the Responses API go by the openai client.
    """

    def __init__(self, model_name: str, *arguments: Any, **model_args: Any) -> None:  # noqa: ANN401
        if model_name.startswith("openai/"):
            model_args.setdefault("service_base_url", _OPENAI)
        super().__init__(model_name, *arguments, **model_args)
        self._url = f"{str(self.client.base_url).rstrip('/')}/chat/completions"
        self._connections = Connections(self._url, self.client_timeout or _SECONDS)

    async def _generate_completion(
        self, request: dict[str, Any], config: GenerateConfig
    ) -> ChatCompletion:
        if self.resolve_stream(config):
            return await super()._generate_completion(request, config)
        body, client = _given(request), self.client
        headers = {**client.default_headers, "Authorization": f"Bearer {client.api_key}"}
        headers |= body.pop("extra_headers", None) or {}
        body |= body.pop("extra_body", None) or {}
        query: Any = client.default_query or None
        try:
            answer: Any = await self._connections.post(self._url, body, _given(headers), query)
        except httpx.TimeoutException as error:
            asked: Any = error.request
            raise APITimeoutError(asked) from error
        except httpx.TransportError as error:
            asked = error.request
            raise APIConnectionError(message=str(error), request=asked) from error
        if answer.is_error:
            raise client._make_status_error_from_response(answer)
        return _completion(answer.content)

    def retry_wait(self) -> Callable[..., float]:
        """How long to wait before a call is made again."""
        return waits(self.should_retry)

    async def aclose(self) -> None:
        """Close the connections."""
        await self._connections.aclose()
        await super().aclose()


def _given(values: dict[str, Any]) -> dict[str, Any]:
    return {name: one for name, one in values.items() if not isinstance(one, NotGiven | Omit)}


def _completion(content: bytes) -> ChatCompletion:
    """Read an answer, as leniently as the openai client does.

    Raises:
        OpenAIResponseError: It is none; Inspect asks again, as after an error of the server.
    """
    try:
        return ChatCompletion.model_validate_json(content)
    except ValidationError:
        # Servers leave out fields, or have reasons to stop that OpenAI does not know.
        try:
            answer = json.loads(content)
        except (ValueError, RecursionError):
            answer = None
        if not isinstance(answer, dict) or not isinstance(answer.get("choices"), list):
            said = content[:_MOST].decode(errors="replace")
            raise OpenAIResponseError("server_error", f"not a completion: {said!r}") from None
        return ChatCompletion.construct(**answer)
