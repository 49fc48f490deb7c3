import zipfile
from types import SimpleNamespace

import pytest
from inspect_ai.log import EvalDataset, write_eval_log

from misstep.loaders import load_rows
from misstep.reports import read_run
from tests.support.logs import guesses, write_first_error_log

ROWS = load_rows("sample")[::3]
"""Written and generated ones: enough to count, and quick to write eleven times."""
SETTINGS = {"task": "misstep/processbench.sample"}
LONG_NAME = "openai-api/vllm/Llama3.1-8B-PRM-Mistral-Data"
"""Legends and menus must show it in full at any width."""


def dataset(rows, name="sample"):
    return EvalDataset(name=name, samples=len(rows), sample_ids=[row.id for row in rows])


def write_run(path, replies, rows=ROWS, **options):
    """A log of the embedded sample's rows."""
    spec = {"dataset": dataset(rows), **SETTINGS, **options}
    return write_first_error_log(path, rows, replies, **spec)


@pytest.fixture(scope="session")
def folder(tmp_path_factory):
    """Three good runs, one of them voted and with rewards, and every kind of log to skip."""
    folder = tmp_path_factory.mktemp("logs")
    good = {"strong": guesses(ROWS, 0.7, 1), "weak": guesses(ROWS, 0.3, 2)}
    for name, replies in good.items():
        write_run(folder / f"{name}.eval", replies, model=f"openai/{name}")
    votes = list(zip(*(guesses(ROWS, 0.5, seed) for seed in range(4)), strict=True))
    rewards = [
        [0.9 if row.label < 0 or i < row.label else 0.2 for i in range(len(row.steps))]
        for row in ROWS
    ]
    write_run(folder / "voted.eval", votes, model="openai/gpt-4o-mini", rewards=rewards)
    replies = good["weak"]
    write_run(folder / "sub" / "failed.eval", replies, model=LONG_NAME, failed=[ROWS[0].id])
    for status in ("cancelled", "started", "error"):
        write_run(folder / f"{status}.eval", replies, status=status)
    foreign = write_run(folder / "foreign.eval", replies, task="other/gpqa")
    for score in foreign.results.scores:
        score.name = score.scorer = "choice"
    write_eval_log(foreign, str(folder / "foreign.eval"))
    write_run(folder / "empty.eval", [], rows=[])
    write_run(folder / "nothing.eval", replies, failed=[row.id for row in ROWS])
    write_run(folder / "twice.eval", good["strong"], eval_id="strong")
    (folder / "broken.eval").write_bytes(b"PK not a log")
    whole = (folder / "weak.eval").read_bytes()
    (folder / "cut.eval").write_bytes(whole[: len(whole) // 2])
    with zipfile.ZipFile(folder / "other.eval", "w") as archive:
        archive.writestr("hello.txt", "not a log either")
    return folder


@pytest.fixture(scope="session")
def runs(folder):
    """The good runs by their names."""
    names = ("strong", "weak", "voted")
    return SimpleNamespace(**{name: read_run(str(folder / f"{name}.eval")) for name in names})
