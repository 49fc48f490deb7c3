"""Small files that expand to huge ones are refused, and not expanded."""

import gzip
import json
from zipfile import ZIP_DEFLATED, ZipFile

import pytest
from click.testing import CliRunner

from misstep.cli._main import cli
from misstep.loaders import load_rows
from misstep.registry import DataError, MisstepError
from misstep.registry._user_input import read_yaml
from misstep.reports import export_log, read_logs
from misstep.runs import read_sweep
from tests.security.test_names import six_samples


@pytest.mark.parametrize("read", [lambda path: read_sweep(str(path)), read_yaml])
def test_a_yaml_file_whose_aliases_multiply_is_refused(tmp_path, read):
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 9)}]" for i in range(1, 10)]
    path = tmp_path / "sweep.yaml"
    path.write_text("\n".join(lines))
    with pytest.raises(MisstepError, match="more than 1,000,000 values"):
        read(path)


def test_ordinary_aliases_are_read(tmp_path):
    path = tmp_path / "sweep.yaml"
    path.write_text(
        "log_dir: logs\nevals: [{eval: a, args: &x {b: 1}}, {eval: c, args: *x}]\nmodels: [m]\n"
    )
    assert [one.args for one in read_sweep(str(path)).evals] == [{"b": 1}, {"b": 1}]


@pytest.mark.parametrize("name", ["rows.jsonl.gz", "rows.json.gz", "rows.csv.gz"])
def test_a_compressed_file_is_read_up_to_a_size(tmp_path, monkeypatch, name):
    row = {"id": "a", "problem": "p", "steps": ["s"], "label": 0}
    text = json.dumps([row] if ".json." in name else row)
    path = tmp_path / name
    path.write_bytes(gzip.compress(text.encode() + b" " * 2_000_000))
    monkeypatch.setenv("MISSTEP_MAX_SIZE", "1000000")
    with pytest.raises(DataError, match="expands to more than 1,000,000 bytes"):
        load_rows(str(path))
    if ".csv" not in name:
        monkeypatch.setenv("MISSTEP_MAX_SIZE", "3000000")
        assert load_rows(str(path))[0].id == "a"


def test_a_log_that_is_a_zip_bomb_is_not_read(tmp_path, monkeypatch):
    path = tmp_path / "run.eval"
    six_samples(path)
    with (
        ZipFile(path, "a", ZIP_DEFLATED) as archive,
        archive.open("samples/bomb_epoch_1.json", "w") as member,
    ):
        for _ in range(110):
            member.write(bytes(1 << 20))
    with pytest.raises(MisstepError, match=r"bomb_epoch_1\.json would expand from"):
        export_log(str(path), "json")
    assert "would expand" in read_logs(str(path)).skipped[0].reason
    # A user who trusts the log may allow its size.
    monkeypatch.setenv("MISSTEP_MAX_SIZE", "1")
    result = CliRunner().invoke(cli, ["show", str(path), "--max-size", str(200 << 20)])
    assert "would expand" not in result.output
    assert "would expand" not in str(result.exception)


def test_a_size_that_is_none_is_refused_by_name(tmp_path, monkeypatch):
    path = tmp_path / "rows.jsonl.gz"
    path.write_bytes(gzip.compress(b"{}"))
    monkeypatch.setenv("MISSTEP_MAX_SIZE", "4 GB")
    with pytest.raises(MisstepError, match="MISSTEP_MAX_SIZE=4 GB: a number of bytes is needed"):
        load_rows(str(path))
