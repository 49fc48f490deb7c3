"""The provider `imported/…`: a name for the model of a run made elsewhere."""

from typing import NoReturn

from inspect_ai.model import ChatMessage, GenerateConfig, ModelAPI
from inspect_ai.tool import ToolChoice, ToolInfo

from misstep.registry import ModelError


class ImportedAPI(ModelAPI):
    """A model that is known by its results alone."""

    def __init__(
        self,
        model_name: str,
        base_url: str | None = None,
        api_key: str | None = None,
        config: GenerateConfig = GenerateConfig(),  # noqa: B008 - the signature of every provider
    ) -> None:
        super().__init__(model_name, base_url, api_key, [], config)

    async def generate(
        self,
        input: list[ChatMessage],
        tools: list[ToolInfo],
        tool_choice: ToolChoice,
        config: GenerateConfig,
    ) -> NoReturn:
        """Refuse: there is nothing to ask."""
        raise ModelError(f"imported/{self.model_name} is known by its results alone: not callable.")
