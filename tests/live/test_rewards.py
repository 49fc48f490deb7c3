"""Rewards over HTTP and in this process equal those of torch, from the same weights and tokens."""

import shlex
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import httpx
import pytest
import yaml
from click.testing import CliRunner
from inspect_ai.model import get_model

from misstep.cli._main import cli
from misstep.providers import scoring_messages
from misstep.registry import MisstepError, find_prm
from tests.support.runs import succeed

pytest.importorskip("vllm", reason="vLLM is not installed here; `make live` installs it")

import torch
from safetensors.torch import load_file
from transformers import (
    AutoModel,
    AutoTokenizer,
    MistralForCausalLM,
    Qwen2Config,
    Qwen2ForSequenceClassification,
    Qwen2Model,
)

from tests.live.servers import lines, vllm_server

TOLERANCE = 1e-3
BOS = "<|endoftext|>"
CHAT = (
    "<|im_start|>system\nPlease reason step by step, and put your final answer within \\boxed{}."
    "<|im_end|>\n<|im_start|>user\n"
)

Reference = Callable[[str, Sequence[str]], list[float]]


def qwen_reference(folder: Path) -> Reference:
    """Return the rewards of Qwen's model card: P(second label) at each `<extra_0>`."""
    tokenizer = AutoTokenizer.from_pretrained(folder)
    model = AutoModel.from_pretrained(folder, trust_remote_code=True).eval()

    def rewards(problem: str, steps: Sequence[str]) -> list[float]:
        solution = "".join(f"{step}<extra_0>" for step in steps)
        text = f"{CHAT}{problem}<|im_end|>\n<|im_start|>assistant\n{solution}<|im_end|>\n"
        tokens = tokenizer.encode(text, return_tensors="pt")
        with torch.no_grad():
            logits = model(tokens)[0][0]
        return logits.softmax(-1)[tokens[0] == 151_651][:, 1].tolist()

    return rewards


def shepherd_reference(folder: Path) -> Reference:
    """Return the rewards of Math-Shepherd's card: P(+) against P(-) at each `ки`."""
    tokenizer = AutoTokenizer.from_pretrained(folder)
    model = MistralForCausalLM.from_pretrained(folder).eval()

    def rewards(problem: str, steps: Sequence[str]) -> list[float]:
        numbered = (f"Step {i}: {step} ки\n" for i, step in enumerate(steps, 1))
        tokens = tokenizer.encode(f"{problem} {''.join(numbered)}", return_tensors="pt")
        with torch.no_grad():
            logits = model(tokens).logits[0]
        return logits[tokens[0] == 12_902][:, [648, 387]].softmax(-1)[:, 0].tolist()

    return rewards


def skywork_reference(folder: Path) -> Reference:
    """Return the rewards of Skywork's own code: each step tokenized by itself, then a sigmoid."""
    tokenizer = AutoTokenizer.from_pretrained(folder)
    weights = load_file(folder / "model.safetensors")
    body = {name[6:]: values for name, values in weights.items() if name.startswith("model.")}
    model = Qwen2Model(Qwen2Config.from_pretrained(folder))
    model.load_state_dict(body)
    model.eval()
    [line_break] = tokenizer.encode("\n", add_special_tokens=False)

    def rewards(problem: str, steps: Sequence[str]) -> list[float]:
        tokens = tokenizer.encode(f"{BOS}{problem}\n", add_special_tokens=False)
        ends = []
        for step in steps:
            tokens += [*tokenizer.encode(step, add_special_tokens=False), line_break]
            ends.append(len(tokens) - 1)
        with torch.no_grad():
            hidden = model(torch.tensor([tokens]))[0][0, ends]
        values = hidden @ weights["score.weight"].T + weights["score.bias"]
        return values[:, 0].sigmoid().tolist()

    return rewards


@dataclass(frozen=True)
class Format:
    """A format of the registry, and the small model that has it."""

    prm: str
    folder: str
    reference: Callable[[Path], Reference]
    options: tuple[str, ...] = ()
    """Options of `vllm serve` that the registry does not give."""
    arguments: tuple[tuple[str, str], ...] = ()
    broken: str = ""
    """How misstep writes the separator inside a text, so that it ends no step."""


FORMATS = {
    "qwen": Format(
        "qwen2.5-math-prm-7b",
        "qwen-prm",
        qwen_reference,
        ("--trust-remote-code",),
        broken="< extra_0>",
    ),
    "math-shepherd": Format(
        "math-shepherd-mistral-7b-prm", "math-shepherd", shepherd_reference, broken="к и"
    ),
    "skywork": Format(
        "skywork-prm-1.5b", "skywork-prm", skywork_reference, arguments=(("bos", BOS),)
    ),
}


@dataclass(frozen=True)
class Served:
    """A format on a running server."""

    format: Format
    url: str
    folder: Path
    reference: Reference

    def arguments(self, **more):
        return {"served": self.format.folder, **dict(self.format.arguments), **more}

    async def output(self, problem, steps, **more):
        name = f"prm/{self.format.prm}"
        options = self.arguments(**more)
        async with get_model(name, base_url=self.url, memoize=False, **options) as model:
            return await model.generate(scoring_messages(problem, steps))


@pytest.fixture(scope="module", params=FORMATS)
def served(request, models):
    form = FORMATS[request.param]
    # The options after the name of the weights, as users copy them.
    line = shlex.split(find_prm(form.prm).serve or "vllm serve weights")
    folder = models / form.folder
    with vllm_server(form.folder, *line[3:], *form.options) as url:
        yield Served(form, url, folder, form.reference(folder))


def difference(found, expected):
    assert len(found) == len(expected)
    return max(abs(one - other) for one, other in zip(found, expected, strict=True))


def test_a_run_over_http_has_the_rewards_of_torch(served, tmp_path):
    model = get_model(
        f"prm/{served.format.prm}", base_url=served.url, memoize=False, **served.arguments()
    )
    log = succeed("misstep/processbench.sample", tmp_path, model, task_args={"critic": "reward"})
    found, expected, verdicts = [], [], []
    for sample in log.samples:
        score = sample.scores["first_error"]
        rewards = served.reference(sample.input, sample.metadata["steps"])
        assert len(score.metadata["rewards"]) == len(rewards)
        found += score.metadata["rewards"]
        expected += rewards
        verdicts.append((score.answer, next((i for i, r in enumerate(rewards) if r < 0.5), -1)))
    worst = difference(found, expected)
    lines.append(
        f"{served.format.prm}: {len(found)} steps of {len(log.samples)} solutions, rewards from "
        f"{min(found):.3f} to {max(found):.3f}, largest difference to torch {worst:.1e}"
    )
    assert worst < TOLERANCE
    assert min(expected) < 0.2
    assert max(expected) > 0.8
    assert all(answer == str(first) for answer, first in verdicts)


@pytest.mark.anyio
async def test_unusual_texts_have_the_rewards_of_torch(served):
    token, broken = str(find_prm(served.format.prm).step_token), served.format.broken
    steps = [
        "",
        " ",
        "x = 1\n\nso y",
        "Größe ≤ 3 · 数学 🙂",
        "a  b ",
        *map("Step {}.".format, range(60)),
    ]
    problem = "What is x?\nTell y, too."
    output = await served.output(problem, steps)
    assert difference(output.metadata["rewards"], served.reference(problem, steps)) < TOLERANCE
    if broken:
        output = await served.output(f"Is {token} a word?", [f"a{token}b", f"{token}"])
        expected = served.reference(f"Is {broken} a word?", [f"a{broken}b", broken])
        assert difference(output.metadata["rewards"], expected) < TOLERANCE


@pytest.mark.anyio
async def test_a_solution_beyond_the_context_has_no_rewards(served):
    output = await served.output("What is x?", ["So x is 1. " * 2000, "x = 1."])
    assert output.metadata.keys() == {"missing"}
    assert "context length" in output.metadata["missing"]


@pytest.mark.anyio
async def test_a_model_that_the_server_does_not_know_is_an_error(served):
    with pytest.raises(httpx.HTTPStatusError, match="`other` does not exist"):
        await served.output("What is x?", ["x = 1."], served="other")


@pytest.mark.anyio
async def test_the_local_provider_gives_the_same_rewards(served):
    if find_prm(served.format.prm).head is None:
        with pytest.raises(MisstepError, match="cannot run in this process"):
            get_model(f"local_prm/{served.format.prm}", memoize=False)
        return
    problem, steps = "What is x?", ["x = 1.", "So 2x = 2.", "Größe ≤ 3", "The answer is 2."]
    served_output = await served.output(problem, steps)
    async with get_model(
        f"local_prm/{served.format.prm}",
        path=str(served.folder),
        trust_remote_code=True,
        memoize=False,
    ) as model:
        output = await model.generate(scoring_messages(problem, steps))
        too_long = await model.generate(scoring_messages(problem, ["So x is 1. " * 2000]))
    found = output.metadata["rewards"]
    assert difference(found, served.reference(problem, steps)) < 1e-5
    assert difference(found, served_output.metadata["rewards"]) < TOLERANCE
    assert "more than the model's context" in too_long.metadata["missing"]


@pytest.mark.anyio
async def test_vllm_activates_unless_the_request_says_otherwise(served):
    """Rewards from logits are those from probabilities; a second softmax never happens."""
    if served.format.folder == "skywork-prm":
        pytest.skip("its serve line switches the activation off for the whole server")
    problem, steps = "What is x?", ["x = 1.", "So 2x = 2."]
    expected = served.reference(problem, steps)
    raw = (await served.output(problem, steps)).metadata["rewards"]
    logits = (await served.output(problem, steps, values="logits")).metadata["rewards"]
    assert difference(raw, expected) < TOLERANCE
    assert difference(logits, expected) < TOLERANCE


def test_new_finds_the_format_of_a_server_and_check_repeats_the_probe(
    served, tmp_path, monkeypatch
):
    from misstep.registry._facts import read_facts

    monkeypatch.setenv("MISSTEP_REGISTRY", str(tmp_path))
    read_facts.cache_clear()
    try:
        run = ["--server", served.url]
        result = CliRunner().invoke(cli, ["prm", "new", "mine", *run], catch_exceptions=False)
        assert result.exit_code == 0, result.output
        read_facts.cache_clear()
        bos = ["--bos", BOS] if served.format.arguments else []
        again = CliRunner().invoke(cli, ["prm", "check", "mine", *run, *bos, "--json"])
        assert again.exit_code == 0, again.output
    finally:
        read_facts.cache_clear()
    found = find_prm(served.format.prm)
    assert f"Format of {served.format.prm}: right minus wrong steps" in result.output
    written = yaml.safe_load((tmp_path / "prms.yaml").read_text(encoding="utf-8"))["mine"]
    assert written["step_token"] == found.step_token


@pytest.fixture(scope="module")
def classifier(models):
    """A server whose `/classify` gives one result for a whole input."""
    folder = models / "classifier"
    tokenizer = AutoTokenizer.from_pretrained(folder)
    model = Qwen2ForSequenceClassification.from_pretrained(folder).eval()

    def rewards(problem: str, steps: Sequence[str]) -> list[float]:
        found = []
        for end in range(1, len(steps) + 1):
            text = f"{problem}\n" + "".join(f"{step}<extra_0>" for step in steps[:end])
            tokens = tokenizer.encode(text, return_tensors="pt")
            with torch.no_grad():
                found.append(float(model(tokens).logits[0].softmax(-1)[1]))
        return found

    form = Format("qwen2.5-math-prm-7b", "classifier", lambda _: rewards)
    with vllm_server("classifier", "--runner", "pooling") as url:
        yield Served(form, url, folder, rewards)


CLASSIFY = {"route": "/classify", "returns": "input", "template": "{problem}\n{steps}"}


@pytest.mark.parametrize("values", ["probabilities", "logits"])
def test_classify_gives_the_rewards_of_torch(values, classifier, tmp_path):
    """Each step is the end of an input of its own; vLLM activates unless the request says no."""
    options = classifier.arguments(**CLASSIFY, values=values)
    model = get_model(
        f"prm/{classifier.format.prm}", base_url=classifier.url, memoize=False, **options
    )
    arguments = {"critic": "reward"}
    log = succeed("misstep/processbench.sample", tmp_path, model, task_args=arguments, limit=40)
    found, expected = [], []
    for sample in log.samples:
        found += sample.scores["first_error"].metadata["rewards"]
        expected += classifier.reference(sample.input, sample.metadata["steps"])
    worst = difference(found, expected)
    lines.append(f"/classify, {values}: {len(found)} steps, largest difference {worst:.1e}")
    assert worst < TOLERANCE
    assert min(expected) < 0.2
    assert max(expected) > 0.8


@pytest.mark.anyio
async def test_classify_refuses_a_solution_beyond_the_context(classifier):
    output = await classifier.output("What is x?", ["So x is 1. " * 2000, "x = 1."], **CLASSIFY)
    assert output.metadata.keys() == {"missing"}
    assert "context length" in output.metadata["missing"]
