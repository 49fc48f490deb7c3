"""The provider `offline/rules`: the offline injector in the place of a model."""

import json

from inspect_ai.model import ModelOutput, ModelUsage

from misstep.forge._offline import OFFLINE, known_solution
from misstep.providers import ModelRequest, Provider
from misstep.registry import ModelError


class OfflineAPI(Provider):
    """No model: rules, which know the solutions of the source `offline` alone."""

    async def respond(self, request: ModelRequest) -> ModelOutput:
        """The injected error of the sample that is asked about.

        Raises:
            ModelError: It is not a solution that the rules know.
        """
        found = known_solution(request.sample_id or "")
        if found is None:
            raise ModelError(
                f"The offline injector knows no solution {request.sample_id!r}: it goes with "
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
