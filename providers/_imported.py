"""The provider `imported/…`: a name for the model of a run made elsewhere."""

from typing import NoReturn

from inspect_ai.model import ChatMessage, GenerateConfig, ModelAPI
from inspect_ai.tool import ToolChoice, ToolInfo

from misstep.registry import ModelError


class ImportedAPI(ModelAPI):
    """A model that is known by its results alone."""

    async def generate(
        self,
        input: list[ChatMessage],
        tools: list[ToolInfo],
        tool_choice: ToolChoice,
        config: GenerateConfig,
    ) -> NoReturn:
        """Refuse: there is nothing to ask."""
        raise ModelError(f"imported/{self.model_name} is known by its results alone: not callable.")
