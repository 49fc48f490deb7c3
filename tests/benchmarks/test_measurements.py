import pytest

import benchmarks.computing
from benchmarks.__main__ import main
from benchmarks._measurement import Measurement


def table_of(monkeypatch, capsys, measure):
    monkeypatch.setattr(benchmarks.computing, "measure", measure)
    code = main(["--only", "computing"])
    return code, capsys.readouterr().out


@pytest.mark.parametrize(
    ("value", "ratio", "outcome"), [(50.0, "0.50", "ok"), (200.0, "2.00", "over")]
)
def test_a_figure_stands_beside_its_target(monkeypatch, capsys, value, ratio, outcome):
    measured = [Measurement("load", value, "ms", 100.0, "3,400 rows")]
    code, out = table_of(monkeypatch, capsys, lambda: measured)
    row = next(line for line in out.splitlines() if "load" in line)
    assert [cell.strip() for cell in row.strip("│").split("│")] == [
        "load",
        f"{value:g} ms",
        "≤ 100 ms",
        ratio,
        outcome,
        "3,400 rows",
    ]
    assert code == 0


def test_a_skipped_figure_says_why(monkeypatch, capsys):
    measured = [Measurement("load", None, "ms", 100.0, "not there yet")]
    code, out = table_of(monkeypatch, capsys, lambda: measured)
    assert "skipped" in out
    assert "not there yet" in out
    assert code == 0


def test_a_crash_is_named_and_fails_the_command(monkeypatch, capsys):
    code, out = table_of(monkeypatch, capsys, lambda: [1 / 0])
    assert "Crashed: computing" in out
    assert code == 1
