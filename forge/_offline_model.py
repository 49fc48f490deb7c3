"""The provider `offline/rules`: the offline injector in the place of a model."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from inspect_ai.model import ModelOutput, ModelUsage

from misstep.forge._offline import OFFLINE, known_solution
from misstep.providers import ModelRequest, Provider
from misstep.registry import ModelError

_ABOUT: ContextVar[str] = ContextVar("about", default="")


@contextmanager
def asking_about(sample: str) -> Iterator[None]:
    """Say which sample the calls inside the `with` are about; other providers never see it."""
    before = _ABOUT.set(sample)
    try:
        yield
    finally:
        _ABOUT.reset(before)


class OfflineAPI(Provider):
    """No model: rules, which know the solutions of the source `offline` alone."""

    async def respond(self, request: ModelRequest) -> ModelOutput:
        """The injected error of the sample that is asked about.

        Raises:
            ModelError: It is not a solution that the rules know.
        """
        found = known_solution(_ABOUT.get())
        if found is None:
            raise ModelError(
                f"The offline injector knows no solution {_ABOUT.get()!r}: it goes with "
                f"--source {OFFLINE}. For other sources name a model: --model openai/gpt-4o"
            )
        reply = {
            "error_step": found.label,
            "error_type": found.error_type,
            "rationale": "Chosen by rule: this step decides what the later ones compute.",
            "rewritten_steps": found.rewritten,
            "final_answer": found.final_answer,
            "what_changed": "The reasoning of this step; later ones are computed from it.",
            "why_incorrect": found.flaw,
            "detection_difficulty": "The arithmetic of every step holds.",
        }
        output = ModelOutput.from_content(f"{OFFLINE}/{self.model_name}", json.dumps(reply))
        output.usage = ModelUsage()
        return output
