"""Facts as YAML that people edit: evals, variants, sources, prompts, prices, published results."""

from misstep.registry._arguments import check_arguments
from misstep.registry._errors import (
    DataError,
    MisstepError,
    ModelError,
    RegistryError,
    UnknownNameError,
    did_you_mean,
)
from misstep.registry._facts import (
    Price,
    Provider,
    PublishedResult,
    PublishedTable,
    find_provider,
    price_of,
    prices,
    published,
    service_model,
    taxonomy,
    user_registry,
)
from misstep.registry._prompts import (
    ANSWER,
    NUMBER,
    NUMBERS,
    PROBLEM,
    SECTIONS,
    SOLUTION,
    STEP,
    STEPS,
    AgentPrompts,
    AnswerKind,
    ContinuationPrompts,
    Domain,
    Judge,
    LabelsPrompt,
    Prm,
    Tag,
    agent_prompts,
    domains,
    fill,
    find_continuation,
    find_domain,
    find_judge,
    find_policy_prompt,
    find_prm,
    find_sections_prompt,
    find_step_scores_prompt,
    injection_prompts,
    prms,
)
from misstep.registry._run_end import UNREAD_METRICS, cautions, log_cautions
from misstep.registry._secrets import find_secret
from misstep.registry._sources import (
    ROW_KINDS,
    Corpus,
    Generated,
    RowKind,
    Source,
    SourceFile,
    Wording,
    WordingFile,
    WordingSource,
    WordingText,
    corpora,
    find_source,
    find_wording,
    sources,
    wordings,
)
from misstep.registry._user_input import parse_yaml, task_arguments, user_path
from misstep.registry._variants import (
    CHARACTERS_PER_TOKEN,
    Eval,
    RunConfig,
    Size,
    evals,
    find_run_config,
    register_variants,
    run_configs,
)
