"""The commands of the README, as a shell runs them."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from inspect_ai.log import list_eval_logs, read_eval_log

ROOT = Path(__file__).parents[2]
INSPECT = str(Path(sys.executable).parent / "inspect")
BASELINE = ["-T", "critic=no_error", "--model", "mockllm/model", "--display", "plain"]


def inspect_eval(folder, *arguments, **environment):
    return subprocess.run(
        [INSPECT, "eval", *arguments, *BASELINE, "--log-dir", str(folder / "logs")],
        cwd=folder,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
    )


def the_log(folder):
    [info] = list_eval_logs(str(folder / "logs"))
    return read_eval_log(info)


@pytest.mark.parametrize(
    ("spec", "name"),
    [
        ("misstep/processbench.sample", "misstep/processbench.sample"),
        ("evals/processbench.py@processbench.sample", "processbench.sample"),
    ],
)
def test_a_variant_runs_by_its_name_and_from_its_file(tmp_path, spec, name):
    (tmp_path / "evals").symlink_to(ROOT / "evals")
    done = inspect_eval(tmp_path, spec, "--limit", "20")
    log = the_log(tmp_path)
    assert log.status == "success", done.stdout
    assert (log.results.total_samples, log.eval.dataset.samples) == (20, 200)
    assert log.eval.task == name
    assert log.results.headline.metric == "f1_score"
    # Below the table of Inspect's command.
    assert done.stdout.splitlines()[-1].startswith("Results at a glance: misstep show ")


def test_the_file_alone_runs_one_task_on_a_file_beside_the_shell(tmp_path, own_rows):
    (tmp_path / "evals").symlink_to(ROOT / "evals")
    (tmp_path / "my.jsonl").write_text("\n".join(map(json.dumps, own_rows)), encoding="utf-8")
    done = inspect_eval(tmp_path, "evals/processbench.py", "-T", "source=my.jsonl")
    log = the_log(tmp_path)
    assert log.status == "success", done.stdout + done.stderr
    assert [sample.id for sample in log.samples] == ["a", "b", "c"]


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["-T", "subset=mth"], "Unknown subset 'mth'. Did you mean 'math'?"),
        (["-T", "domain=maths", "-T", "source=sample"], "Did you mean 'mathematics'?"),
    ],
)
def test_a_users_mistake_is_one_message_without_a_traceback(tmp_path, arguments, says):
    done = inspect_eval(tmp_path, "misstep/processbench", *arguments)
    shown = " ".join((done.stdout + done.stderr).split())
    assert says in shown
    assert "Traceback" not in shown
    assert not (tmp_path / "logs").exists()
