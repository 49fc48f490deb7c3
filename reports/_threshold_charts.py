"""The curves of thresholds as data and as charts."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from misstep.reports._charts import chart_library
from misstep.reports._step_scores import calibration_error
from misstep.reports._text import to_json
from misstep.reports._thresholds import METRICS, ThresholdCurve

if TYPE_CHECKING:
    from misstep.reports._charts import Chart


def threshold_records(curves: Mapping[str, ThresholdCurve]) -> list[dict[str, Any]]:
    """One row per subset and observed reward as threshold: the data of the curves."""
    names = ("threshold", *METRICS, "precision", "recall")
    records: list[dict[str, Any]] = []
    for subset, curve in curves.items():
        columns = [curve.thresholds, curve.f1_scores, *curve.accuracies]
        columns += curve.steps.precision_and_recall(curve.thresholds)
        rows = np.column_stack(columns).tolist()
        records += [{"subset": subset, **dict(zip(names, row, strict=True))} for row in rows]
    return [to_json(record) for record in records]


def calibration_records(curves: Mapping[str, ThresholdCurve]) -> list[dict[str, Any]]:
    """One row per subset and bin of rewards."""
    return [
        {"subset": subset, **to_json(one)}
        for subset, curve in curves.items()
        for one in curve.steps.calibration()
    ]


def threshold_charts(
    curves: Mapping[str, ThresholdCurve], tuned: Sequence[float], title: str
) -> "Chart":
    """F1 by threshold, precision and recall of wrong steps, and calibration, side by side."""
    alt = chart_library()
    unit = alt.Scale(domain=[0, 1])
    colour = alt.Color("subset:N", title="subset", sort=list(curves))
    # The last threshold of each subset is infinite: it has no place on an axis.
    points = [one for one in threshold_records(curves) if one["threshold"] is not None]
    base = alt.Chart(alt.Data(values=points))
    f1 = base.mark_line(interpolate="step-before").encode(
        x=alt.X("threshold:Q", scale=unit),
        y=alt.Y("f1_score:Q", title="F1", scale=unit),
        color=colour,
        tooltip=["subset:N", "threshold:Q", alt.Tooltip("f1_score:Q", format=".3f")],
    )
    chosen = alt.Chart(alt.Data(values=[{"threshold": one} for one in tuned]))
    rule = chosen.mark_rule(strokeDash=[4, 4]).encode(x="threshold:Q")
    curve = base.mark_line().encode(
        x=alt.X("recall:Q", scale=unit),
        y=alt.Y("precision:Q", scale=unit),
        order="threshold:Q",
        color=colour,
        tooltip=["subset:N", "threshold:Q", "precision:Q", "recall:Q"],
    )
    records = calibration_records(curves)
    ends = [{"mean_reward": 0, "right": 0}, {"mean_reward": 1, "right": 1}]
    ideal = alt.Chart(alt.Data(values=ends)).mark_line(strokeDash=[4, 4], color="grey")
    bins = alt.Chart(alt.Data(values=records)).mark_line(point=True)
    bins = bins.encode(
        x=alt.X("mean_reward:Q", title="mean reward", scale=unit),
        y=alt.Y("right:Q", title="share of right steps", scale=unit),
        color=colour,
        tooltip=["subset:N", "steps:Q", "mean_reward:Q", "right:Q"],
    )
    errors = {name: calibration_error(curve.steps.calibration()) for name, curve in curves.items()}
    listed = ", ".join(f"{name} {error:.3f}" for name, error in errors.items())
    panels = {
        "F1 by threshold": f1 + rule,
        "Wrong steps: precision and recall": curve,
        "Calibration": ideal.encode(x="mean_reward:Q", y="right:Q") + bins,
    }
    charts = [
        panel.properties(title=alt.TitleParams(name), width=300, height=240)
        for name, panel in panels.items()
    ]
    charts[-1].title.subtitle = f"expected error: {listed}"
    chart: Chart = alt.hconcat(*charts).properties(
        title=f"{title}: threshold {', '.join(f'{one:.5g}' for one in tuned)}"
    )
    return chart
