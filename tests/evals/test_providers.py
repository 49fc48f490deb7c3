"""Every eval and critic on every protocol: what arrives on the wire, and what comes of it."""

from dataclasses import replace

import pytest
from inspect_ai.event import ModelEvent

from misstep.providers import Refusal, refusal_in
from misstep.registry import ProviderFacts, find_provider
from tests.support.vendors import PROTOCOLS
from tests.support.vendors.matrix import ROWS, VOTES, WORDS, documented_cells, outcomes

FALLBACKS = {Refusal.SEVERAL_CHOICES, Refusal.TRAILING_MESSAGE, Refusal.LATE_SYSTEM}


def row(name):
    return next(row for row in ROWS if row.name == name)


@pytest.mark.parametrize("name", PROTOCOLS)
def test_every_eval_runs_as_the_docs_say(name, tmp_path):
    protocol = PROTOCOLS[name]
    found, traffic = outcomes(protocol, tmp_path)
    cells = [outcome.cell for outcome in found]
    assert cells == documented_cells()[name]
    assert not [cell for cell in cells if cell.startswith("**")]
    # Only what has another way is tried and refused.
    assert {refusal_in(text) for text in traffic.refused} <= FALLBACKS
    for conversation in traffic.answered:
        role, last = conversation.last
        if WORDS.system in conversation.text:
            assert (WORDS.final in conversation.text) is (WORDS.final in last)
        else:
            assert role == "user" or conversation.continues
    seeds = [c.seed for c in traffic.answered if c.choices == 1 and "first error" in c.text]
    votes = [outcome for outcome in found if "single calls" in outcome.cell]
    if votes and any(seed is not None for seed in seeds):
        assert set(range(42, 42 + VOTES)) <= set(seeds)


@pytest.mark.parametrize("name", ["Anthropic", "Groq", "Mistral", "OpenAI Responses"])
def test_what_needs_logprobs_is_refused_before_the_first_call(name, tmp_path):
    rows = [row("ProcessBench, weighted votes"), row("ProcessBench, reward of a judge")]
    found, traffic = outcomes(PROTOCOLS[name], tmp_path, rows)
    for outcome in found:
        assert "needs logprobs, and" in outcome.log.error.message
        assert not any(isinstance(e, ModelEvent) for s in outcome.log.samples for e in s.events)
    assert not traffic.answered
    assert not traffic.refused


def test_reasoning_models_run_through_chat_completions_too(tmp_path):
    rows = [row("ProcessBench, votes"), row("ProcessBench, reward of a judge")]
    rows += [row("DeltaBench sections"), row("Guided search, greedy, PRM")]
    chat = replace(
        PROTOCOLS["OpenAI chat"], model="openai/o3-mini", options={"responses_api": False}
    )
    found, traffic = outcomes(chat, tmp_path, rows)
    assert [outcome.cell for outcome in found][:2] == ["one request", "needs logprobs"]
    for outcome, name in zip(found[2:], ("top_p", "stop"), strict=True):
        assert outcome.log.status == "error"
        assert name in outcome.log.samples[0].error.message
    assert {"max_completion_tokens", "n"} <= traffic.answered[0].body.keys()
    says = "Unsupported parameter: '{}' is not supported with this model."
    assert traffic.refused == [says.format("top_p"), says.format("stop")]


@pytest.mark.parametrize(
    ("protocol", "name", "module", "says"),
    [
        ("Google", "Error recovery", "_conversations", "ends with a user role"),
        ("Anthropic", "Guided search, greedy, PRM", "_search", "non-whitespace"),
    ],
)
def test_a_rule_that_is_not_kept_fails_the_matrix(
    monkeypatch, tmp_path, protocol, name, module, says
):
    def forgetful(provider):
        known = find_provider(provider).model_dump() | {"late_system": True}
        return ProviderFacts.model_validate(known | {"white_space_ends": True})

    monkeypatch.setattr(f"misstep.solvers.{module}.find_provider", forgetful)
    [outcome], traffic = outcomes(PROTOCOLS[protocol], tmp_path, [row(name)])
    assert outcome.cell.startswith("**")
    assert any(says in text for text in traffic.refused)
