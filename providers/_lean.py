"""The provider `lean/…`: any OpenAI-compatible service, called with little CPU time.

A call through the openai client takes about 3 ms more CPU time than one through aiohttp. Everything
else is as in Inspect's `openai-api/…`.
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
from misstep.providers._calls import HttpClient, retry_wait

_OPENAI_URL = "https://api.openai.com/v1"
_TIMEOUT = 600
_MAX_QUOTED = 200
"""How many bytes of a server's answer an error message quotes."""


class LeanAPI(OpenAICompatibleAPI):
    """`lean/<service>/<model>`, with the key and address of `openai-api/<service>/<model>`.

    The key is `<SERVICE>_API_KEY`. The address is `--model-base-url` or `<SERVICE>_BASE_URL`; for
    `openai` it has a default. Streams and the Responses API use the openai client.
    """

    def __init__(self, model_name: str, *arguments: Any, **model_args: Any) -> None:  # noqa: ANN401
        if model_name.startswith("openai/"):
            model_args.setdefault("service_base_url", _OPENAI_URL)
        super().__init__(model_name, *arguments, **model_args)
        self._url = f"{str(self.client.base_url).rstrip('/')}/chat/completions"
        self._http = HttpClient(self._url, self.client_timeout or _TIMEOUT)

    async def _generate_completion(
        self, request: dict[str, Any], config: GenerateConfig
    ) -> ChatCompletion:
        if self.resolve_stream(config):
            return await super()._generate_completion(request, config)
        body, client = _without_unset(request), self.client
        headers = {**client.default_headers, "Authorization": f"Bearer {client.api_key}"}
        headers |= body.pop("extra_headers", None) or {}
        body |= body.pop("extra_body", None) or {}
        query: Any = client.default_query or None
        try:
            response: Any = await self._http.post(self._url, body, _without_unset(headers), query)
        except httpx.TransportError as error:
            failed: Any = error.request
            if isinstance(error, httpx.TimeoutException):
                raise APITimeoutError(failed) from error
            raise APIConnectionError(message=str(error), request=failed) from error
        if response.is_error:
            raise client._make_status_error_from_response(response)
        return _completion(response.content)

    def retry_wait(self) -> Callable[..., float]:
        """Return the function that says how long to wait before the next attempt."""
        return retry_wait(self.should_retry)

    async def aclose(self) -> None:
        """Close the connections."""
        await self._http.aclose()
        await super().aclose()


def _without_unset(values: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in values.items() if not isinstance(value, NotGiven | Omit)}


def _completion(content: bytes) -> ChatCompletion:
    """Read a response, as leniently as the openai client does.

    If it is not a completion, Inspect retries, as after a server error.
    """
    try:
        return ChatCompletion.model_validate_json(content)
    except ValidationError:
        # Some servers leave out fields, or use stop reasons that OpenAI does not have.
        try:
            answer = json.loads(content)
        except (ValueError, RecursionError):
            answer = None
        if not isinstance(answer, dict) or not isinstance(answer.get("choices"), list):
            quoted = content[:_MAX_QUOTED].decode(errors="replace")
            raise OpenAIResponseError("server_error", f"not a completion: {quoted!r}") from None
        return ChatCompletion.construct(**answer)
