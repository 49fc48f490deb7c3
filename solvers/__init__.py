"""What is asked of a model."""

from misstep.solvers._baselines import label_distribution, last_step, no_error, uniform
from misstep.solvers._critics import CRITICS, Critic, CriticOptions, find_critic
from misstep.solvers._critique import critique
from misstep.solvers._first_error_task import first_error_task
from misstep.solvers._prompts import critique_prompt, fill, tagged
from misstep.solvers._recorded import recorded
from misstep.solvers._section_baselines import all_sections, no_section, section_range
from misstep.solvers._sections import sections_critique, sections_prompt
from misstep.solvers._sections_task import SECTION_CRITICS, sections_task
from misstep.solvers._stepwise import Order, stepwise

__all__ = [
    "CRITICS",
    "SECTION_CRITICS",
    "Critic",
    "CriticOptions",
    "Order",
    "all_sections",
    "critique",
    "critique_prompt",
    "fill",
    "find_critic",
    "first_error_task",
    "label_distribution",
    "last_step",
    "no_error",
    "no_section",
    "recorded",
    "section_range",
    "sections_critique",
    "sections_prompt",
    "sections_task",
    "stepwise",
    "tagged",
    "uniform",
]
