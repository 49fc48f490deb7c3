"""`misstep threshold` from the command line, on imported step scores."""

import json

import pytest
from click.testing import CliRunner

from misstep.cli._main import cli
from misstep.registry import MisstepError


@pytest.fixture(scope="module")
def logs(tmp_path_factory):
    """A log of rewards in two subsets, and one without any."""
    folder = tmp_path_factory.mktemp("logs")
    rows, scores = [], []
    for i in range(12):
        subset = "gsm8k" if i < 6 else "math"
        label = -1 if i % 2 else 1
        rows.append({"id": f"r{i}", "problem": f"p{i}", "steps": ["a", "b"], "label": label})
        rows[-1]["subset"] = subset
        scores.append({"id": f"r{i}", "scores": [0.9, 0.3 if label == 1 else 0.4 + i / 100]})
    source, results = folder / "rows.jsonl", folder / "scores.jsonl"
    predictions = folder / "predictions.jsonl"
    for path, content in (
        (source, rows),
        (results, scores),
        (predictions, [{"id": "r1", "prediction": -1}]),
    ):
        path.write_text("\n".join(map(json.dumps, content)), encoding="utf-8")
    made = {}
    for file, model in ((results, "scored"), (predictions, "bare")):
        command = ["import", str(file), "--source", str(source), "--model", model]
        CliRunner().invoke(
            cli, [*command, "--log-dir", str(folder / model)], catch_exceptions=False
        )
        [made[model]] = (folder / model).glob("*.eval")
    return made


def invoke(*arguments):
    return CliRunner().invoke(cli, ["threshold", *map(str, arguments)], catch_exceptions=False)


def test_it_tunes_on_one_subset_and_reports_on_the_others(logs, tmp_path):
    result = invoke(logs["scored"], "-o", tmp_path / "out")
    assert result.exit_code == 0, result.output
    summary = json.loads((tmp_path / "out" / "imported_scored_summary.json").read_text())
    # 0.3 to 0.41 separate gsm8k's rows, and math's are beyond it.
    assert summary["tuned_on"] == "gsm8k"
    assert summary["threshold"] == pytest.approx(0.355)
    assert summary["subsets"]["math"]["tuned"]["f1_score"] == 1.0
    assert summary["subsets"]["gsm8k"]["default"]["correct_accuracy"] == 0.0
    names = {path.name.removeprefix("imported_scored_") for path in (tmp_path / "out").iterdir()}
    assert names == {
        "thresholds.csv",
        "calibration.csv",
        "summary.json",
        "curves.html",
        "curves.svg",
    }
    lines = (tmp_path / "out" / "imported_scored_thresholds.csv").read_text().splitlines()
    # Each subset has five rewards, then infinity.
    assert len(lines) == 1 + 2 * 6
    assert "<script" in (tmp_path / "out" / "imported_scored_curves.html").read_text()


def test_the_table_fits_80_columns_and_has_the_numbers_of_the_json(logs):
    output = invoke(logs["scored"]).output
    assert max(map(len, output.splitlines())) <= 80
    [summary] = json.loads(invoke(logs["scored"], "--json").output)
    for subset in summary["subsets"].values():
        for metrics in (subset["tuned"], subset["default"]):
            lower, upper = (f"{100 * end:.1f}" for end in metrics["f1_score_interval"])
            assert f"{100 * metrics['f1_score']:.1f} [{lower}, {upper}]" in output
        assert f"{subset['calibration_error']:.3f}" in output
        assert sum(one["steps"] for one in subset["calibration"]) == subset["steps"] == 12
    text = " ".join(output.split())
    assert "at the tuned threshold (tuned on gsm8k *) and at the default 0.5" in text
    assert "later steps have no label" in text


def test_cross_validation_needs_no_other_subset(logs):
    result = invoke(logs["scored"], "--tune", "cross-validation")
    assert result.exit_code == 0, result.output
    assert max(map(len, result.output.splitlines())) <= 80
    assert "(cross-validation, 10 folds)" in " ".join(result.output.split())


def test_what_cannot_be_swept_says_why(logs, tmp_path):
    with pytest.raises(MisstepError, match="holds no rewards"):
        invoke(logs["bare"])
    with pytest.raises(MisstepError, match="Did you mean 'gsm8k'"):
        invoke(logs["scored"], "--tune", "gsm8")
    with pytest.raises(MisstepError, match="in another log, too"):
        invoke(logs["scored"], logs["scored"])
    other = tmp_path / "x.eval"
    other.write_text("nothing")
    with pytest.raises(MisstepError, match="cannot be read as an Inspect log"):
        invoke(other)
