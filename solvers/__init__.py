"""What is asked of a model: critiques, votes, verdicts on steps, recovery, search, baselines."""

from misstep.solvers._attribution import (
    PROTOCOLS as PROTOCOLS,
    Protocol as Protocol,
    attribute as attribute,
)
from misstep.solvers._baselines import (
    all_sections as all_sections,
    arithmetic as arithmetic,
    label_distribution as label_distribution,
    last_step as last_step,
    late_window as late_window,
    no_error as no_error,
    no_section as no_section,
    recorded as recorded,
    section_range as section_range,
    uniform as uniform,
)
from misstep.solvers._continuation import (
    TokenUse as TokenUse,
    continuation as continuation,
    continuation_tokens as continuation_tokens,
    read_grade as read_grade,
)
from misstep.solvers._conversations import (
    AnswerRole as AnswerRole,
    ContinuationOptions as ContinuationOptions,
    Notice as Notice,
    NoticeFor as NoticeFor,
    TurnChoice as TurnChoice,
    Until as Until,
    variation_names as variation_names,
)
from misstep.solvers._critics import (
    BASELINES as BASELINES,
    CRITICS as CRITICS,
    SECTION_BASELINES as SECTION_BASELINES,
    SECTION_CRITICS as SECTION_CRITICS,
    STEP_CRITICS as STEP_CRITICS,
    Critic as Critic,
    find_agent_critic as find_agent_critic,
    find_attribution_critic as find_attribution_critic,
    find_critic as find_critic,
    find_judging_critic as find_judging_critic,
    find_mistake_critic as find_mistake_critic,
    find_section_critic as find_section_critic,
    find_step_critic as find_step_critic,
)
from misstep.solvers._critique import (
    Window as Window,
    critique as critique,
    critique_prompt as critique_prompt,
    index_only as index_only,
    judging_prompt as judging_prompt,
    process_judging as process_judging,
    sections_critique as sections_critique,
    sections_prompt as sections_prompt,
    tagged as tagged,
    warn_of_long_prompts as warn_of_long_prompts,
    windows as windows,
)
from misstep.solvers._guided_search import (
    Method as Method,
    guided_search as guided_search,
    recorded_best_of_n as recorded_best_of_n,
    search_config as search_config,
)
from misstep.solvers._marking import (
    grading_prompt as grading_prompt,
    mark_solution as mark_solution,
    marking_prompt as marking_prompt,
    require_wording as require_wording,
)
from misstep.solvers._search import Continuation as Continuation
from misstep.solvers._step_labels import (
    all_invalid as all_invalid,
    all_valid as all_valid,
    label_steps as label_steps,
    step_scores as step_scores,
    step_scores_messages as step_scores_messages,
)
from misstep.solvers._stepwise import (
    Calls as Calls,
    MistakeProtocol as MistakeProtocol,
    find_mistake as find_mistake,
    mistake_messages as mistake_messages,
    read_step as read_step,
    read_trace as read_trace,
    reward as reward,
    stepwise as stepwise,
)
from misstep.stores import leave_verdict as leave_verdict
