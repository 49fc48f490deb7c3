"""Recorded outputs of real models reach the numbers that others have for them."""

import csv
from pathlib import Path

import pytest

from misstep.registry import published, records
from misstep.reports import import_records, reference_runs
from misstep.reports._results_page import _numbers, missing_numbers, results_files

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def committed():
    """The figures of the committed page."""
    with (ROOT / "docs" / "results" / "figures.csv").open(encoding="utf-8") as stream:
        return list(csv.DictReader(stream))


def test_numbers_for_the_same_rows_agree(committed):
    same = [row for row in committed if row["same_rows"] == "True"]
    assert len(same) >= 50
    for row in same:
        found = abs(float(row["value"]) - float(row["other"]))
        assert found <= 0.1, row
        assert round(found, 2) == pytest.approx(abs(float(row["difference"])), abs=0.011)


def test_committed_figures_are_those_of_the_records(committed, real_data, tmp_path, monkeypatch):
    if not (real_data / "mr_math").is_dir():
        pytest.skip("the offline mirror has no mr_math")
    monkeypatch.setenv("MISSTEP_DATA", str(real_data))
    # One small set of records; the others are scored by the same code.
    (tmp_path / "given").mkdir()
    (tmp_path / "given" / "mr_math").symlink_to(real_data / "mr_math")
    logs = tmp_path / "logs"
    assert dict(import_records(tmp_path / "given", logs)) == {"mr_math": 1}
    assert dict(import_records(tmp_path / "given", logs)) == {}
    [recorded] = reference_runs(logs)
    found = [
        {k: "" if v is None else str(v) for k, v in one.row().items()} for one in recorded.figures
    ]
    assert found == [row for row in committed if row["record"] == "mr_math"]
    files = results_files([recorded], [], tmp_path / "page.md")
    text = files[tmp_path / "page.md"].decode()
    assert "| GPT-4 | solution\\_macro\\_f1 | meta\\_reasoning\\_published | 159 | 73.23 |" in text


def test_every_published_number_is_found_or_missing():
    tables = published()
    total = {
        name: sum(_numbers(result) for result in table.results.values())
        for name, table in tables.items()
    }
    assert total["agentprocessbench_paper"] == 20 * 10
    assert total["processbench_paper"] == 25 * 13
    found = {"who_and_when_paper": {("GPT-4o (all_at_once, with answer)", "x")}}
    missing = list(missing_numbers(found))
    for name, count in total.items():
        left = sum(one.numbers for one in missing if one.table == name)
        assert left == count - len(found.get(name, ()))
    for table in tables.values():
        assert table.commands.keys() <= table.protocols.keys()
        assert table.factors.keys() <= table.protocols.keys()
    prices = {(one.table, one.protocol): one.price for one in missing}
    assert prices["processbench_paper", "prm"] is None
    assert prices["processbench_paper", "maj@8"] > prices["processbench_paper", "single"] > 0


def test_records_name_published_tables_and_models():
    for record in records().values():
        if record.table is not None:
            table = published()[record.table]
            assert set(record.names.values()) <= table.results.keys()
            assert set(record.protocols) <= table.protocols.keys()
