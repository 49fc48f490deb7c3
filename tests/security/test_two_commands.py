"""A second command on a folder that is in use is told so, or waits, before it does anything."""

import logging
import threading

import pytest
from click.testing import CliRunner

from misstep.cli._main import cli
from misstep.loaders import folder_lock
from misstep.registry import MisstepError
from misstep.runs import EvalCommand, SplitRun
from tests.support.openai_server import OpenAIServer, forge

EVAL = "misstep/processbench.sample"


@pytest.mark.parametrize("command", ["run", "forge build", "study"])
def test_the_second_command_makes_no_call_and_says_who_holds_the_folder(
    tmp_path, monkeypatch, command
):
    monkeypatch.setenv("LOCAL_API_KEY", "x")
    model = "openai-api/local/model"
    with OpenAIServer(forge) as server:
        monkeypatch.setenv("LOCAL_BASE_URL", server.url)
        folder = str(tmp_path / "folder")
        options = ["-o", folder, "--source", "offline", "--num-examples", "1", "--no-review"]
        if command == "run":
            options = ["--model", model]
            planned = EvalCommand.parse(EVAL, ["critic=uniform"], (0, 2), options)
            folder = SplitRun.create(planned, 1, str(tmp_path)).folder
            options = ["--resume", folder]
        elif command == "study":
            options = ["--log-dir", folder, "-o", str(tmp_path / "out"), "-T", "n=2"]
        else:
            options += ["--model", model]
        with folder_lock(folder), pytest.raises(MisstepError, match="in use by process"):
            CliRunner().invoke(cli, [*command.split(), *options], catch_exceptions=False)
        assert server.requests == []
    assert not (tmp_path / "out").exists()


def test_a_second_import_waits_until_the_first_ends(tmp_path):
    rows = tmp_path / "own.csv"
    rows.write_text("id,prediction\ngsm8k-0,1\n", encoding="utf-8")
    held, waiting, ended = threading.Event(), threading.Event(), threading.Event()

    def hold():
        with folder_lock(tmp_path / "logs"):
            held.set()
            waiting.wait(60)
            ended.set()

    class Warned(logging.Handler):
        def emit(self, record):
            waiting.set()

    logger, handler = logging.getLogger("misstep.loaders._files"), Warned()
    logger.addHandler(handler)
    first = threading.Thread(target=hold)
    first.start()
    held.wait()
    try:
        command = ["import", str(rows), "--source", "sample", "--log-dir", str(tmp_path / "logs")]
        CliRunner().invoke(cli, [*command, "--model", "m", "--partial"])
        assert ended.is_set()
    finally:
        waiting.set()
        logger.removeHandler(handler)
        first.join()
