"""The facts that misstep stands on: evals and variants, sources, domains, published results."""

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
from misstep.registry._judges import Judge, find_judge
from misstep.registry._labels import GOLD_SECTIONS, NO_ERROR, PUBLISHED_GOLD_SECTIONS, RECORDED
from misstep.registry._prices import Price, prices
from misstep.registry._published import Result as PublishedResult
from misstep.registry._published import Table, published
from misstep.registry._sections import ANSWER, SECTIONS, SectionsPrompt, find_sections_prompt
from misstep.registry._sources import Generated, Source, SourceFile, find_source, sources
from misstep.registry._start import from_start
from misstep.registry._variants import register_variants

__all__ = [
    "ANSWER",
    "CHARACTERS_A_TOKEN",
    "GOLD_SECTIONS",
    "NO_ERROR",
    "PROBLEM",
    "PUBLISHED_GOLD_SECTIONS",
    "RECORDED",
    "SECTIONS",
    "SOLUTION",
    "DataError",
    "Domain",
    "Eval",
    "Generated",
    "Judge",
    "MisstepError",
    "ModelError",
    "Price",
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
    "did_you_mean",
    "domains",
    "evals",
    "find_domain",
    "find_judge",
    "find_sections_prompt",
    "find_source",
    "from_start",
    "prices",
    "printable",
    "published",
    "register_variants",
    "sources",
]
