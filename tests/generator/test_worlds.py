"""Agents in generated worlds: labels are exact, and evals use the trajectories."""

from collections import Counter

import pytest

from misstep.evals.agent_process import agent_process
from misstep.generator import WORLDS, trajectories
from misstep.registry import MisstepError
from tests.generator.checker_worlds import first_wrong
from tests.support.runs import metrics_of, succeed


def test_the_checker_finds_exactly_the_labels():
    seen = Counter()
    for row in trajectories(3, 600):
        assert first_wrong(row) == row["label"], (row["id"], row["error_type"])
        seen[row["subset"], row["label"] >= 0] += 1
        seen[row["error_type"]] += 1
    assert all(seen[world, wrong] == 100 for world in WORLDS for wrong in (True, False))
    assert len([kind for kind in seen if isinstance(kind, str)]) >= 9
    assert list(trajectories(3, 30)) == list(trajectories(3, 60))[:30]


def test_an_eval_judges_generated_trajectories(tmp_path):
    task = agent_process(source="generated", critic="no_error", seed=7, n=24)
    log = succeed(task, tmp_path)
    assert metrics_of(log)["correct_accuracy"] == 1
    assert metrics_of(log)["error_count"] == 12
    assert {sample.metadata["subset"] for sample in log.samples} == set(WORLDS)
    assert "Tools of the agent:" in log.samples[0].input
    with pytest.raises(MisstepError, match=r"Unknown subset 'file'\. Did you mean 'files'"):
        agent_process(source="generated", critic="no_error", subset="file")
