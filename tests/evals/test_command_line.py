"""The commands of the README, as a shell runs them."""

import json
from pathlib import Path

import pytest
from inspect_ai.log import list_eval_logs, read_eval_log

from tests.support.commands import Command, run_in_one_process

ROOT = Path(__file__).parents[2]
BASELINE = ["-T", "critic=no_error", "--model", "mockllm/model", "--display", "plain"]
EVALS = {
    "by name": ["misstep/processbench.sample", "--limit", "20"],
    "from its file": ["evals/processbench.py@processbench.sample", "--limit", "20"],
    "own rows": ["evals/processbench.py", "-T", "source=my.jsonl"],
    "unknown subset": ["misstep/processbench", "-T", "subset=mth"],
    "unknown domain": ["misstep/processbench", "-T", "domain=maths", "-T", "source=sample"],
}


@pytest.fixture(scope="module")
def ends(tmp_path_factory):
    """Return the folder of each eval, and how its command ended."""
    folders = {name: tmp_path_factory.mktemp(name.replace(" ", "-")) for name in EVALS}
    rows = [
        {"id": "a", "problem": "1 + 1?", "steps": ["1 + 1 = 3."], "label": 0},
        {"id": "b", "problem": "2 + 2?", "steps": ["2 + 2", "= 4."], "label": -1},
    ]
    for folder in folders.values():
        (folder / "evals").symlink_to(ROOT / "evals")
        (folder / "my.jsonl").write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    commands = [
        Command(["inspect", "eval", *words, *BASELINE, "--log-dir", "logs"], folders[name], {})
        for name, words in EVALS.items()
    ]
    ended = run_in_one_process(commands)
    return {name: (folder, end) for (name, folder), end in zip(folders.items(), ended, strict=True)}


def the_log(folder):
    [info] = list_eval_logs(str(folder / "logs"))
    return read_eval_log(info)


@pytest.mark.parametrize(
    ("way", "name"),
    [("by name", "misstep/processbench.sample"), ("from its file", "processbench.sample")],
)
def test_a_variant_runs_by_its_name_and_from_its_file(ends, way, name):
    folder, end = ends[way]
    log = the_log(folder)
    assert log.status == "success", end.output
    assert (log.results.total_samples, log.eval.dataset.samples) == (20, 200)
    assert log.eval.task == name
    assert log.results.headline.metric == "f1_score"
    # Below the table of Inspect's command.
    assert end.output.splitlines()[-1].startswith("Results at a glance: misstep show ")


def test_the_file_alone_runs_one_task_on_a_file_beside_the_shell(ends):
    folder, end = ends["own rows"]
    log = the_log(folder)
    assert log.status == "success", end.output
    assert [sample.id for sample in log.samples] == ["a", "b"]


@pytest.mark.parametrize(
    ("way", "says"),
    [
        ("unknown subset", "Unknown subset 'mth'. Did you mean 'math'?"),
        ("unknown domain", "Did you mean 'mathematics'?"),
    ],
)
def test_a_users_mistake_is_one_message_without_a_traceback(ends, way, says):
    folder, end = ends[way]
    shown = " ".join(end.output.split())
    assert says in shown
    assert "Traceback" not in shown
    assert not (folder / "logs").exists()
