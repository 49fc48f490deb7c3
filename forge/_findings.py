"""What a report tells: distributions, reject reasons, and how critics fared."""

import json
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from misstep.forge._files import DATA
from misstep.forge._plotting import plotting
from misstep.forge._record import Example, read_examples
from misstep.loaders import read_rows
from misstep.registry import DataError, MisstepError, taxonomy
from misstep.samples import third_of

if TYPE_CHECKING:
    import altair

_ACCURACY = "first_error_accuracy"
THIRDS = ("early", "middle", "late")


@dataclass(frozen=True)
class Rate:
    """The share of errors that a critic found in a group."""

    critic: str
    group: str
    value: float
    lower: float
    upper: float
    total: int


@dataclass
class Findings:
    """A build, and what is known of it."""

    name: str
    examples: list[Example]
    settings: dict[str, Any] = field(default_factory=dict)
    rejected: int = 0
    reasons: Counter[str] = field(default_factory=Counter)
    rates: list[Rate] = field(default_factory=list)

    @property
    def wrong(self) -> list[Example]:
        """Those with an error."""
        return [one for one in self.examples if not one.untouched]

    @property
    def types(self) -> Counter[str]:
        """How many errors there are of each type."""
        known = Counter(dict.fromkeys(taxonomy(), 0))
        known.update(str(one.error_type) for one in self.wrong)
        return known

    @property
    def positions(self) -> Counter[int]:
        """How many errors stand at each tenth of the solution, by its number from 0."""
        return Counter(min(9, 10 * one.label // len(one.steps)) for one in self.wrong)

    @property
    def thirds(self) -> Counter[str]:
        """How many errors stand in each third."""
        found = Counter(third_of(one.label, len(one.steps)) for one in self.wrong)
        return Counter({name: found[name] for name in THIRDS})


def find(folder: Path, logs: Iterable[str] = ()) -> Findings:
    """Read a build's folder, and the logs of critics that ran on it.

    Raises:
        DataError: There is no built set in the folder.
        MisstepError: A log that is not of a critic on a built set.
    """
    data = folder / f"{DATA}.jsonl"
    if not data.is_file():
        raise DataError(f"{data}: no built set. `misstep forge build -o {folder}` makes one.")
    examples, bad = read_examples(read_rows(str(data)))
    if bad:
        raise DataError(f"{data}: {bad[0]}. `misstep forge check {data}` tells all.")
    findings = Findings(folder.resolve().name, examples)
    settings, rejects = folder / "build.json", folder / "rejects.jsonl"
    if settings.is_file():
        findings.settings = json.loads(settings.read_text(encoding="utf-8"))
    if rejects.is_file():
        for _, row in read_rows(str(rejects)):
            findings.rejected += 1
            findings.reasons.update({f"{x['stage']}: {x['reason']}" for x in row["rejects"]})
    for address in logs:
        findings.rates += _rates(address)
    return findings


def _rates(address: str) -> list[Rate]:
    from inspect_ai.log import read_eval_log

    try:
        log = read_eval_log(address, header_only=True)
    except Exception as problem:  # Inspect has no error of its own for a file that is no log.
        reason = " ".join(str(problem).split()) or type(problem).__name__
        raise MisstepError(f"{address}: cannot be read as an Inspect log ({reason}).") from None
    scores = [x for x in (log.results.scores if log.results else []) if x.name == "detections"]
    if not scores:
        raise MisstepError(
            f"{address}: not a finished log of adversarial_numinamath (status: {log.status})."
        )
    figures = {name: metric.value for name, metric in scores[0].metrics.items()}
    groups = [name.removesuffix(f"_{_ACCURACY}") for name in figures if name.endswith(_ACCURACY)]
    return [
        Rate(
            critic=log.eval.model,
            group="all" if group == _ACCURACY else group,
            value=figures[name := _ACCURACY if group == _ACCURACY else f"{group}_{_ACCURACY}"],
            lower=figures[f"{name}_lower"],
            upper=figures[f"{name}_upper"],
            total=int(figures.get(f"{group}_total", figures["errors"])),
        )
        for group in groups
    ]


def charts(findings: Findings) -> dict[str, "altair.Chart"]:
    """The charts of a report by their titles."""
    drawn = {
        "Types of error": _bars(findings.types, "errors", "type"),
        "Position of the error": _bars(
            Counter({f"{10 * i}–{10 * (i + 1)}%": findings.positions[i] for i in range(10)}),
            "errors",
            "part of the solution",
        ),
    }
    if findings.reasons:
        drawn["Rejected for"] = _bars(findings.reasons, "solutions", "reason")
    if findings.rates:
        drawn["Errors found by critics"] = _rate_chart(findings.rates)
    return drawn


def _bars(counts: Counter[str], what: str, of: str) -> "altair.Chart":
    alt = plotting()
    values = [{"name": name, "count": count} for name, count in counts.items()]
    chart: altair.Chart = (
        alt.Chart(alt.Data(values=values))
        .mark_bar()
        .encode(
            x=alt.X("count:Q", title=what, axis=alt.Axis(tickMinStep=1)),
            y=alt.Y("name:N", title=of, sort=None, axis=alt.Axis(labelLimit=320)),
        )
        .properties(width=380)
    )
    return chart


def _rate_chart(rates: list[Rate]) -> "altair.Chart":
    alt = plotting()
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
    bars = base.mark_rule().encode(x=alt.X("low:Q"), x2="high:Q")
    chart: altair.Chart = (
        alt.layer(bars, points, data=alt.Data(values=values))
        .properties(width=380, height=alt.Step(20))
        .facet(row=alt.Row("critic:N", title=None, header=alt.Header(labels=False)))
    )
    return chart
