"""Runs that belong together: on one leaderboard, or of one family of models.

A benchmark has the runs whose data and scoring are alike. The checkpoints of a family are in the
order of a tag: the step, size or date.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cached_property
from math import nan
from typing import TYPE_CHECKING

from misstep.registry import MisstepError, sources
from misstep.reports._runs import Run, dataframe, protocols, public_name

if TYPE_CHECKING:
    import pandas

FAMILY = "family"
"""The tag that names the family of a model. Default: the model's name without the tag's value."""
_NUMBER = re.compile(r"([+-]?\d+(?:\.\d+)?(?:e[+-]?\d+)?)\s*([kmbt]?)", re.IGNORECASE)
_SUFFIXES = {"": 1.0, "k": 1e3, "m": 1e6, "b": 1e9, "t": 1e12}


@dataclass(frozen=True)
class Benchmark:
    """The runs that share one leaderboard."""

    eval: str
    data: str
    version: str
    kind: str
    runs: list[Run]
    source: str = ""
    """The data without the names of its subsets."""
    apart: tuple[str, ...] = ()
    """Why runs of the same eval have other leaderboards."""
    title: str = ""

    @property
    def key(self) -> str:
        """A unique title."""
        own = " · ".join(dict.fromkeys((self.eval, self.data, f"version {self.version}")))
        return self.title or own

    @cached_property
    def subsets(self) -> list[str]:
        """The subsets of the samples; empty if there is only one."""
        found = _subsets(self.runs)
        return sorted(found) if len(found) > 1 else []

    @property
    def only_subset(self) -> str:
        """The subset, if the data are one subset of a source; else empty."""
        name = self.source or self.data.partition("-")[0]
        return "" if name == self.data else self.data.removeprefix(f"{name}-")

    @cached_property
    def samples(self) -> int:
        """The number of different samples of all runs."""
        return len({sample.id for run in self.runs for sample in run.samples})


def _subsets(runs: Sequence[Run]) -> set[str]:
    samples = (sample for run in runs for sample in run.samples)
    return {sample.facets["subset"] for sample in samples if "subset" in sample.facets}


def _data(run: Run) -> tuple[str, str]:
    """The source of a run's rows, and the source with its subsets if it has more than these.

    A run on two named subsets has the same data as a run of the whole source that has only rows of
    these two, such as an imported run.
    """
    prefixes = (name for name in sources() if f"{run.data}-".startswith(f"{name}-"))
    source = max(prefixes, key=len, default=run.data)
    rest, found = run.data[len(source) + 1 :], sorted(_subsets([run]))
    known = sources().get(source)
    whole = {file.subset for file in known.files if file.subset} if known else set()
    if rest or len(whole) > len(found) > 0:
        return source, "-".join([source, *(found or [rest])])
    return source, run.data


def benchmarks(runs: Sequence[Run]) -> list[Benchmark]:
    """Group runs by eval, data, version and kind, and by the content of their samples."""
    groups: dict[tuple[str, str, str, str, str], list[list[Run]]] = {}
    for run in runs:
        source, data = _data(run)
        alike = groups.setdefault((run.eval, data, run.version, run.kind, source), [])
        for members in alike:
            if not _conflicts(members, run):
                members.append(run)
                break
        else:
            alike.append([run])
    found = [
        Benchmark(*key[:4], members, key[4], title=_title(key, members, number, len(alike)))
        for key, alike in groups.items()
        for number, members in enumerate(alike)
    ]
    return [replace(one, apart=tuple(_reasons(one, found))) for one in found]


def _title(key: Sequence[str], runs: Sequence[Run], number: int, count: int) -> str:
    """The eval, the source and its subsets if they are a part of it, and the version."""
    eval_name, data, version, _, source = key
    subsets = ", ".join(sorted(_subsets(runs))) if data != source else ""
    parts = dict.fromkeys((eval_name, source, subsets, f"version {version}"))
    return " · ".join([*filter(None, parts), *([f"rows {number + 1}"] if count > 1 else [])])


def _conflicts(members: Sequence[Run], run: Run) -> int:
    """How many samples of a run have another target or text in runs of the same name."""
    known = {sample.id: (sample.target, sample.text) for sample in members[0].samples}
    return sum(
        known.get(sample.id, (sample.target, sample.text)) != (sample.target, sample.text)
        for sample in run.samples
    )


def _reasons(one: Benchmark, all_of_them: Sequence[Benchmark]) -> Iterator[str]:
    """Yield why other runs of the same eval are not on a leaderboard."""
    for other in all_of_them:
        if other is one or other.eval != one.eval:
            continue
        if other.version != one.version:
            why = f"version {other.version} of the eval is scored differently"
        elif other.kind != one.kind:
            why = "it is scored by other scorers"
        elif other.data != one.data:
            why = f"its data are {other.data}"
        else:
            count = _conflicts(one.runs, other.runs[0])
            why = f"{count:,} samples have the same ids but another problem or label"
        yield f"{other.key}: {why}."


def read_tag(by: str) -> str:
    """Return the name of the tag in `tag:step`."""
    kind, sign, name = by.partition(":")
    if kind != "tag" or not sign or not name.strip():
        raise MisstepError(
            f"--by {by}: write tag:NAME, such as tag:step. Runs have tags by "
            "`inspect eval --tags step=1000`, or by `--metadata step=1000`."
        )
    return name.strip()


def checkpoints(
    runs: Sequence[Run], tag: str, metric: str, reading: str = "strict"
) -> "pandas.DataFrame":
    """One row per run that has the tag: its family, its place on the axis, the metric.

    A value is a number (`1000`, `7B`) or a date (`2026-05-01`). Runs without the tag have no row.
    """
    asked = protocols(runs)
    rows = []
    for run in runs:
        value = run.tags.get(tag)
        if value is None:
            continue
        place, is_date = _place(value, tag, run)
        metrics = run.metrics[run.scorer(reading)]
        family = run.tags.get(FAMILY) or _family(public_name(run.model), tag, value)
        rows.append(
            {
                "family": f"{family} · {asked[run.id]}" if asked[run.id] else family,
                "model": run.name,
                tag: value,
                "place": place,
                "is_date": is_date,
                "samples": len(run.scored),
                metric: metrics.get(metric, nan),
                f"{metric}_lower": metrics.get(f"{metric}_lower", nan),
                f"{metric}_upper": metrics.get(f"{metric}_upper", nan),
            }
        )
    rows.sort(key=lambda row: (str(row["family"]), row["place"]))
    if len({row["is_date"] for row in rows}) > 1:
        values = ", ".join(str(row[tag]) for row in rows[:5])
        raise MisstepError(f"--by tag:{tag}: some values are dates and some are numbers: {values}.")
    return dataframe(rows)


def _place(value: str, tag: str, run: Run) -> tuple[float | str, bool]:
    """Where a value stands on the axis, and whether it is a date."""
    if found := _NUMBER.fullmatch(value.strip()):
        return float(found[1]) * _SUFFIXES[found[2].lower()], False
    try:
        return datetime.fromisoformat(value.strip()).isoformat(), True
    except ValueError:
        raise MisstepError(
            f"--by tag:{tag}: {run.location} has {tag}={value!r}. A value is a number, such as "
            "1000 or 7B, or a date, such as 2026-05-01."
        ) from None


def _family(model: str, tag: str, value: str) -> str:
    """The name of a model without the value of its tag."""
    pattern = rf"[-_./@: ]*(?:{re.escape(tag)})?[-_= ]*{re.escape(value)}(?![\w.]*\d)"
    return re.sub(pattern, "", model, count=1, flags=re.IGNORECASE) or model
