"""A key that a run uses is in nothing that it leaves or prints."""

import json
import os
import zipfile

import pytest
from click.testing import CliRunner
from inspect_ai.model import get_model

from misstep.cli._main import cli
from misstep.forge import BuildSettings, CallSettings, build_set
from misstep.registry import MisstepError
from misstep.runs import Sweep, run_sweep, sweep_runs
from tests.support.commands import Command, run_in_one_process
from tests.support.openai_server import Fault, Faults, OpenAIServer, forge

KEY = "sk-planted-0123456789abcdef"


def run(folder, *commands):
    """Run commands of misstep with the key in their environment."""
    env = {"LOCAL_API_KEY": KEY, "HOME": str(folder / "home")}
    given = [Command(["misstep", *command.split()], folder, {}) for command in commands]
    return run_in_one_process(given, {**os.environ, **env})


def holders(folder):
    """Return the files that have the key."""
    files = [path for path in folder.rglob("*") if path.is_file()]
    assert [path for path in files if path.suffix == ".eval"]
    return [path for path in files if any(KEY.encode() in part for part in _contents(path))]


def test_a_key_is_in_nothing_that_commands_leave_or_print(tmp_path):
    """Calls are answered, all refused, or every third prompt is too long."""
    some = Faults(script=[None, None, Fault.CONTEXT_LENGTH] * 20)
    with (
        OpenAIServer(forge) as good,
        OpenAIServer(forge, faults=Faults({Fault.LONG_REFUSAL: 1.0})) as bad,
        OpenAIServer(forge, faults=some) as mixed,
    ):
        sweep = {
            "log_dir": str(tmp_path / "sweep"),
            "evals": [{"eval": "misstep/processbench.sample", "limit": 4}],
            "models": [{"model": "openai-api/local/critic", "base_url": mixed.url}],
        }
        (tmp_path / "sweep.json").write_text(json.dumps(sweep), encoding="utf-8")
        one = "run misstep/processbench.sample --processes 1 --limit 3"
        build = "forge build --source offline --num-examples 4 --max-attempts 1 --max-retries 0"
        ended = run(
            tmp_path,
            f"{one} --model openai-api/local/critic --model-base-url {good.url}",
            f"{one} --model openai-api/local/critic --model-base-url {bad.url}",
            f"{one} --model lean/local/critic --model-base-url {bad.url}",
            "report logs -o report.html",
            "sweep run sweep.json --processes 1",
            f"{build} --model openai-api/local/injector --model-base-url {mixed.url} -o built",
            "forge report built",
        )
    said = "".join(end.output for end in ended)
    assert KEY not in said
    assert [end.status for end in ended] == [0, 1, 1, 0, 0, 0, 0], said
    assert holders(tmp_path) == []
    for server in (good, bad, mixed):
        assert {one.headers["authorization"] for one in server.requests} == {f"Bearer {KEY}"}
    assert (len(good.requests), len(bad.requests)) >= (3, 6)
    assert {one.body["model"] for one in mixed.requests} == {"critic", "injector"}
    assert (tmp_path / "report.html").is_file()
    assert {path.suffix for path in (tmp_path / "built").rglob("*")} >= {".eval", ".jsonl", ".html"}
    assert len(list((tmp_path / "logs").rglob("*.eval"))) >= 3


@pytest.mark.parametrize(
    "options",
    [
        ["--model-base-url", f"https://user:{KEY}@host/v1"],
        ["--model-base-url", f"https://host/v1?key={KEY}"],
        ["--extra-headers", f"X-Any={KEY}"],
        ["-M", f"default_headers={{X-Any: {KEY}}}"],
        ["-M", f"token={KEY}"],
        ["--env", f"ANY={KEY}"],
    ],
)
def test_a_command_with_a_key_is_refused_before_a_file_is_written(tmp_path, monkeypatch, options):
    monkeypatch.chdir(tmp_path)
    command = ["run", "misstep/processbench.sample", "--model", "openai-api/local/critic"]
    with pytest.raises(MisstepError) as caught:
        CliRunner().invoke(cli, [*command, *options], catch_exceptions=False)
    assert KEY not in str(caught.value)
    assert "environment" in str(caught.value)
    assert list(tmp_path.rglob("*")) == []


@pytest.mark.parametrize("shards", [1, 2])
@pytest.mark.parametrize(
    "settings",
    [
        {"base_url": f"https://user:{KEY}@host/v1"},
        {"base_url": f"https://host/v1?key={KEY}"},
        {"args": {"default_headers": {"X-Any": KEY}}},
    ],
)
def test_a_sweep_with_a_key_is_refused_before_a_file_is_written(tmp_path, shards, settings):
    sweep = Sweep.model_validate(
        {
            "log_dir": str(tmp_path / "logs"),
            "evals": [{"eval": "misstep/processbench.sample", "limit": 2, "shards": shards}],
            "models": [{"model": "openai-api/local/critic", **settings}],
        }
    )

    def execute(jobs):
        assert not jobs
        return []

    [state] = run_sweep(sweep_runs(sweep), execute, lambda _: None)
    assert "a secret must not be" in state.problem
    assert KEY not in state.problem
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []


@pytest.mark.parametrize("url", [f"https://user:{KEY}@host/v1", f"https://host/v1?key={KEY}"])
def test_a_build_with_a_key_in_an_address_is_refused_before_a_file_is_written(tmp_path, url):
    folder = tmp_path / "built"
    model = get_model("openai-api/local/injector", base_url=url, api_key="x", memoize=False)
    with pytest.raises(MisstepError, match="must not hold a secret") as caught:
        build_set(
            *("offline", [], BuildSettings(votes=0), model, None, folder, CallSettings()),
            on_each=lambda _: None,
        )
    assert KEY not in str(caught.value)
    assert not folder.exists()


def _contents(path):
    yield path.read_bytes()
    if zipfile.is_zipfile(path):
        with zipfile.ZipFile(path) as archive:
            for name in archive.namelist():
                yield archive.read(name)
