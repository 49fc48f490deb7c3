"""What a corpus is like: structure, lengths and steps by source, counted as rows go by."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from misstep.forge._plotting import plotting
from misstep.forge._worked import Examined, Worked, examine
from misstep.loaders import RawRow

if TYPE_CHECKING:
    import altair

_SHARE = 0.5
MOST_SHOWN = 60
"""Steps; longer solutions share the last bar of the plot."""


@dataclass
class Group:
    """The rows of one source, or of all."""

    rows: int = 0
    usable: int = 0
    characters: int = 0
    """Of all solutions together."""
    steps: Counter[int] = field(default_factory=Counter)
    """How many solutions have so many steps."""
    structures: Counter[str] = field(default_factory=Counter)
    left_out: Counter[str] = field(default_factory=Counter)

    def add(self, row: Examined) -> None:
        """Count a row."""
        self.rows += 1
        self.characters += row.characters
        if row.cut is not None:
            self.steps[len(row.cut.steps)] += 1
            self.structures[row.cut.structure] += 1
        if isinstance(row.found, Worked):
            self.usable += 1
        else:
            self.left_out[row.found] += 1

    @property
    def median_steps(self) -> int:
        """Half of the solutions have at most so many steps."""
        half, seen = _SHARE * self.steps.total(), 0
        for steps in sorted(self.steps):
            seen += self.steps[steps]
            if seen >= half:
                return steps
        return 0

    @property
    def mean_characters(self) -> float:
        """Of a solution."""
        return self.characters / self.rows if self.rows else 0.0


@dataclass
class Analysis:
    """A corpus in numbers. Its size depends on the number of sources, not of rows."""

    everything: Group = field(default_factory=Group)
    sources: dict[str, Group] = field(default_factory=dict)

    def add(self, row: Examined) -> None:
        """Count a row."""
        self.everything.add(row)
        self.sources.setdefault(row.source, Group()).add(row)


def analyse(rows: Iterable[RawRow], min_steps: int) -> Analysis:
    """Go through a corpus once.

    Args:
        rows: Its rows.
        min_steps: The fewest steps that a solution must have to be usable.
    """
    analysis = Analysis()
    for number, row in rows:
        analysis.add(examine(number, row, min_steps))
    return analysis


def steps_chart(analysis: Analysis, min_steps: int) -> "altair.Chart":
    """How many solutions have how many steps, by source."""
    alt = plotting()
    counts: Counter[tuple[str, int]] = Counter()
    for name, group in analysis.sources.items():
        for steps, count in group.steps.items():
            counts[name, min(steps, MOST_SHOWN)] += count
    values = [
        {"source": name, "steps": steps, "solutions": count, "kept": steps >= min_steps}
        for (name, steps), count in sorted(counts.items())
    ]
    title = f"steps ({MOST_SHOWN}: that many or more)"
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
