import asyncio

import anyio
import pytest
from inspect_ai.model import ChatMessageAssistant, ChatMessageUser, GenerateConfig, get_model

STORY = "Tell me a story."
ONE = 33  # SmolLM2's token "1"


def texts(output):
    return [choice.message.text for choice in output.choices]


def test_choices_differ_at_temperature_one(ask):
    output = ask(STORY, seed=1, temperature=1, num_choices=4)
    assert len(set(texts(output))) == 4


def test_choices_are_equal_at_temperature_zero(ask):
    output = ask(STORY, seed=1, temperature=0, num_choices=4)
    assert len(output.choices) == 4
    assert len(set(texts(output))) == 1


def test_choice_i_of_a_seed_is_the_only_choice_of_seed_plus_i(ask):
    together = ask(STORY, seed=5, temperature=1, num_choices=3)
    alone = [ask(STORY, seed=5 + i, temperature=1).completion for i in range(3)]
    assert texts(together) == alone


def test_a_seed_gives_the_same_choices_whatever_ran_before(ask):
    settings = {"seed": 3, "temperature": 1, "num_choices": 2, "logprobs": True}
    first = ask(STORY, **settings)
    ask("Something else altogether, and longer.", temperature=1)
    begun = [ChatMessageUser(content=STORY), ChatMessageAssistant(content="Once")]
    ask(begun, temperature=1)
    ask(STORY, temperature=0, num_choices=3)
    again = ask(STORY, **settings)
    assert texts(again) == texts(first)
    assert [c.logprobs for c in again.choices] == [c.logprobs for c in first.choices]


def test_concurrent_calls_give_the_same_logprobs_as_single_ones_after_a_cancelled_call(
    ask, smollm2
):
    def call(seed, max_tokens=4):
        config = GenerateConfig(seed=seed, temperature=1, max_tokens=max_tokens, logprobs=True)
        return smollm2.generate(STORY, config=config)

    async def run():
        with anyio.move_on_after(0.5) as scope:
            await call(0, max_tokens=4000)
        assert scope.cancelled_caught
        return await asyncio.gather(*[call(seed) for seed in range(3)])

    together = asyncio.run(run())
    in_turn = [asyncio.run(call(seed)) for seed in range(3)]
    assert [o.choices[0].logprobs for o in together] == [o.choices[0].logprobs for o in in_turn]


def test_without_a_seed_calls_differ(ask):
    assert len({ask(STORY, temperature=1).completion for _ in range(6)}) > 1


def test_top_k_of_one_is_greedy(ask):
    greedy = ask(STORY, temperature=0).completion
    assert ask(STORY, temperature=1, top_k=1, seed=9).completion == greedy
    assert ask(STORY, temperature=1, top_p=1e-6, seed=9).completion == greedy


def test_logit_bias_forbids_a_token(ask):
    prompt = [ChatMessageUser(content="Count from one to ten.")]
    assert ask(prompt, temperature=0, max_tokens=1).completion == "1"
    biased = ask(prompt, temperature=0, max_tokens=1, logit_bias={ONE: -100})
    assert biased.completion != "1"


@pytest.mark.parametrize("penalty", ["frequency_penalty", "presence_penalty"])
def test_penalties_change_a_repetition(ask, penalty):
    begun = [ChatMessageUser(content="Say yes."), ChatMessageAssistant(content="yes yes yes yes")]
    plain = ask(begun, temperature=0, max_tokens=4).completion
    assert ask(begun, temperature=0, max_tokens=4, **{penalty: 2.0}).completion != plain


def test_slots_answer_more_choices_than_there_are_slots(ask, embedded_model_installed):
    model = get_model("embedded/smollm2", slots=2, ctx=256)
    output = ask(STORY, model=model, seed=1, temperature=1, num_choices=5)
    assert len(set(texts(output))) == 5
    assert output.usage.output_tokens == 5 * 4


def test_slots_answer_concurrent_requests(embedded_model_installed):
    model = get_model("embedded/smollm2", slots=2, ctx=256)
    config = GenerateConfig(max_tokens=4, temperature=0)

    async def run():
        return await asyncio.gather(*[model.generate(STORY, config=config) for _ in range(5)])

    outputs = asyncio.run(run())
    assert all(output.usage.output_tokens == 4 for output in outputs)


def test_models_with_the_same_settings_share_one_engine(embedded_model_installed):
    from misstep.providers._llama import shared_engine

    models = [get_model("embedded/smollm2", memoize=False) for _ in range(2)]
    first, second = (model.api for model in models)
    assert first is not second
    assert shared_engine(first.settings) is shared_engine(second.settings)
    assert first.connection_key() == second.connection_key()
