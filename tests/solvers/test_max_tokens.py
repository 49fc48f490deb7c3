"""The default of --max-tokens: more for models that reason before they answer."""

from contextvars import copy_context

import pytest
from inspect_ai import eval as run_task
from inspect_ai.model import GenerateConfig, ModelOutput, ModelUsage, get_model

from misstep import processbench
from misstep._inspect_private import set_active_models
from misstep.solvers import (
    find_agent_critic,
    find_attribution_critic,
    find_critic,
    find_mistake_critic,
)


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


def test_a_task_made_in_python_leaves_the_default_to_the_solver_and_notes_it():
    found = find_critic("critique", [])
    assert found.config.max_tokens is None
    assert "4,096" in found.metadata["max_tokens"]
    assert "32,768" in found.metadata["max_tokens"]


@pytest.mark.parametrize(
    ("options", "tokens"),
    [
        ({}, 4096),
        ({"reasoning_tokens": 2000}, 32_768),
        ({"reasoning_tokens": 2000, "max_tokens": 4096}, 4096),
        ({"max_tokens": 50}, 50),
    ],
)
@pytest.mark.parametrize("votes", [1, 2])
def test_a_task_made_in_python_asks_for_as_many_tokens_as_its_model_needs(
    tmp_path, options, tokens, votes
):
    task = processbench(source="sample", votes=votes)
    model = get_model("mockllm/model", custom_outputs=lambda *_: output_of("\\boxed{-1}"))
    [log] = run_task(task, model=model, limit=1, log_dir=str(tmp_path), display="none", **options)
    calls = [event for event in log.samples[0].events if event.event == "model"]
    assert {call.config.max_tokens for call in calls} == {tokens}


def test_the_limit_of_a_model_is_kept(tmp_path):
    model = get_model(
        "mockllm/model",
        config=GenerateConfig(max_tokens=70),
        custom_outputs=lambda *_: output_of("\\boxed{-1}"),
    )
    task = processbench(source="sample")
    [log] = run_task(task, model=model, limit=1, log_dir=str(tmp_path), display="none")
    [call] = [event for event in log.samples[0].events if event.event == "model"]
    assert call.config.max_tokens == 70


def output_of(text):
    output = ModelOutput.from_content("mockllm/model", text)
    output.usage = ModelUsage()
    return output


@pytest.mark.parametrize(
    ("find", "usual"),
    [
        (lambda: find_critic("stepwise", [], style="written"), 4096),
        (lambda: find_agent_critic("labels", []), 8192),
        (lambda: find_attribution_critic("all_at_once", []), 1024),
        (lambda: find_mistake_critic("critique", []), 16),
    ],
)
def test_other_critics_that_write_get_more_for_a_model_that_reasons(find, usual):
    def in_run(model):
        set_active_models(get_model(model, api_key="x"), GenerateConfig(), {})
        return find()

    plain = copy_context().run(in_run, "openai/gpt-4o-mini")
    assert (plain.config.max_tokens, plain.metadata) == (usual, {})
    reasons = copy_context().run(in_run, "openai/o3-mini")
    assert reasons.config.max_tokens == 32_768
    assert "openai/o3-mini" in reasons.metadata["max_tokens"]
    assert find().config.max_tokens == usual
