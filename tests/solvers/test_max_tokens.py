"""The default of --max-tokens: more for models that reason before they answer."""

from contextvars import copy_context

import pytest
from inspect_ai.model import GenerateConfig, get_model

from misstep._inspect_private import set_active_models
from misstep.solvers import find_critic


def default_for(model, domain="mathematics", **config):
    def find():
        set_active_models(get_model(model, api_key="x"), GenerateConfig(**config), {})
        return find_critic("critique", [], domain)

    found = copy_context().run(find)
    return found.config.max_tokens, found.metadata


@pytest.mark.parametrize(
    ("model", "domain", "config", "tokens"),
    [
        ("openai/gpt-4o-mini", "mathematics", {}, 4096),
        ("openai/gpt-4o-mini", "programming", {}, 8192),
        ("openai/o3-mini", "mathematics", {}, 32_768),
        ("openai/o3-mini", "programming", {}, 32_768),
        ("openai/o3-mini", "mathematics", {"reasoning_effort": "none"}, 4096),
        ("openai/gpt-4o-mini", "mathematics", {"reasoning_effort": "high"}, 16_384),
        ("mockllm/model", "mathematics", {"reasoning_tokens": 2000}, 32_768),
    ],
)
def test_the_default_depends_on_the_domain_and_on_reasoning(model, domain, config, tokens):
    found, note = default_for(model, domain, **config)
    assert found == tokens
    assert bool(note) == (tokens > 8192)


def test_the_note_names_the_default_and_the_model():
    _, note = default_for("openai/o3-mini")
    assert "32,768" in note["max_tokens"]
    assert "openai/o3-mini" in note["max_tokens"]


def test_a_number_of_the_user_needs_no_note():
    _, note = default_for("openai/o3-mini", max_tokens=100)
    assert note == {}


def test_without_a_run_the_default_is_that_of_the_domain():
    assert find_critic("critique", []).config.max_tokens == 4096
