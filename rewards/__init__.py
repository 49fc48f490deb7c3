"""A number for a step."""

from misstep.rewards._verdict_logprobs import right_probability

__all__ = ["right_probability"]
