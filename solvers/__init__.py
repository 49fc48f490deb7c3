"""What is asked of a model."""

from misstep.solvers._critique import critique
from misstep.solvers._prompts import critique_prompt, tagged

__all__ = ["critique", "critique_prompt", "tagged"]
