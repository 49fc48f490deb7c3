"""Local reward models: a tiny one with random weights, run by transformers."""

from math import exp

import pytest
from inspect_ai.model import get_model

from misstep.providers import scoring_messages
from misstep.registry import MisstepError

WORDS = ["[UNK]", "one", "two", "is", "so", "<extra_0>", "ки", "+", "-"]


@pytest.fixture(scope="module")
def weights(tmp_path_factory):
    """Return a folder of weights for each kind of head, with a tokenizer of a few words."""
    torch = pytest.importorskip("torch", reason="torch is not installed (extra `local`)")
    transformers = pytest.importorskip("transformers", reason="transformers is not installed")
    from tokenizers import Tokenizer, models, pre_tokenizers

    torch.manual_seed(0)
    words = Tokenizer(models.WordLevel({w: i for i, w in enumerate(WORDS)}, unk_token="[UNK]"))
    words.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    tokenizer = transformers.PreTrainedTokenizerFast(
        tokenizer_object=words, unk_token="[UNK]", additional_special_tokens=["<extra_0>", "ки"]
    )
    config = transformers.Qwen2Config(
        vocab_size=len(WORDS),
        hidden_size=8,
        intermediate_size=8,
        num_hidden_layers=1,
        num_attention_heads=2,
        num_key_value_heads=2,
    )
    made = {}
    for head, kind in (
        ("token_classification", transformers.Qwen2ForTokenClassification),
        ("causal_lm", transformers.Qwen2ForCausalLM),
    ):
        made[head] = tmp_path_factory.mktemp(head)
        kind(config).save_pretrained(made[head])
        tokenizer.save_pretrained(made[head])
    return made


async def score(name, steps, **arguments):
    async with get_model(f"local_prm/{name}", memoize=False, **arguments) as model:
        return await model.generate(scoring_messages("two is two", steps))


def logits_at(weights, head, text, word):
    """Return the logits at each occurrence of a word, by transformers alone."""
    import torch
    import transformers

    kind = getattr(
        transformers,
        {"causal_lm": "Qwen2ForCausalLM", "token_classification": "Qwen2ForTokenClassification"}[
            head
        ],
    )
    tokens = transformers.AutoTokenizer.from_pretrained(weights[head])(text, return_tensors="pt")
    with torch.no_grad():
        logits = kind.from_pretrained(weights[head]).eval()(**tokens).logits[0]
    places = [i for i, id in enumerate(tokens["input_ids"][0].tolist()) if id == WORDS.index(word)]
    return [logits[place].tolist() for place in places]


@pytest.mark.anyio
async def test_a_token_classifier_scores_all_steps_in_one_pass(weights):
    output = await score(
        "qwen2.5-math-prm-7b",
        ["one is one", "so two"],
        path=str(weights["token_classification"]),
        head="token_classification",
    )
    from misstep.registry import find_prm
    from misstep.rewards._prm import prm_input

    text = prm_input(find_prm("qwen2.5-math-prm-7b"), "two is two", ["one is one", "so two"])
    found = logits_at(weights, "token_classification", text, "<extra_0>")
    expected = [exp(b) / (exp(a) + exp(b)) for a, b in found]
    assert len(expected) == 2
    assert output.metadata["rewards"] == pytest.approx(expected, abs=1e-6)


@pytest.mark.anyio
async def test_a_causal_model_compares_plus_and_minus_at_the_step_tokens(weights):
    output = await score(
        "math-shepherd-mistral-7b-prm", ["one is one", "so two"], path=str(weights["causal_lm"])
    )
    text = "two is two Step 1: one is one ки\nStep 2: so two ки\n"
    found = logits_at(weights, "causal_lm", text, "ки")
    plus, minus = WORDS.index("+"), WORDS.index("-")
    expected = [exp(x[plus]) / (exp(x[plus]) + exp(x[minus])) for x in found]
    assert output.metadata["rewards"] == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize(
    ("name", "arguments", "says"),
    [
        ("qwen2.5-math-prm-7b", {}, "trust_remote_code=true"),
        ("skywork-prm-7b", {}, "Serve it: prm/skywork-prm-7b"),
        ("groundedprm", {}, "judges step by step"),
        ("qwen2.5-math-prm-7b", {"devic": "cpu"}, "Did you mean 'device'"),
    ],
)
def test_a_model_that_cannot_run_locally_says_why(name, arguments, says):
    with pytest.raises(MisstepError, match=says):
        get_model(f"local_prm/{name}", memoize=False, **arguments)
