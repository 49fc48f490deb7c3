"""Names that come from data stay inside of the folder that was named."""

import json
import os
from pathlib import Path, PurePath, PureWindowsPath

import pytest
from click.testing import CliRunner
from hypothesis import given, strategies as st
from inspect_ai import eval as run_eval
from inspect_ai.log import EvalDataset, write_eval_log
from inspect_ai.model import ModelOutput, ModelUsage, get_model

from misstep.cli._main import cli
from misstep.evals import agent_process, guided_search
from misstep.loaders import FirstErrorRow, write_files
from misstep.registry import DataError
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
        FirstErrorRow(
            id=f"{name}/{label}", problem="p", steps=["s"], label=label, subset=f"{name}{number}"
        )
        for number, name in enumerate(EVIL)
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


def test_two_subsets_never_share_a_file(tmp_path):
    rows = [
        FirstErrorRow(id=name, problem="p", steps=["s"], label=0, subset=name)
        for name in ("a/b", "a_b")
    ]
    log = tmp_path / "run.eval"
    write_first_error_log(log, rows, [r"\boxed{0}"] * 2)
    folder = tmp_path / "out"
    done = CliRunner().invoke(
        cli, ["export", str(log), "--format", "processbench", "-o", str(folder)]
    )
    assert done.exit_code != 0
    assert "'a/b' and 'a_b' would both be written" in str(done.exception)
    assert not folder.exists()


@pytest.mark.parametrize(
    ("task", "form"), [(guided_search, "search"), (agent_process, "agentprocessbench")]
)
def test_two_sets_never_share_a_file_of_any_format(tmp_path, task, form):
    output = ModelOutput.from_content("mockllm/model", r"The answer is \boxed{1}.")
    output.usage = ModelUsage(input_tokens=1, output_tokens=1, total_tokens=2)
    [log] = run_eval(
        task(method="plain") if task is guided_search else task(source="agent_sample"),
        model=get_model("mockllm/model", custom_outputs=lambda *_: output),
        log_dir=str(tmp_path / "logs"),
        limit=2,
        display="none",
    )
    for sample, subset in zip(log.samples, ("a/b", "a_b"), strict=True):
        sample.metadata["subset"] = subset
    write_eval_log(log)
    folder = tmp_path / "out"
    done = CliRunner().invoke(cli, ["export", log.location, "--format", form, "-o", str(folder)])
    assert "would both be written" in str(done.exception)
    assert not folder.exists()


def test_long_names_are_shortened_and_stay_different(tmp_path):
    rows = [
        FirstErrorRow(id=f"{i}", problem="p", steps=["s"], label=i % 2 - 1, subset="é" * 300 + end)
        for i, end in enumerate(["a", "b"])
    ]
    log = tmp_path / "run.eval"
    write_first_error_log(log, rows, [r"\boxed{0}"] * 2)
    folder = tmp_path / "out"
    done = CliRunner().invoke(
        cli, ["export", str(log), "--format", "processbench", "-o", str(folder)]
    )
    assert done.exit_code == 0, done.exception
    assert len(list(folder.iterdir())) == 2


@given(st.text(min_size=100, max_size=2000))
def test_a_name_fits_any_file_system(text):
    assert len(file_name(text).encode(errors="replace")) <= 130


@pytest.mark.parametrize("bad", ["x" * 300, "folder"])
def test_nothing_is_written_if_one_file_cannot_be(tmp_path, bad):
    (tmp_path / "folder").mkdir()
    with pytest.raises(DataError, match="cannot be written"):
        write_files({tmp_path / "good": b"1", tmp_path / bad: b"2"}, "Choose another.")
    assert [path.name for path in tmp_path.iterdir()] == ["folder"]


def test_a_pipe_or_device_is_written_to_and_never_replaced(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    # Opened for both ends, so that nobody waits.
    end = os.open(pipe, os.O_RDWR)
    try:
        write_files({pipe: b"page", tmp_path / "file": b"1"}, "Choose another.")
        assert os.read(end, 10) == b"page"
    finally:
        os.close(end)
    assert pipe.is_fifo()
    assert (tmp_path / "file").read_bytes() == b"1"
