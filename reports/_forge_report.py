"""The content of `misstep forge report`, and the report as Markdown.

The report counts types, positions and reject reasons of a built set. With logs of critics it also
has their detection rates.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from misstep.forge import DATA_NAME, Example, read_examples
from misstep.loaders import read_rows
from misstep.registry import DataError, MisstepError, taxonomy
from misstep.reports._runs import read_log
from misstep.reports._text import markdown_table, markdown_text
from misstep.samples import third_of

MAX_EXAMPLES = 200
"""The default number of examples in a report."""
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


def step_pairs(example: Example) -> Iterator[StepPair]:
    """Yield original and modified steps side by side."""
    steps, original = example.steps, example.original_steps
    for index in range(max(len(steps), len(original))):
        yield StepPair(
            index,
            original[index] if index < len(original) else None,
            steps[index] if index < len(steps) else None,
        )


def read_forge_report(folder: Path, logs: Iterable[str] = ()) -> ForgeReport:
    """Read the folder of a build, and the logs of critics that ran on the set.

    Raises:
        DataError: The folder holds no built set.
        MisstepError: A log does not belong to a critic on a built set.
    """
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
            report.reject_reasons.update(sorted(_reasons(row)))
    for location in logs:
        report.rates += _detection_rates(location)
    return report


def _reasons(row: dict[str, Any]) -> set[str]:
    return {f"{reject['stage']}: {reject['reason']}" for reject in row["rejects"]}


def _detection_rates(location: str) -> list[DetectionRate]:
    log = read_log(location, header_only=True)
    results = log.results.scores if log.results else []
    scores = [score for score in results if score.name == "detections"]
    if not scores:
        raise MisstepError(
            f"{location}: not a finished log of adversarial_numinamath (status: {log.status})."
        )
    metrics = {name: metric.value for name, metric in scores[0].metrics.items()}
    groups = {name: name.removesuffix(_ACCURACY) for name in metrics if name.endswith(_ACCURACY)}
    return [
        DetectionRate(
            critic=log.eval.model,
            group=prefix.removesuffix("_") or "all",
            value=metrics[name],
            lower=metrics[f"{name}_lower"],
            upper=metrics[f"{name}_upper"],
            total=int(metrics[f"{prefix}total" if prefix else "errors"]),
        )
        for name, prefix in groups.items()
    ]


def forge_report_markdown(report: ForgeReport, max_examples: int = MAX_EXAMPLES) -> str:
    """Return the report as Markdown. Examples are lists of their changed steps.

    Args:
        report: The content.
        max_examples: The number of examples to show.
    """
    return "\n".join(_markdown_lines(report, max_examples)) + "\n"


def _markdown_lines(report: ForgeReport, max_examples: int) -> Iterator[str]:
    yield f"# {markdown_text(report.name)}: worked solutions with an injected error\n"
    yield f"{report.summary}\n"
    yield markdown_table(("type of error", "errors"), report.types.items())
    yield markdown_table(("third of the solution", "errors"), report.thirds.items())
    if report.reject_reasons:
        yield markdown_table(("rejected for", "solutions"), report.reject_reasons.most_common())
    if report.rates:
        yield markdown_table(RATE_HEADINGS, [rate.cells for rate in report.rates])
    yield "## Examples\n"
    for example in report.with_error[:max_examples]:
        yield from _example_lines(example)


def _example_lines(example: Example) -> Iterator[str]:
    yield f"### {markdown_text(example.id)}\n"
    yield _fenced(example.problem)
    kind = markdown_text(str(example.error_type))
    yield f"\nStep {example.label}, {kind}. The right answer and the final answer:"
    yield _fenced(f"{example.answer}\n{example.final_answer}")
    for name, text in (
        ("What changed", example.what_changed),
        ("Why it is wrong", example.why_incorrect),
        ("Why it is hard to see", example.detection_difficulty),
    ):
        if text:
            yield f"\n{name}:"
            yield _fenced(text)
    for pair in step_pairs(example):
        if pair.changed:
            yield f"\nStep {pair.index}{', the error' if pair.index == example.label else ''}:"
            before = [f"- {line}" for line in (pair.original or "").splitlines()]
            after = [f"+ {line}" for line in (pair.modified or "").splitlines()]
            yield _fenced("\n".join([*before, *after]), "diff")
    yield ""


def _fenced(text: str, kind: str = "text") -> str:
    """Return text in a code fence that is longer than any run of backticks in it."""
    longest = max((len(run) for run in re.findall("`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}{kind}\n{text}\n{fence}"
