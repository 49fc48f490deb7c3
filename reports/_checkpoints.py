"""Runs of one family of models in the order of a tag: the step, size or date of a checkpoint."""

import re
from collections.abc import Sequence
from datetime import datetime
from math import nan
from typing import TYPE_CHECKING

from misstep.registry import MisstepError
from misstep.reports._frames import dataframe, protocols
from misstep.reports._runs import Run, public_name

if TYPE_CHECKING:
    import pandas

FAMILY = "family"
"""The tag that names the family of a model. Without it, the model's name less the tag's value."""
_NUMBER = re.compile(r"([+-]?\d+(?:\.\d+)?(?:e[+-]?\d+)?)\s*([kmbt]?)", re.IGNORECASE)
_SUFFIXES = {"": 1.0, "k": 1e3, "m": 1e6, "b": 1e9, "t": 1e12}


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
