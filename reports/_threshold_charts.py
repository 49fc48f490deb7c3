"""How thresholds do, drawn: F1, precision and recall, calibration."""

from collections.abc import Iterator, Mapping
from math import isnan
from typing import TYPE_CHECKING, Any

from misstep.reports._charts import chart_library
from misstep.reports._threshold_curve import ThresholdCurve, calibration_error

if TYPE_CHECKING:
    from misstep.reports._charts import Chart

Record = dict[str, Any]

_SIZE = {"width": 300, "height": 240}


def threshold_records(curves: Mapping[str, ThresholdCurve]) -> list[Record]:
    """A row for each subset and threshold: what the curves are drawn from."""
    return [record for subset, curve in curves.items() for record in _at_thresholds(subset, curve)]


def calibration_records(curves: Mapping[str, ThresholdCurve]) -> list[Record]:
    """A row for each subset and bin of rewards."""
    return [
        {"subset": subset, "lower": one.lower, "upper": one.upper, "steps": one.steps}
        | {"mean_reward": _known(one.mean_reward), "right": _known(one.right)}
        for subset, curve in curves.items()
        for one in curve.calibration()
    ]


def threshold_charts(curves: Mapping[str, ThresholdCurve], tuned: float, title: str) -> "Chart":
    """The curves of a model beside each other.

    Args:
        curves: By subset.
        tuned: The threshold that was chosen.
        title: The model's name.
    """
    alt = chart_library()
    records = threshold_records(curves)
    base = alt.Chart(alt.Data(values=records)).properties(**_SIZE)
    colour = alt.Color("subset:N", title="subset", sort=list(curves))
    f1 = base.mark_line().encode(
        x=alt.X("threshold:Q", scale=alt.Scale(domain=[0, 1])),
        y=alt.Y("f1_score:Q", title="F1", scale=alt.Scale(domain=[0, 1])),
        color=colour,
        tooltip=["subset:N", "threshold:Q", alt.Tooltip("f1_score:Q", format=".3f")],
    )
    chosen = alt.Chart(alt.Data(values=[{"threshold": tuned}]))
    rule = chosen.mark_rule(strokeDash=[4, 4]).encode(x="threshold:Q")
    curve = base.mark_line(point=True).encode(
        x=alt.X("recall:Q", scale=alt.Scale(domain=[0, 1])),
        y=alt.Y("precision:Q", scale=alt.Scale(domain=[0, 1])),
        order="threshold:Q",
        color=colour,
        tooltip=["subset:N", "threshold:Q", "precision:Q", "recall:Q"],
    )
    panels = alt.hconcat(
        (f1 + rule).properties(title="F1 by threshold"),
        curve.properties(title="Wrong steps: precision and recall"),
        _calibration_chart(curves, colour),
    )
    return panels.properties(title=f"{title}: threshold {tuned}")  # type: ignore[no-any-return]


def _calibration_chart(curves: Mapping[str, ThresholdCurve], colour: Any) -> Any:  # noqa: ANN401
    alt = chart_library()
    errors = {name: calibration_error(curve.calibration()) for name, curve in curves.items()}
    listed = ", ".join(f"{name} {error:.3f}" for name, error in errors.items())
    records = [record for record in calibration_records(curves) if record["steps"]]
    ends = [{"mean_reward": 0, "right": 0}, {"mean_reward": 1, "right": 1}]
    ideal = alt.Chart(alt.Data(values=ends)).mark_line(strokeDash=[4, 4], color="grey")
    ideal = ideal.encode(x="mean_reward:Q", y="right:Q")
    points = alt.Chart(alt.Data(values=records)).mark_line(point=True)
    points = points.encode(
        x=alt.X("mean_reward:Q", title="mean reward", scale=alt.Scale(domain=[0, 1])),
        y=alt.Y("right:Q", title="share of right steps", scale=alt.Scale(domain=[0, 1])),
        color=colour,
        tooltip=["subset:N", "steps:Q", "mean_reward:Q", "right:Q"],
    )
    title = alt.TitleParams("Calibration", subtitle=f"expected error: {listed}")
    return (ideal + points).properties(title=title, **_SIZE)


def _at_thresholds(subset: str, curve: ThresholdCurve) -> Iterator[Record]:
    errors, corrects = curve.accuracies
    precision, recall = curve.precision_and_recall()
    for i, threshold in enumerate(curve.thresholds):
        yield {
            "subset": subset,
            "threshold": float(threshold),
            "f1_score": _known(curve.f1_scores[i]),
            "error_accuracy": _known(errors[i]),
            "correct_accuracy": _known(corrects[i]),
            "precision": _known(precision[i]),
            "recall": _known(recall[i]),
        }


def _known(value: float) -> float | None:
    """JSON and CSV know no nan; what is undefined is left empty, and never 0."""
    return None if isnan(value) else float(value)
