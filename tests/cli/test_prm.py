"""`misstep prm`: a reward model of one's own, probed on a server and added to the registry."""

import pytest
from click.testing import CliRunner

from misstep.cli._main import cli
from misstep.registry import MisstepError, prms
from misstep.registry._facts import read_facts
from misstep.rewards import SOLUTIONS
from tests.support.openai_server import OpenAIServer
from tests.support.runs import run_task

WRONG = [one.steps[one.first_wrong] for one in SOLUTIONS]


def qwen_like(text):
    """Scores as a model in Qwen's format that knows the wrong steps; no other format works."""
    if not isinstance(text, str) or "<extra_0>" not in text:
        return []
    steps = text.split("assistant\n")[-1].split("<extra_0>")[:-1]
    return [[0.9, 0.1] if step in WRONG else [0.2, 0.8] for step in steps]


@pytest.fixture
def own_registry(tmp_path, monkeypatch):
    folder = tmp_path / "registry"
    folder.mkdir()
    monkeypatch.setenv("MISSTEP_REGISTRY", str(folder))
    read_facts.cache_clear()
    yield folder
    read_facts.cache_clear()


def prm(server, *words):
    url = server.url.removesuffix("/v1")
    return CliRunner().invoke(cli, ["prm", *words, "--server", url], catch_exceptions=False)


def test_a_new_model_is_probed_and_can_then_be_run(own_registry, tmp_path):
    with OpenAIServer(pooling=qwen_like) as server:
        result = prm(server, "new", "my-prm")
        assert result.exit_code == 0
        assert "Format of math-shepherd-mistral-7b-prm: 0 rewards for 3 steps" in result.output
        assert "10 apples are left.<extra_0>◀10 is an odd number" in result.output
        assert "0.1000  wrong            Divide both sides by 2: x = 16." in result.output
        assert "every right step scores higher than every first wrong step" in result.output
        read_facts.cache_clear()
        added = prms()["my-prm"]
        assert (added.repository, added.step_token) == ("critic", "<extra_0>")
        assert prm(server, "check", "my-prm").exit_code == 0
        log = run_task(
            "misstep/processbench.sample",
            tmp_path / "logs",
            "prm/my-prm",
            model_base_url=server.url,
            task_args={"critic": "reward"},
            limit=1,
        )
    assert log.status == "success"
    with pytest.raises(MisstepError, match="already a reward model 'my-prm'"):
        prm(server, "new", "my-prm")


def test_a_model_without_rewards_is_not_added(own_registry):
    with OpenAIServer(pooling=lambda text: []) as server:
        with pytest.raises(MisstepError, match="nothing was added"):
            prm(server, "new", "my-prm")
        with pytest.raises(MisstepError, match="0 rewards for 3 steps; check step_token"):
            prm(server, "check", "qwen2.5-math-prm-7b")
    assert not list(own_registry.iterdir())


def test_rewards_that_do_not_discriminate_are_told(own_registry):
    with OpenAIServer(pooling=lambda text: [[0.5, 0.5]] * text.count("<extra_0>")) as server:
        output = prm(server, "new", "flat", "--like", "qwen2.5-math-prm-7b").output
    assert "score +0.000 more" in output
    assert "NOT every right step" in output
