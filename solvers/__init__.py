"""What is asked of a model."""

from misstep.solvers._baselines import label_distribution, last_step, no_error, uniform
from misstep.solvers._continuation import continuation
from misstep.solvers._conversations import AnswerRole, ContinuationOptions, Notice, NoticeFor
from misstep.solvers._critics import CRITICS, Critic, CriticOptions, find_critic
from misstep.solvers._critique import critique
from misstep.solvers._first_error_task import first_error_task
from misstep.solvers._guided_search import SEARCH, guided_search
from misstep.solvers._policy import Continuation
from misstep.solvers._prompts import critique_prompt, tagged
from misstep.solvers._recorded import recorded
from misstep.solvers._recorded_solutions import recorded_best_of_n
from misstep.solvers._reward_critic import reward
from misstep.solvers._search_settings import Method, SearchSettings
from misstep.solvers._search_task import search_task
from misstep.solvers._section_baselines import all_sections, no_section, section_range
from misstep.solvers._sections import sections_critique, sections_prompt
from misstep.solvers._sections_task import SECTION_CRITICS, sections_task
from misstep.solvers._stepwise import Order, stepwise
from misstep.solvers._token_use import TokenUse, continuation_tokens
from misstep.solvers._turns import TurnChoice

__all__ = [
    "CRITICS",
    "SEARCH",
    "SECTION_CRITICS",
    "AnswerRole",
    "Continuation",
    "ContinuationOptions",
    "Critic",
    "CriticOptions",
    "Method",
    "Notice",
    "NoticeFor",
    "Order",
    "SearchSettings",
    "TokenUse",
    "TurnChoice",
    "all_sections",
    "continuation",
    "continuation_tokens",
    "critique",
    "critique_prompt",
    "find_critic",
    "first_error_task",
    "guided_search",
    "label_distribution",
    "last_step",
    "no_error",
    "no_section",
    "recorded",
    "recorded_best_of_n",
    "reward",
    "search_task",
    "section_range",
    "sections_critique",
    "sections_prompt",
    "sections_task",
    "stepwise",
    "tagged",
    "uniform",
]
