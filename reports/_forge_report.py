"""The content of `misstep forge report`.

It counts types, positions and reject reasons of a built set. With logs of critics it also has their
detection rates.
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import zip_longest
from pathlib import Path

from misstep.forge import DATA_NAME, Example, read_examples
from misstep.loaders import read_rows
from misstep.registry import DataError, MisstepError, taxonomy
from misstep.reports._runs import DETECTIONS, read_run
from misstep.samples import third_of

RATE_HEADINGS = ("critic", "errors", "number", "found, %", "95% interval")

_ACCURACY = "first_error_accuracy"
_THIRDS = ("early", "middle", "late")


@dataclass(frozen=True)
class DetectionRate:
    """The share of errors in a group that a critic found."""

    critic: str
    group: str
    value: float
    lower: float
    upper: float
    total: int

    @property
    def cells(self) -> tuple[str, str, str, str, str]:
        """A table row under RATE_HEADINGS."""
        interval = f"{100 * self.lower:.1f} to {100 * self.upper:.1f}"
        return self.critic, self.group, f"{self.total:,}", f"{100 * self.value:.1f}", interval


@dataclass
class ForgeReport:
    """A built set, its rejects, and the detection rates of critics."""

    name: str
    examples: list[Example]
    rejected: int = 0
    reject_reasons: Counter[str] = field(default_factory=Counter)
    rates: list[DetectionRate] = field(default_factory=list)

    @property
    def with_error(self) -> list[Example]:
        """The examples with an error."""
        return [example for example in self.examples if not example.untouched]

    @property
    def summary(self) -> str:
        """The numbers of examples and rejects in one sentence."""
        wrong, total = len(self.with_error), len(self.examples)
        return (
            f"{total:,} examples: {wrong:,} with an error, {total - wrong:,} untouched; "
            f"{self.rejected:,} solutions were rejected."
        )

    @property
    def reject_rows(self) -> list[tuple[str, str]]:
        """The reject reasons and their counts as table rows."""
        return [(name, f"{count:,}") for name, count in self.reject_reasons.most_common()]

    @property
    def types(self) -> Counter[str]:
        """The number of errors of each type."""
        counts = Counter(dict.fromkeys(taxonomy(), 0))
        counts.update(str(example.error_type) for example in self.with_error)
        return counts

    @property
    def positions(self) -> Counter[int]:
        """The number of errors in each tenth of the solution, from 0 to 9."""
        return Counter(
            min(9, 10 * example.label // len(example.steps)) for example in self.with_error
        )

    @property
    def thirds(self) -> Counter[str]:
        """The number of errors in each third of the solution."""
        counts = Counter(third_of(example.label, len(example.steps)) for example in self.with_error)
        return Counter({name: counts[name] for name in _THIRDS})


@dataclass(frozen=True)
class StepPair:
    """A step of the original solution and the step with the same index of the modified one."""

    index: int
    original: str | None
    modified: str | None

    @property
    def changed(self) -> bool:
        """Whether the two steps differ."""
        return self.original != self.modified

    @property
    def diff(self) -> str:
        """The lines of both steps as a diff."""
        before = [f"- {line}" for line in (self.original or "").splitlines()]
        after = [f"+ {line}" for line in (self.modified or "").splitlines()]
        return "\n".join([*before, *after])


def step_pairs(example: Example) -> Iterator[StepPair]:
    """Yield original and modified steps side by side."""
    for index, pair in enumerate(zip_longest(example.original_steps, example.steps)):
        yield StepPair(index, *pair)


def read_forge_report(folder: Path, logs: Iterable[str] = ()) -> ForgeReport:
    """Read the folder of a build, and the logs of critics that ran on the set."""
    data = folder / f"{DATA_NAME}.jsonl"
    if not data.is_file():
        raise DataError(f"{data}: no built set. `misstep forge build -o {folder}` makes one.")
    examples, bad = read_examples(read_rows(str(data)))
    if bad:
        raise DataError(f"{data}: {bad[0]}. `misstep forge check {data}` lists all problems.")
    report = ForgeReport(folder.resolve().name, examples)
    rejects = folder / "rejects.jsonl"
    if rejects.is_file():
        for _, row in read_rows(str(rejects)):
            report.rejected += 1
            reasons = {f"{reject['stage']}: {reject['reason']}" for reject in row["rejects"]}
            report.reject_reasons.update(sorted(reasons))
    for location in logs:
        report.rates += _detection_rates(location)
    return report


def _detection_rates(location: str) -> list[DetectionRate]:
    run = read_run(location)
    if DETECTIONS not in run.metrics:
        raise MisstepError(f"{location}: not a log of adversarial_numinamath.")
    metrics = run.metrics[DETECTIONS]
    groups = {name: name.removesuffix(_ACCURACY) for name in metrics if name.endswith(_ACCURACY)}
    return [
        DetectionRate(
            critic=run.model,
            group=prefix.removesuffix("_") or "all",
            value=metrics[name],
            lower=metrics[f"{name}_lower"],
            upper=metrics[f"{name}_upper"],
            total=int(metrics[f"{prefix}total" if prefix else "errors"]),
        )
        for name, prefix in groups.items()
    ]
