"""Names that come from data stay inside of the folder that was named."""

import json
from pathlib import Path, PurePath, PureWindowsPath

import pytest
from click.testing import CliRunner
from hypothesis import given, strategies as st
from inspect_ai.log import EvalDataset

from misstep.cli._main import cli
from misstep.loaders import FirstErrorRow
from misstep.reports import file_name
from tests.support.logs import write_first_error_log

EVIL = ["../../../evil", "/tmp/evil", "..", "a/../../evil", "..\\evil", "C:\\evil", "~/evil", "."]  # noqa: S108
pieces = st.lists(st.sampled_from(["..", "/", "\\", ".", "~", "C:", "a", "\x00", "\n"])).map(
    "".join
)


@given(st.text() | pieces)
def test_any_text_becomes_one_part_of_a_path(text):
    name = file_name(text)
    assert PurePath(name).parts == PureWindowsPath(name).parts == (name,)
    assert name not in (".", "..")
    assert "\x00" not in name


@pytest.mark.parametrize("form", ["processbench", "deltabench", "json"])
def test_exported_files_stay_in_their_folder(tmp_path, form):
    rows = [
        FirstErrorRow(id=f"{name}/{label}", problem="p", steps=["s"], label=label, subset=name)
        for name in EVIL
        for label in (-1, 0)
    ]
    log = tmp_path / "in" / "run.eval"
    dataset = EvalDataset(name=EVIL[0], samples=len(rows), sample_ids=[row.id for row in rows])
    replies = [rf"\boxed{{{row.label}}}" for row in rows]
    write_first_error_log(log, rows, replies, model="openai/../../evil", dataset=dataset)
    folder = tmp_path / "deep" / "er" / "out"
    before = set(tmp_path.rglob("*"))
    done = CliRunner().invoke(cli, ["export", str(log), "--format", form, "-o", str(folder)])
    assert done.exit_code == 0, done.output
    new = [path for path in set(tmp_path.rglob("*")) - before if path.is_file()]
    assert new
    assert all(folder in path.parents for path in new)
    assert not Path("/tmp/evil").exists()  # noqa: S108
    if form == "processbench":
        written = [json.loads(line) for path in new for line in path.read_text().splitlines()]
        assert sorted(row["id"] for row in written) == sorted(row.id for row in rows)
