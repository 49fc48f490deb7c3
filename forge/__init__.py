"""Sets of worked solutions with an injected late error: split, inject, check, write.

Inspect imports this package at each start, so slow imports stand inside functions.
"""

from inspect_ai.model import ModelAPI, modelapi

from misstep.forge._build import BuildResult, CallSettings, build_set
from misstep.forge._checks import (
    AUTOMATIC_CHECKS,
    Audit,
    Check,
    Failure,
    audit,
    check_example,
    compare_final_answer,
    late_start,
)
from misstep.forge._example import LATE_FRACTION, Example, read_examples
from misstep.forge._files import (
    DATA_NAME,
    PRIOR_HEADINGS,
    PriorBaseline,
    add_position,
    adversarial_dataset,
    is_injection,
    prior_baselines,
    prior_warnings,
    push_to_hub,
)
from misstep.forge._inject import InjectionResult
from misstep.forge._latex import display_spans, inline_spans
from misstep.forge._offline import OFFLINE, sample_examples
from misstep.forge._solutions import (
    MIN_STEPS,
    Analysis,
    SkipReason,
    SolutionCounts,
    Structure,
    WorkedSolution,
    analyse,
    examine_row,
    split_solution,
)
from misstep.forge._task import (
    BuildSettings,
    SolutionDraw,
    injection,
    injection_task,
    read_error_types,
    source_rows,
)


@modelapi(name="offline")
def offline() -> type[ModelAPI]:
    """The offline injector: rules in place of a model."""
    from misstep.forge._offline import OfflineAPI

    return OfflineAPI
