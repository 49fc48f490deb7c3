"""What is asked of a model."""

from misstep.solvers._baselines import label_distribution, last_step, no_error, uniform
from misstep.solvers._critics import CRITICS, Critic, CriticOptions, asking, find_critic
from misstep.solvers._critique import critique
from misstep.solvers._prompts import critique_prompt, tagged
from misstep.solvers._recorded import RECORDED, recorded
from misstep.solvers._stepwise import Order, stepwise

__all__ = [
    "CRITICS",
    "RECORDED",
    "Critic",
    "CriticOptions",
    "Order",
    "asking",
    "critique",
    "critique_prompt",
    "find_critic",
    "label_distribution",
    "last_step",
    "no_error",
    "recorded",
    "stepwise",
    "tagged",
    "uniform",
]
