"""Building sets of worked solutions with an injected error: split, inject, check, write."""

from inspect_ai.model import ModelAPI, modelapi

from misstep.forge._analysis import Analysis, Group, analyse, steps_chart
from misstep.forge._audit import Audit, audit
from misstep.forge._build import Built, Calls, build_set
from misstep.forge._checks import AUTOMATIC, Check, Failure, check_example, late_start
from misstep.forge._compared import compared, compared_aside
from misstep.forge._dataset import adversarial_dataset
from misstep.forge._findings import Findings, find
from misstep.forge._hub import push_to_hub
from misstep.forge._markdown import markdown
from misstep.forge._offline import OFFLINE, sample_examples
from misstep.forge._order import Order, read_mix
from misstep.forge._page import MOST, page
from misstep.forge._record import LATE_FRACTION, Example, read_examples
from misstep.forge._result import Result
from misstep.forge._sources import source_rows
from misstep.forge._split import Structure, cut_solution, split_steps
from misstep.forge._task import injection, injection_task
from misstep.forge._worked import MIN_STEPS, LeftOut, Worked, examine

__all__ = [
    "AUTOMATIC",
    "LATE_FRACTION",
    "MIN_STEPS",
    "MOST",
    "OFFLINE",
    "Analysis",
    "Audit",
    "Built",
    "Calls",
    "Check",
    "Example",
    "Failure",
    "Findings",
    "Group",
    "LeftOut",
    "Order",
    "Result",
    "Structure",
    "Worked",
    "adversarial_dataset",
    "analyse",
    "audit",
    "build_set",
    "check_example",
    "compared",
    "compared_aside",
    "cut_solution",
    "examine",
    "find",
    "injection",
    "injection_task",
    "late_start",
    "markdown",
    "offline",
    "page",
    "push_to_hub",
    "read_examples",
    "read_mix",
    "sample_examples",
    "source_rows",
    "split_steps",
    "steps_chart",
]


@modelapi(name="offline")
def offline() -> type[ModelAPI]:
    """Rules in the place of a model that injects errors."""
    from misstep.forge._offline_model import OfflineAPI

    return OfflineAPI
