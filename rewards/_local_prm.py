"""The provider `local_prm/…`: process reward models that transformers runs in this process."""

import time
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import anyio.to_thread
from inspect_ai.model import ModelCall

from misstep.providers import (
    ModelRequest,
    Provider,
    Response,
    read_scoring_messages,
    scored_output,
    unscored_output,
)
from misstep.registry import ModelError, Prm
from misstep.rewards._prm import find_scoring_prm, prm_input, read_reward


class LocalPrmAPI(Provider):
    """A process reward model of the registry, in this process: `local_prm/<name>`.

    Model arguments (`-M name=value`):

    - `path`: a folder with the weights. Default: the repository on the Hugging Face hub.
    - `device`: such as cuda. Default: cpu.
    - `head`, `template`, `step_token`: they override the registry.
    - `trust_remote_code=true`: allow a model to run its own code on this machine.
    """

    ARGUMENTS = ("path", "device", "trust_remote_code", "head", "template", "step_token")
    scores_steps = True

    def configure(self, arguments: Mapping[str, Any]) -> None:
        """Read the facts of the model and load it."""
        name = f"local_prm/{self.model_name}"
        self.prm = find_scoring_prm(name, arguments, judge_provider="hf")
        if self.prm.head is None:
            raise ModelError(
                f"{name} cannot run in this process: the registry does not say how to load it. "
                f"Serve it: prm/{self.model_name}."
            )
        trusted = arguments.get("trust_remote_code") is True
        if self.prm.head == "own_code" and not trusted:
            raise ModelError(
                f"{name}: {self.prm.repository} contains its own code. To run the code on this "
                "machine: -M trust_remote_code=true."
            )
        self.loaded = _load(
            str(arguments.get("path") or self.prm.repository),
            str(self.prm.head),
            str(arguments.get("device") or "cpu"),
            trusted,
        )

    async def respond(self, request: ModelRequest) -> Response:
        """Score the steps of a solution in one pass."""
        problem, steps = read_scoring_messages(f"local_prm/{self.model_name}", request.messages)
        text = prm_input(self.prm, problem, steps)
        call = ModelCall.create({"input": text}, None)
        started = time.monotonic()
        tokens, results = await anyio.to_thread.run_sync(self.loaded.step_logits, self.prm, text)
        if results is None:
            reason = f"the input has {tokens} tokens, more than the model's context"
            return unscored_output(self.model_name, reason, tokens), call
        call.set_response({"data": results}, time.monotonic() - started)
        rewards = [read_reward(self.prm, values, probabilities=False) for values in results]
        check = f"step_token ({self.prm.step_token!r}): the tokenizer must know it as one token"
        return scored_output(self.model_name, rewards, len(steps), check, tokens), call

    def max_connections(self) -> int:
        """Return 1: the device computes one pass at a time."""
        return 1


class _LoadedPrm:
    """A loaded model and its tokenizer."""

    def __init__(self, path: str, head: str, device: str, trusted: bool) -> None:
        try:
            import torch
            import transformers
        except ImportError as error:
            raise ModelError(
                f"Local reward models need {error.name}, which is not installed. "
                "Install it: pip install 'misstep[local]'"
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
        except (OSError, ValueError) as error:
            reason = " ".join(str(error).split())
            raise ModelError(f"{path}: the weights cannot be loaded ({reason}).") from None
        self.torch = torch
        self.model = model.to(device).eval()

    def step_logits(self, prm: Prm, text: str) -> tuple[int, list[list[float]] | None]:
        """Return the number of tokens of a text, and the logits of the labels after each step.

        There are no logits if the text is longer than the model's context.
        """
        tokens = self.tokenizer(text, return_tensors="pt").to(self.model.device)
        length = tokens["input_ids"].shape[1]
        if length > (getattr(self.model.config, "max_position_embeddings", None) or length):
            return length, None
        # If a word has several tokens, its last token ends the step.
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


_load = lru_cache(maxsize=2)(_LoadedPrm)
"""Load a model once per process, even if several Inspect models use it."""
