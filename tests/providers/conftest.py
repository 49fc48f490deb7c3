import asyncio
import sys
from collections.abc import Callable

import pytest
from inspect_ai.model import (
    ChatMessage,
    ChatMessageSystem,
    ChatMessageUser,
    GenerateConfig,
    Model,
    ModelOutput,
    get_model,
)

import misstep.providers  # noqa: F401 - registers the names

Ask = Callable[..., ModelOutput]

# Inspect's command line. It registers the providers even if the entry point is not installed.
INSPECT = "import misstep.providers; from inspect_ai._cli.main import main; main()"


@pytest.fixture(scope="session")
def smollm2(embedded_model_installed: None) -> Model:
    """Return the embedded model. It is loaded once for all tests."""
    return get_model("embedded/smollm2")


@pytest.fixture(scope="session")
def ask(smollm2: Model) -> Ask:
    """Return a function that asks the embedded model, or another one, in a new event loop."""

    def run(
        prompt: str | list[ChatMessage], model: Model | None = None, **settings: object
    ) -> ModelOutput:
        messages = short_messages(prompt) if isinstance(prompt, str) else prompt
        config = GenerateConfig.model_validate({"max_tokens": 4, **settings})
        return asyncio.run((model or smollm2).generate(messages, config=config))

    return run


def short_messages(prompt: str) -> list[ChatMessage]:
    """Return messages with a short system message: SmolLM2 takes long to read its default one."""
    return [ChatMessageSystem(content="Be brief."), ChatMessageUser(content=prompt)]


@pytest.fixture(scope="session")
def inspect_command() -> list[str]:
    """Return the command that runs Inspect's command line in a new process."""
    return [sys.executable, "-c", INSPECT]
