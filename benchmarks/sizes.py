"""The sizes of all evals by dry runs: `python -m benchmarks.sizes` writes the registry's file.

The rows come from the offline mirror (MISSTEP_DATA) or from their sources, as in a run. Rows that
are not there are replaced by others of the same benchmark, and the file says so.
"""

import argparse
import hashlib
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from misstep.loaders._sources import MIRROR_VARIABLE
from misstep.registry import DataError, Size, evals, find_source
from misstep.reports import estimate_eval

FILE = Path(__file__).parents[1] / "registry" / "sizes.yaml"
HEAD = """\
# What each eval needs at its default settings, measured by dry runs. `make sizes` writes this file.
# Prompt tokens: characters divided by 3. Completion tokens: as `replies` in evals.yaml assumes.
"""
MODEL = "openai-api/any/model"
"""A model without a tokenizer of its own."""
CONTINUING = {"error-recovery.marker": "vllm/any"}
"""Models of evals that need a provider that continues text."""


@dataclass(frozen=True)
class StandIn:
    """Rows that are measured in place of the pinned rows of a source."""

    source: str
    subset: str | None = None
    rows_of: Sequence[str] = ()
    args: dict[str, Any] = field(default_factory=dict)
    repeated: int = 0
    """Rows whose ids occur twice: the first row is used."""


def stand_ins() -> dict[str, StandIn]:
    """Return the stand-ins for rows that are not in the offline mirror."""
    mirror = Path(os.environ.get(MIRROR_VARIABLE, ""))
    delta = mirror / "deltabench" / "Deltabench_v1.jsonl"
    digest = hashlib.sha256(delta.read_bytes()).hexdigest() if delta.is_file() else ""
    found = {
        f"processbench.{subset}": StandIn("processbench", subset, ["processbench.math"])
        for subset in ("olympiadbench", "omnimath")
    }
    for name in ("deltabench", "deltabench_sections"):
        found |= {
            f"{name}.{short}": StandIn(
                "deltabench", variant.args["subset"], [name], {"accept": digest}
            )
            for short, variant in evals()[name].variants.items()
        }
    found |= {
        f"agent_process.{subset}": StandIn("agentprocessbench", subset, ["agent_process.hotpotqa"])
        for subset in ("gaia_dev", "bfcl", "tau2")
    }
    for short, subset in (("algorithm", "Algorithm-Generated"), ("hand", "Hand-Crafted")):
        files = {"source": str(mirror / "who_and_when" / subset / "*.json")}
        found[f"who_and_when.{short}"] = StandIn("who_and_when", subset, ["who_and_when"], files)
    gsm8k = {"source": str(mirror / "mr_gsm8k" / "mr_gsm8k_sample.jsonl")}
    return found | {
        "mr_ben": StandIn("mr_ben", None, ["mr_ben.physics", "mr_ben.coding"]),
        "mr_ben.mr_gsm8k": StandIn("mr_gsm8k", None, ["mr_ben"], gsm8k),
        "prmbench": StandIn("prmbench", None, ["prmbench.test_p1"], repeated=5),
    }


WITHOUT_ROWS = {"first_errors"}
"""Evals of the user's own logs."""
PARTS = {
    "processbench": ("gsm8k", "math", "olympiadbench", "omnimath"),
    "deltabench": ("math", "code", "pcb", "general"),
    "deltabench_sections": ("math", "code", "pcb", "general"),
    "agent_process": ("hotpotqa", "gaia_dev", "bfcl", "tau2"),
    "who_and_when": ("algorithm", "hand"),
}
"""Variants that together have all rows of their eval."""


def measure(name: str) -> Size:
    """Return the size of an eval or a variant."""
    try:
        return _measure(name, {})
    except DataError:
        pass
    if name in PARTS:
        return _sum([measure(f"{name}.{part}") for part in PARTS[name]])
    known = stand_ins()[name]
    measured = _sum([_measure(other, known.args) for other in known.rows_of])
    samples = _pinned_rows(known.source, known.subset) - known.repeated
    scale = samples / measured.samples
    return Size(
        samples=samples,
        prompt_tokens=round(scale * measured.prompt_tokens),
        completion_tokens=round(scale * measured.completion_tokens),
        measured=measured.measured if known.args else f"{measured.measured} of other subsets",
    )


def _measure(name: str, args: dict[str, Any]) -> Size:
    roles = ["reward"] if name.startswith("guided_search") else []
    found = estimate_eval(name, args, CONTINUING.get(name, MODEL), roles=roles)
    return Size(
        samples=found.samples,
        prompt_tokens=found.prompt_tokens,
        completion_tokens=found.completion_tokens,
        measured=f"{found.measured} rows",
    )


def _sum(sizes: Sequence[Size]) -> Size:
    return Size(
        samples=sum(size.samples for size in sizes),
        prompt_tokens=sum(size.prompt_tokens for size in sizes),
        completion_tokens=sum(size.completion_tokens for size in sizes),
        measured=" and ".join(dict.fromkeys(size.measured for size in sizes)),
    )


def _pinned_rows(source: str, subset: str | None) -> int:
    files = find_source(source).files
    if subset is None:
        return sum(file.rows for file in files)
    return sum(
        file.rows if file.subset == subset else file.subsets.get(subset, 0) for file in files
    )


def lines() -> Iterator[str]:
    """Yield the lines of the file."""
    yield HEAD
    for name, entry in evals.bundled().items():
        if name in WITHOUT_ROWS:
            continue
        for full in (name, *(f"{name}.{short}" for short in entry.variants)):
            size = yaml.safe_dump(
                measure(full).model_dump(), default_flow_style=True, sort_keys=False, width=1000
            )
            yield f"{full}: {size}"


def main() -> None:
    """Write the file."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("-o", "--output", type=Path, default=FILE)
    path = parser.parse_args().output
    path.write_text("".join(lines()), encoding="utf-8")
    print(path)


if __name__ == "__main__":
    main()
