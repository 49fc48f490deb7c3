"""The provider `local_prm/…`: process reward models run here, by transformers and torch."""

import time
from functools import lru_cache
from typing import Any

import anyio.to_thread
from inspect_ai.model import ChatMessage, GenerateConfig, ModelAPI, ModelCall, ModelOutput
from inspect_ai.tool import ToolChoice, ToolInfo

from misstep.providers._step_scores import asked_steps, scored_output, unscored_output
from misstep.registry import ModelError, Prm, did_you_mean, find_prm
from misstep.rewards._prm_input import prm_input, reward_of

_ARGUMENTS = ("path", "device", "trust_remote_code", "head")


class LocalPrmAPI(ModelAPI):
    """A process reward model of the registry, in this process: `local_prm/<name>`.

    Model arguments (`-M name=value`): `path`, a folder with its weights in place of the hub's
    repository; `device`, such as cuda; `head` in place of the registry's; `trust_remote_code=true`
    for models that come with code of their own, which then runs here.
    """

    def __init__(
        self,
        model_name: str,
        base_url: str | None = None,
        api_key: str | None = None,
        config: GenerateConfig = GenerateConfig(),  # noqa: B008 - the signature of every provider
        **model_args: Any,  # noqa: ANN401
    ) -> None:
        super().__init__(model_name, base_url, api_key, [], config)
        for argument in model_args:
            if argument not in _ARGUMENTS:
                raise ModelError(
                    f"Unknown model argument {argument!r}.{did_you_mean(argument, _ARGUMENTS)}"
                )
        self.prm = _local(model_name, model_args.get("head"))
        trusted = model_args.get("trust_remote_code") is True
        if self.prm.head == "own_code" and not trusted:
            raise ModelError(
                f"local_prm/{model_name}: {self.prm.repository} comes with code of its own. To run "
                "it on this machine: -M trust_remote_code=true."
            )
        self.engine = _engine(
            str(model_args.get("path") or self.prm.repository),
            str(self.prm.head),
            str(model_args.get("device") or "cpu"),
            trusted,
        )

    @property
    def scores_steps(self) -> bool:
        """It does nothing else."""
        return True

    async def generate(
        self,
        input: list[ChatMessage],
        tools: list[ToolInfo],
        tool_choice: ToolChoice,
        config: GenerateConfig,
    ) -> ModelOutput | tuple[ModelOutput | Exception, ModelCall]:
        """Score the steps of a solution in one pass."""
        problem, steps = asked_steps(f"local_prm/{self.model_name}", input)
        text = prm_input(self.prm, problem, steps)
        call = ModelCall.create({"input": text}, None)
        started = time.monotonic()
        tokens, results = await anyio.to_thread.run_sync(self.engine.score, self.prm, text)
        call.set_response({"data": results}, time.monotonic() - started)
        if len(results) != len(steps):
            why = (
                f"{len(results)} rewards for {len(steps)} steps; check step_token "
                f"({self.prm.step_token!r}): the tokenizer must know it as one token"
            )
            return unscored_output(self.model_name, why, tokens), call
        rewards = [reward_of(self.prm, values, probabilities=False) for values in results]
        return scored_output(self.model_name, rewards, tokens), call

    def max_connections(self) -> int:
        """One pass at a time: the device is busy with it."""
        return 1


def _local(name: str, head: object) -> Prm:
    prm = find_prm(name)
    if head is not None:
        prm = Prm.model_validate(prm.model_dump() | {"head": head})
    if prm.way == "judge":
        raise ModelError(
            f"local_prm/{name}: it is a chat model that judges step by step. Run it as "
            f"--model hf/{prm.repository} -T critic=reward -T style={prm.style}."
        )
    if prm.head is None:
        raise ModelError(f"local_prm/{name}: how to load it is not known. Serve it: prm/{name}.")
    return prm


class _Engine:
    """A loaded model and its tokenizer."""

    def __init__(self, path: str, head: str, device: str, trusted: bool) -> None:
        try:
            import torch
            import transformers
        except ImportError as error:
            raise ModelError(
                f"Local reward models need a library that is not installed ({error.name}). "
                "Install them: pip install 'misstep[local]'"
            ) from None
        loaders = {
            "token_classification": transformers.AutoModelForTokenClassification,
            "causal_lm": transformers.AutoModelForCausalLM,
            "own_code": transformers.AutoModel,
        }
        try:
            self.tokenizer = transformers.AutoTokenizer.from_pretrained(
                path, trust_remote_code=trusted
            )
            model = loaders[head].from_pretrained(
                path, trust_remote_code=trusted, torch_dtype="auto"
            )
        except (OSError, ValueError) as problem:
            reason = " ".join(str(problem).split())
            raise ModelError(f"{path}: the weights cannot be loaded ({reason}).") from None
        self.torch = torch
        self.model = model.to(device).eval()

    def score(self, prm: Prm, text: str) -> tuple[int, list[list[float]]]:
        """How many tokens the text has, and the logits of the labels at each step's token."""
        tokens = self.tokenizer(text, return_tensors="pt").to(self.model.device)
        # Of a word that is several tokens, the last one ends the step.
        end = self.tokenizer.encode(str(prm.step_token), add_special_tokens=False)[-1]
        with self.torch.no_grad():
            logits = self.model(**tokens)[0][0]
        if prm.head == "causal_lm":
            labels = [
                self.tokenizer.encode(label, add_special_tokens=False)[-1]
                for label in prm.labels or []
            ]
            logits = logits[:, labels]
        ends = tokens["input_ids"][0] == end
        return len(ends), logits[ends].float().tolist()


@lru_cache(maxsize=2)
def _engine(path: str, head: str, device: str, trusted: bool) -> _Engine:
    """Loaded once a process, however many models name it."""
    return _Engine(path, head, device, trusted)
