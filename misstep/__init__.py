"""Process-level evaluations on Inspect AI: where does reasoning first go wrong?

The names below are imported when they are first used, so that `import misstep` stays fast:

    from inspect_ai import eval
    from misstep import compare, processbench, read_logs

    eval(processbench(subset="math"), model="openai/gpt-4o-mini")
    compare(read_logs("logs").runs).frame()
"""

from importlib import import_module
from importlib.metadata import version
from typing import Any

__version__ = version("misstep")

_PACKAGES = {
    "evals": (
        "adversarial_numinamath",
        "agent_process",
        "deltabench",
        "deltabench_sections",
        "error_recovery",
        "guided_search",
        "mistake_finding",
        "mr_ben",
        "prmbench",
        "procedural",
        "processbench",
        "who_and_when",
    ),
    "generator": ("solutions",),
    "loaders": ("load_rows",),
    "reports": (
        "accuracy_by",
        "benchmarks",
        "build_report",
        "compare",
        "leaderboard",
        "read_logs",
        "report_page",
        "runs_frame",
        "samples_frame",
    ),
}
_PACKAGE_OF = {name: package for package, names in _PACKAGES.items() for name in names}

__all__ = ["__version__", *_PACKAGE_OF]


def __getattr__(name: str) -> Any:  # noqa: ANN401
    """Import a name when it is first used."""
    if name in _PACKAGE_OF:
        return getattr(import_module(f"misstep.{_PACKAGE_OF[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
