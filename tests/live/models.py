"""Small models with random weights, in the formats of published reward models, and SmolLM2.

Each has the token ids on which vLLM relies (`<extra_0>` is 151651, `▁ки` is 12902), so the rest of
the vocabulary is filled with tokens that no text contains. Wide random weights spread the rewards
over 0 to 1.
"""

import json
from pathlib import Path

import torch
from safetensors.torch import save_file
from tokenizers import (
    AddedToken,
    Regex,
    Tokenizer,
    decoders,
    models,
    normalizers,
    pre_tokenizers,
    processors,
    trainers,
)
from torch import nn
from transformers import (
    AutoModelForCausalLM,
    AutoTokenizer,
    LlamaConfig,
    LlamaForCausalLM,
    MistralConfig,
    MistralForCausalLM,
    PreTrainedTokenizerFast,
    Qwen2Config,
    Qwen2ForSequenceClassification,
)

from misstep.providers._weights import find_weights

CONTEXT = 4096
"""The context window of all models, in tokens."""

CHAT_ML = (
    "{% for m in messages %}{{ '<|im_start|>' + m['role'] + '\n' + m['content'] + '<|im_end|>\n' }}"
    "{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}"
)
TRIMMING = CHAT_ML.replace("m['content']", "m['content'] | trim")
"""A chat template that drops white space around messages, as that of Llama 3 does."""

_UNUSED = map("<|unused_{}|>".format, range(5))
_QWEN_SPECIAL_TOKENS = ("<|endoftext|>", "<|im_start|>", "<|im_end|>", *_UNUSED, "<extra_0>")
_QWEN_FIRST_SPECIAL = 151_643
_QWEN_WORDS = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*"
    r"|\s*[\r\n]+|\s+(?!\S)|\s+"
)

_OWN_CODE = '''\
from torch import nn
from transformers.modeling_outputs import TokenClassifierOutput
from transformers.models.qwen2.modeling_qwen2 import Qwen2Model, Qwen2PreTrainedModel


class Qwen2ForProcessRewardModel(Qwen2PreTrainedModel):
    """A value for each of two labels at every token, as in the code of Qwen's reward models."""

    def __init__(self, config):
        super().__init__(config)
        self.model = Qwen2Model(config)
        size = config.hidden_size
        self.score = nn.Sequential(nn.Linear(size, size), nn.ReLU(), nn.Linear(size, 2))
        self.post_init()

    def forward(self, input_ids=None, attention_mask=None, **kwargs):
        hidden = self.model(input_ids=input_ids, attention_mask=attention_mask, use_cache=False)[0]
        return TokenClassifierOutput(logits=self.score(hidden))
'''


def build_models(folder: Path, texts: list[str]) -> None:
    """Build all models, each in a folder of its own, with tokenizers made for some texts."""
    tokenizer = _qwen_tokenizer(texts)
    _qwen_prm(folder / "qwen-prm", tokenizer)
    _skywork_prm(folder / "skywork-prm", tokenizer)
    _classifier(folder / "classifier", tokenizer)
    _math_shepherd(folder / "math-shepherd")
    _smollm2(folder / "smollm2")
    (folder / "trimming.jinja").write_text(TRIMMING)


def _qwen_prm(folder: Path, tokenizer: Tokenizer) -> None:
    """Save a model that vLLM serves by its own class, and transformers by the folder's code."""
    _save_tokenizer(folder, tokenizer, eos="<|im_end|>")
    (folder / "modeling_prm.py").write_text(_OWN_CODE)
    names: dict[str, type[nn.Module]] = {}
    exec(_OWN_CODE, names)  # noqa: S102
    config = _qwen_config(num_labels=2, architectures=["Qwen2ForProcessRewardModel"])
    config.auto_map = {"AutoModel": "modeling_prm.Qwen2ForProcessRewardModel"}
    model = names["Qwen2ForProcessRewardModel"](config)
    _randomize(model, seed=0)
    _save(folder, model.state_dict(), config.to_dict())


def _skywork_prm(folder: Path, tokenizer: Tokenizer) -> None:
    """Save a value head with bias, under the names of a classifier, as the registry says."""
    _save_tokenizer(folder, tokenizer, eos="<|im_end|>", bos="<|endoftext|>")
    config = _qwen_config(num_labels=1, architectures=["Qwen2ForSequenceClassification"])
    model = Qwen2ForSequenceClassification(config)
    _randomize(model, seed=5)
    _save(folder, {**model.state_dict(), "score.bias": torch.tensor([0.7])}, config.to_dict())


def _classifier(folder: Path, tokenizer: Tokenizer) -> None:
    """Save a model with one result for a whole input: two labels at its last token."""
    _save_tokenizer(folder, tokenizer, eos="<|im_end|>")
    config = _qwen_config(num_labels=2, architectures=["Qwen2ForSequenceClassification"])
    model = Qwen2ForSequenceClassification(config)
    _randomize(model, seed=7)
    _save(folder, model.state_dict(), config.to_dict())


def _math_shepherd(folder: Path) -> None:
    vocabulary_size = 13_000
    config = MistralConfig(
        vocab_size=vocabulary_size,
        hidden_size=256,
        intermediate_size=256,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        head_dim=64,
        max_position_embeddings=CONTEXT,
        sliding_window=None,
        tie_word_embeddings=False,
        bos_token_id=1,
        eos_token_id=2,
    )
    model = MistralForCausalLM(config)
    _randomize(model, seed=3, deviation=0.12)
    model.save_pretrained(folder)
    _save_tokenizer(folder, _mistral_tokenizer(vocabulary_size), eos="</s>", bos="<s>")


def _smollm2(folder: Path) -> None:
    """Convert the embedded model's weights into the format that vLLM serves."""
    weights = find_weights("smollm2")
    source, file = weights.parent, weights.name
    loaded = AutoModelForCausalLM.from_pretrained(source, gguf_file=file, dtype=torch.float32)
    facts = {k: v for k, v in loaded.config.to_dict().items() if not k.startswith("_")}
    facts.pop("quantization_config", None)
    model = LlamaForCausalLM(LlamaConfig(**facts | {"max_position_embeddings": CONTEXT}))
    model.load_state_dict(loaded.state_dict())
    model.save_pretrained(folder)
    AutoTokenizer.from_pretrained(source, gguf_file=file).save_pretrained(folder)


def _qwen_config(num_labels: int, architectures: list[str]) -> Qwen2Config:
    config = Qwen2Config(
        vocab_size=151_936,
        hidden_size=64,
        intermediate_size=128,
        num_hidden_layers=2,
        num_attention_heads=2,
        num_key_value_heads=1,
        max_position_embeddings=CONTEXT,
        tie_word_embeddings=False,
        bos_token_id=151_643,
        eos_token_id=151_645,
        pad_token_id=151_643,
        num_labels=num_labels,
    )
    config.architectures = architectures
    return config


def _randomize(model: nn.Module, seed: int, deviation: float = 0.25) -> None:
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for name, values in model.named_parameters():
            if values.dim() > 1:
                width = 1.0 if "embed" in name else deviation
                values.copy_(torch.randn(values.shape, generator=generator) * width)


def _save(folder: Path, weights: dict[str, torch.Tensor], config: dict) -> None:
    kept = {name: values.contiguous() for name, values in weights.items()}
    save_file(kept, folder / "model.safetensors", metadata={"format": "pt"})
    (folder / "config.json").write_text(json.dumps(config | {"dtype": "float32"}))


def _save_tokenizer(folder: Path, tokenizer: Tokenizer, eos: str, bos: str | None = None) -> None:
    saved = PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, eos_token=eos, pad_token=eos, bos_token=bos
    )
    saved.model_max_length = CONTEXT
    saved.save_pretrained(folder)


def _qwen_tokenizer(texts: list[str]) -> Tokenizer:
    """Return a byte-level tokenizer that splits words as Qwen's does, with its special tokens."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.normalizer = normalizers.NFC()
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(_QWEN_WORDS), behavior="isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    tokenizer.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(vocab_size=2000, initial_alphabet=alphabet, show_progress=False)
    tokenizer.train_from_iterator(texts, trainer)
    written = json.loads(tokenizer.to_str())
    words = written["model"]["vocab"]
    words |= {f"Āfiller{i}Ā": i for i in range(len(words), _QWEN_FIRST_SPECIAL)}
    tokenizer = Tokenizer.from_str(json.dumps(written))
    special = [AddedToken(name, special=True, normalized=False) for name in _QWEN_SPECIAL_TOKENS]
    tokenizer.add_special_tokens(special)
    assert tokenizer.token_to_id("<extra_0>") == 151_651
    return tokenizer


def _mistral_tokenizer(size: int) -> Tokenizer:
    """Return a tokenizer of characters with `▁` for spaces, and Mistral's ids of three tokens."""
    fixed = {"<unk>": 0, "<s>": 1, "</s>": 2, "▁+": 648, "▁-": 387, "▁ки": 12_902}
    fixed |= {f"<0x{byte:02X}>": 3 + byte for byte in range(256)}
    characters = [*map(chr, range(0x21, 0x7F)), "▁", "к", "и", "ки"]
    free = iter(sorted(set(range(size)) - set(fixed.values())))
    vocabulary = fixed | dict(zip(characters, free, strict=False))
    vocabulary |= {f"Āfiller{i}": i for i in free}
    merges = [("к", "и"), ("▁", "ки"), ("▁", "+"), ("▁", "-")]
    tokenizer = Tokenizer(
        models.BPE(vocabulary, merges, unk_token="<unk>", fuse_unk=True, byte_fallback=True)
    )
    tokenizer.normalizer = normalizers.Sequence(
        [normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")]
    )
    tokenizer.decoder = decoders.Sequence(
        [decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse()]
    )
    special = [AddedToken(x, special=True, normalized=False) for x in ("<unk>", "<s>", "</s>")]
    tokenizer.add_special_tokens(special)
    tokenizer.post_processor = processors.TemplateProcessing(
        single="<s> $A", pair="<s> $A $B", special_tokens=[("<s>", 1)]
    )
    return tokenizer
