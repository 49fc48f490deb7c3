"""The facts that misstep stands on: evals and variants, sources, domains, published results."""

from misstep.registry._arguments import task_arguments
from misstep.registry._continuations import (
    AnswerKind,
    ContinuationPrompts,
    ContinuationTask,
    find_continuation,
)
from misstep.registry._corpora import Corpus, corpora, find_corpus
from misstep.registry._domains import PROBLEM, SOLUTION, Domain, Tag, domains, find_domain
from misstep.registry._errors import (
    DataError,
    MisstepError,
    ModelError,
    RegistryError,
    UnknownNameError,
    did_you_mean,
    printable,
)
from misstep.registry._evals import CHARACTERS_A_TOKEN, Eval, Size, Variant, evals
from misstep.registry._injection import InjectionPrompts, injection_prompts
from misstep.registry._judges import Judge, find_judge
from misstep.registry._labels import (
    GOLD_SECTIONS,
    MISSING,
    PUBLISHED_GOLD_SECTIONS,
    RECORDED,
    REWARDS,
    third_of,
)
from misstep.registry._prices import Price, price_of, prices
from misstep.registry._prms import NUMBER, STEP, STEPS, Prm, find_prm, prms
from misstep.registry._providers import Provider, find_provider, service_model
from misstep.registry._published import Result as PublishedResult
from misstep.registry._published import Table, published
from misstep.registry._search import PolicyPrompt, find_policy_prompt
from misstep.registry._sections import ANSWER, SECTIONS, SectionsPrompt, find_sections_prompt
from misstep.registry._sources import Generated, Source, SourceFile, find_source, sources
from misstep.registry._start import from_start
from misstep.registry._taxonomy import LogicalError, taxonomy
from misstep.registry._templates import fill
from misstep.registry._variants import register_variants
from misstep.registry._yaml import parse_yaml

__all__ = [
    "ANSWER",
    "CHARACTERS_A_TOKEN",
    "GOLD_SECTIONS",
    "MISSING",
    "NUMBER",
    "PROBLEM",
    "PUBLISHED_GOLD_SECTIONS",
    "RECORDED",
    "REWARDS",
    "SECTIONS",
    "SOLUTION",
    "STEP",
    "STEPS",
    "AnswerKind",
    "ContinuationPrompts",
    "ContinuationTask",
    "Corpus",
    "DataError",
    "Domain",
    "Eval",
    "Generated",
    "InjectionPrompts",
    "Judge",
    "LogicalError",
    "MisstepError",
    "ModelError",
    "PolicyPrompt",
    "Price",
    "Prm",
    "Provider",
    "PublishedResult",
    "RegistryError",
    "SectionsPrompt",
    "Size",
    "Source",
    "SourceFile",
    "Table",
    "Tag",
    "UnknownNameError",
    "Variant",
    "corpora",
    "did_you_mean",
    "domains",
    "evals",
    "fill",
    "find_continuation",
    "find_corpus",
    "find_domain",
    "find_judge",
    "find_policy_prompt",
    "find_prm",
    "find_provider",
    "find_sections_prompt",
    "find_source",
    "from_start",
    "injection_prompts",
    "parse_yaml",
    "price_of",
    "prices",
    "printable",
    "prms",
    "published",
    "register_variants",
    "service_model",
    "sources",
    "task_arguments",
    "taxonomy",
    "third_of",
]
