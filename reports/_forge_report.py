"""The content, the charts and the page of `misstep forge report`.

It counts types, positions and reject reasons of a built set. With logs of critics it also has their
detection rates.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextvars import copy_context
from dataclasses import dataclass, field
from difflib import SequenceMatcher
from hashlib import sha256
from itertools import zip_longest
from pathlib import Path
from typing import TYPE_CHECKING

from inspect_ai.model import get_model

from misstep.forge import (
    DATA_NAME,
    PRIOR_HEADINGS,
    Analysis,
    Example,
    PriorBaseline,
    prior_baselines,
    prior_warnings,
    read_examples,
)
from misstep.loaders import read_rows
from misstep.registry import DataError, MisstepError, taxonomy
from misstep.reports._charts import chart_bytes, chart_library
from misstep.reports._read_runs import read_run
from misstep.reports._runs import DETECTIONS
from misstep.reports._tasks import load_task
from misstep.reports._text import (
    file_name,
    formulas_and_words,
    markdown_table,
    markdown_text,
    page_file,
    pieces_html,
    script_hash,
    text_html,
)
from misstep.samples import third_of
from misstep.solvers import BASELINES

if TYPE_CHECKING:
    import altair

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
    def baselines(self) -> list[PriorBaseline]:
        """How many errors baselines find without reading a solution."""
        return prior_baselines(self.examples)

    @property
    def warnings(self) -> list[str]:
        """Baselines that find too many errors."""
        return prior_warnings(self.baselines)

    @property
    def findings(self) -> list[str]:
        """For each critic: which errors it finds least, and where, in a sentence."""
        return [_finding(name, rates) for name, rates in _by_critic(self.rates).items()]

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


def _by_critic(rates: Iterable[DetectionRate]) -> dict[str, list[DetectionRate]]:
    found: dict[str, list[DetectionRate]] = {}
    for rate in rates:
        found.setdefault(rate.critic, []).append(rate)
    return found


def _finding(critic: str, rates: list[DetectionRate]) -> str:
    """Return a sentence about the groups in which a critic finds the fewest errors."""
    parts = []
    for words, names in (("type", set(taxonomy())), ("third of the solution", set(_THIRDS))):
        groups = sorted((one for one in rates if one.group in names), key=lambda one: one.value)
        # Several groups may be found equally seldom.
        least = [one for one in groups if one.value == groups[0].value]
        if least and len(least) < len(groups):
            names_text = ", ".join(f"{one.group} ({one.total:,})" for one in least)
            parts.append(f"by {words}: {names_text}, {100 * least[0].value:.1f}% found")
    if not parts:
        found = next(one.value for one in rates if one.group == "all")
        return f"{critic} finds {100 * found:.1f}% of the errors, of all types and places alike."
    return f"{critic} finds least, with the number of errors in brackets: {'; '.join(parts)}."


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


def run_critic(
    folder: Path,
    critic: str,
    model: str,
    base_url: str | None = None,
    max_connections: int | None = None,
) -> str:
    """Run a critic on the set in a folder, or resume its run. Return the location of the log.

    Runs are kept in `critics/` of the folder: a finished run of the same critic is not repeated.
    """
    from inspect_ai import eval_set

    baseline = critic in BASELINES
    task = load_task(
        "adversarial_numinamath",
        {"source": str((folder / f"{DATA_NAME}.jsonl").resolve()), "critic": critic},
    )
    # The id of the set tells whether the data are those of the earlier run.
    digest = sha256((folder / f"{DATA_NAME}.jsonl").read_bytes()).hexdigest()[:12]
    name = file_name(f"{critic}-{model}-{digest}")
    # An eval set leaves its model in the context of its caller.
    finished, logs = copy_context().run(
        eval_set,
        task,
        log_dir=str(folder / "critics" / name),
        model="none" if baseline else get_model(model, base_url=base_url, memoize=False),
        display="none",
        log_level="error",
        max_connections=max_connections,
        retry_attempts=2,
        score_display=False,
    )
    if not finished:
        raise MisstepError(
            f"{folder / 'critics'}: the critic did not finish. Rerun the same command to resume."
        )
    return logs[0].location


def _detection_rates(location: str) -> list[DetectionRate]:
    run = read_run(location)
    if DETECTIONS not in run.metrics:
        raise MisstepError(f"{location}: not a log of adversarial_numinamath.")
    metrics = run.metrics[DETECTIONS]
    groups = {name: name.removesuffix(_ACCURACY) for name in metrics if name.endswith(_ACCURACY)}
    return [
        DetectionRate(
            critic=run.name,
            group=prefix.removesuffix("_") or "all",
            value=metrics[name],
            lower=metrics[f"{name}_lower"],
            upper=metrics[f"{name}_upper"],
            total=int(metrics[f"{prefix}total" if prefix else "errors"]),
        )
        for name, prefix in groups.items()
    ]


_MAX_STEPS = 60
"""Longer solutions share the last bar."""


def step_counts_chart(analysis: Analysis, min_steps: int) -> "altair.Chart":
    """Return a histogram of the number of steps for each source."""
    alt = chart_library()
    counts: Counter[tuple[str, int]] = Counter()
    for name, group in analysis.sources.items():
        for steps, count in group.steps.items():
            counts[name, min(steps, _MAX_STEPS)] += count
    values = [
        {"source": name, "steps": steps, "solutions": count, "kept": steps >= min_steps}
        for (name, steps), count in sorted(counts.items())
    ]
    title = f"steps ({_MAX_STEPS}: {_MAX_STEPS} or more)"
    chart: altair.Chart = (
        alt.Chart(alt.Data(values=values))
        .mark_bar()
        .encode(
            x=alt.X("steps:Q", title=title, axis=alt.Axis(tickMinStep=1)),
            y=alt.Y("solutions:Q", title="solutions"),
            color=alt.Color("kept:N", title=f"at least {min_steps} steps"),
            row=alt.Row("source:N", title=None, header=alt.Header(labelAngle=0, labelAlign="left")),
        )
        .resolve_scale(y="independent")
        .properties(width=640, height=110, title="Steps of worked solutions by source")
    )
    return chart


def forge_report_charts(report: ForgeReport) -> dict[str, "altair.Chart"]:
    """Return the charts of a report by title."""
    positions = {f"{10 * i}–{10 * (i + 1)}%": report.positions[i] for i in range(10)}
    charts = {
        "Types of error": _bar_chart(report.types, "errors", "type"),
        "Position of the error": _bar_chart(positions, "errors", "part of the solution"),
    }
    if report.reject_reasons:
        charts["Rejected for"] = _bar_chart(report.reject_reasons, "solutions", "reason")
    if report.rates:
        charts["Errors found by critics"] = _detection_chart(report.rates)
    return charts


def _bar_chart(counts: dict[str, int], counted: str, grouped_by: str) -> "altair.Chart":
    alt = chart_library()
    values = [{"name": name, "count": count} for name, count in counts.items()]
    chart: altair.Chart = (
        alt.Chart(alt.Data(values=values))
        .mark_bar()
        .encode(
            x=alt.X("count:Q", title=counted, axis=alt.Axis(tickMinStep=1)),
            y=alt.Y("name:N", title=grouped_by, sort=None, axis=alt.Axis(labelLimit=320)),
        )
        .properties(width=380)
    )
    return chart


def _detection_chart(rates: list[DetectionRate]) -> "altair.Chart":
    alt = chart_library()
    values = [
        {"critic": x.critic, "group": x.group, "found": x.value, "low": x.lower, "high": x.upper}
        for x in rates
    ]
    base = alt.Chart().encode(
        y=alt.Y("group:N", title=None, sort=None, axis=alt.Axis(labelLimit=320)),
        color=alt.Color("critic:N", title="critic"),
    )
    share = alt.Axis(format="%")
    points = base.mark_point(filled=True, size=50).encode(
        x=alt.X("found:Q", title="errors found", axis=share, scale=alt.Scale(domain=[0, 1]))
    )
    intervals = base.mark_rule().encode(x=alt.X("low:Q"), x2="high:Q")
    chart: altair.Chart = (
        alt.layer(intervals, points, data=alt.Data(values=values))
        .properties(width=380, height=alt.Step(20))
        .facet(row=alt.Row("critic:N", title=None, header=alt.Header(labels=False)))
    )
    return chart


MAX_EXAMPLES = 200
"""The default number of examples in a report."""
_MOST_COMPARED = 200_000
"""The product of the lengths of two steps, in words and spaces, that are compared word by word."""


def forge_report_markdown(report: ForgeReport, max_examples: int = MAX_EXAMPLES) -> str:
    """Return the report as Markdown. Examples are lists of their changed steps."""
    return _render("forge.md", report, report.with_error[:max_examples], table=markdown_table)


def forge_report_page(report: ForgeReport, max_examples: int = MAX_EXAMPLES) -> str:
    """Return the report as HTML. Examples show both solutions side by side."""
    untouched = [example for example in report.examples if example.untouched]
    script = page_file("forge.js")
    charts = forge_report_charts(report)
    return _render(
        "forge.html",
        report,
        [*report.with_error, *untouched][:max_examples],
        charts=[(title, chart_bytes(chart, "svg").decode()) for title, chart in charts.items()],
        style=page_file("forge.css"),
        script=script,
        hash=script_hash(script),
    )


def _render(name: str, report: ForgeReport, shown: Sequence[Example], **more: object) -> str:
    from jinja2 import Environment, PackageLoader, StrictUndefined, select_autoescape

    environment = Environment(
        loader=PackageLoader("misstep.reports", "page"),
        autoescape=select_autoescape(["html"]),
        trim_blocks=True,
        undefined=StrictUndefined,
    )
    environment.filters |= {
        "fenced": _fenced,
        "formulas": text_html,
        "kind": lambda example: example.error_type or "untouched",
        "markdown": markdown_text,
        "marked_changes": marked_changes,
        "step_pairs": step_pairs,
    }
    template = environment.get_template(name)
    headings = {"rate_headings": RATE_HEADINGS, "prior_headings": PRIOR_HEADINGS}
    return template.render(report=report, shown=shown, **headings, **more)


def _fenced(text: str, kind: str = "text") -> str:
    """Return text in a code fence that is longer than any run of backticks in it."""
    longest = max((len(run) for run in re.findall("`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}{kind}\n{text}\n{fence}"


def marked_changes(pair: StepPair) -> tuple[str, str]:
    """Return both steps as HTML: removed text in <del>, added text in <ins>."""
    before = formulas_and_words(pair.original or "")
    after = formulas_and_words(pair.modified or "")
    left, right = "", ""
    for kind, a, b, c, d in _changes(before, after):
        removed, added = pieces_html(before[a:b]), pieces_html(after[c:d])
        if kind == "equal":
            left, right = left + removed, right + added
        else:
            left += f"<del>{removed}</del>" if removed else ""
            right += f"<ins>{added}</ins>" if added else ""
    return left, right


def _changes(before: list[str], after: list[str]) -> Iterable[tuple[str, int, int, int, int]]:
    """Return the changes between two lists, as `SequenceMatcher.get_opcodes` returns them."""
    if len(before) * len(after) <= _MOST_COMPARED:
        return SequenceMatcher(None, before, after, autojunk=False).get_opcodes()
    # The comparison takes cubic time. In long steps only the same start and end are found.
    shorter = min(len(before), len(after))
    start = next((i for i in range(shorter) if before[i] != after[i]), shorter)
    most = shorter - start
    end = next((i for i in range(most) if before[-1 - i] != after[-1 - i]), most)
    a, b = len(before) - end, len(after) - end
    return [
        ("equal", 0, start, 0, start),
        ("replace", start, a, start, b),
        ("equal", a, len(before), b, len(after)),
    ]
