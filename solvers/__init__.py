"""What is asked of a model: critiques, votes, verdicts on steps, recovery, search, baselines."""

from misstep.solvers._baselines import (
    all_sections,
    label_distribution,
    last_step,
    no_error,
    no_section,
    section_range,
    uniform,
)
from misstep.solvers._continuation import TokenUse, continuation, continuation_tokens
from misstep.solvers._conversations import (
    AnswerRole,
    ContinuationOptions,
    Notice,
    NoticeFor,
    TurnChoice,
)
from misstep.solvers._critics import (
    CRITICS,
    SECTION_CRITICS,
    Critic,
    find_critic,
    find_section_critic,
)
from misstep.solvers._critique import (
    critique,
    critique_prompt,
    sections_critique,
    sections_prompt,
    tagged,
    warn_of_long_prompts,
)
from misstep.solvers._guided_search import Method, guided_search, search_config
from misstep.solvers._policy import Continuation
from misstep.solvers._recorded import recorded, recorded_best_of_n
from misstep.solvers._stepwise import Order, reward, stepwise
from misstep.solvers._verdicts import leave_verdict

__all__ = [
    "CRITICS",
    "SECTION_CRITICS",
    "AnswerRole",
    "Continuation",
    "ContinuationOptions",
    "Critic",
    "Method",
    "Notice",
    "NoticeFor",
    "Order",
    "TokenUse",
    "TurnChoice",
    "all_sections",
    "continuation",
    "continuation_tokens",
    "critique",
    "critique_prompt",
    "find_critic",
    "find_section_critic",
    "guided_search",
    "label_distribution",
    "last_step",
    "leave_verdict",
    "no_error",
    "no_section",
    "recorded",
    "recorded_best_of_n",
    "reward",
    "search_config",
    "section_range",
    "sections_critique",
    "sections_prompt",
    "stepwise",
    "tagged",
    "uniform",
    "warn_of_long_prompts",
]
