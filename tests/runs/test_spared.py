"""Workers leave out work of Inspect that serves nobody, and nothing else."""

import zipfile
from contextvars import copy_context
from io import BytesIO

import pytest
import yaml
from inspect_ai._util import zipfile as packing
from inspect_ai.agent._acp import transport
from inspect_ai.log import read_eval_log, read_eval_log_sample_summaries
from inspect_ai.model import get_model_info

from misstep.runs import Workers
from misstep.runs._spared import spare_work


@pytest.fixture
def spared(monkeypatch):
    """Spare a worker with these arguments its work; it is as it was afterwards."""
    monkeypatch.setattr(packing, "_ZSTD_THREADS", packing._ZSTD_THREADS)
    monkeypatch.setattr(yaml, "safe_load", yaml.safe_load)
    monkeypatch.delenv("INSPECT_EVAL_ACP_SERVER", raising=False)

    def spare(*arguments):
        def attached():
            spare_work(arguments)
            return not transport._acp_live_active.get()

        return copy_context().run(attached)

    return spare


def test_what_is_spared_is_there_in_this_version_of_inspect():
    assert packing._ZSTD_THREADS == 12
    assert transport._acp_live_active.get() is False


def test_samples_are_packed_without_threads_and_read_as_before(spared):
    spared()
    assert packing._ZSTD_THREADS == 0
    packed = BytesIO()
    with zipfile.ZipFile(packed, "w", **packing.zipfile_compress_kwargs) as archive:
        archive.writestr("a", b"abc" * 1000)
    with zipfile.ZipFile(packed) as archive:
        assert archive.read("a") == b"abc" * 1000
        assert archive.getinfo("a").compress_size < 100


def test_models_are_known_as_before(spared):
    before = get_model_info("openai/gpt-4o")
    spared()
    assert yaml.safe_load("a: [1, 2.5, no, 2026-01-01]") == yaml.load(
        "a: [1, 2.5, no, 2026-01-01]", Loader=yaml.SafeLoader
    )
    with pytest.raises(yaml.YAMLError):
        yaml.safe_load("!!python/object/apply:os.getcwd []")
    assert before is not None
    assert get_model_info("openai/gpt-4o") == before


def test_samples_are_sessions_only_where_clients_may_attach(spared, monkeypatch):
    assert not spared("eval", "x", "--limit", "1")
    assert spared("eval", "x", "--acp-server")
    assert spared("eval", "x", "--acp-server=4444")
    monkeypatch.setenv("INSPECT_EVAL_ACP_SERVER", "4444")
    assert spared("eval", "x")


def test_a_log_is_what_it_is_without_a_worker(tmp_path, monkeypatch):
    from inspect_ai import eval as run_task

    name, critic = "misstep/processbench.sample", {"critic": "no_error"}
    arguments = ["eval", name, "-T", "critic=no_error", "--model", "mockllm/model", "--limit", "4"]
    with Workers() as workers:
        status, said = workers.run([*arguments, "--log-dir", str(tmp_path)], {})
    assert status == 0, said
    [path] = tmp_path.glob("*.eval")
    ours = read_eval_log(str(path))
    [theirs] = run_task(
        name,
        task_args=critic,
        model="mockllm/model",
        limit=4,
        log_dir=str(tmp_path / "other"),
        display="log",
    )
    theirs = read_eval_log(theirs.location)
    assert ours.results.scores == theirs.results.scores
    for mine, other in zip(ours.samples, theirs.samples, strict=True):
        assert [event.event for event in mine.events] == [event.event for event in other.events]
        assert (mine.id, mine.metadata, mine.messages[0].text) == (
            other.id,
            other.metadata,
            other.messages[0].text,
        )
    assert len(read_eval_log_sample_summaries(str(path))) == 4
