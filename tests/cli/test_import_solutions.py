"""`misstep import` of sampled solutions with their step scores."""

import json

from click.testing import CliRunner
from inspect_ai.log import read_eval_log

from misstep.cli._main import cli
from misstep.loaders import solution_datasets
from tests.support.runs import table_of


def test_recorded_solutions_become_a_log_for_each_reward_model(tmp_path):
    rows = []
    for problem, target in (("p", "4"), ("q", "7")):
        for answer, scores in (("4", [0.9, 0.2]), ("7", [0.3, 0.8]), ("7.0", [0.5, 0.5])):
            rows.append(
                {"problem_id": problem, "question": f"{problem}?", "gt_answer": target}
                | {"steps": ["a", rf"\boxed{{{answer}}}"], "extracted_answer": answer}
                | {"prm_step_scores": {"one": scores, "two": scores[::-1]}}
            )
    path = tmp_path / "solutions.jsonl"
    path.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    result = CliRunner().invoke(
        cli, ["import", str(path), "--log-dir", str(tmp_path / "logs")], catch_exceptions=False
    )
    assert result.exit_code == 0, result.output
    logs = [read_eval_log(str(log)) for log in sorted((tmp_path / "logs").glob("*.eval"))]
    by_model = {log.eval.model: log for log in logs}
    assert sorted(by_model) == ["imported/one", "imported/two"]
    got = table_of(by_model["imported/one"], "final_answer")
    # By the last step 7 is chosen in both, by the least 7.0; of the votes 7 and 7.0 are the same.
    assert got["last_accuracy"] == got["min_accuracy"] == got["majority_accuracy"] == 0.5
    assert got["oracle_accuracy"] == 1.0
    answers = {s.id: s.scores["final_answer"].answer for s in by_model["imported/two"].samples}
    assert answers == {"p": "4", "q": "4"}
    [first, _] = by_model["imported/one"].samples
    assert [s["rewards"] for s in first.store["SearchRecord:solutions"]] == [
        [0.9, 0.2],
        [0.3, 0.8],
        [0.5, 0.5],
    ]


def test_a_reward_model_may_have_scored_some_problems_only(tmp_path):
    """The published scores of a second set of problems are those of one reward model."""
    rows = [
        {"problem_id": problem, "question": "?", "gt_answer": "4", "extracted_answer": "4"}
        | {"steps": ["4"], "prm_step_scores": {model: [0.5] for model in models}}
        for problem, models in (("gsm8k_0", ("one", "two")), ("math500_0", ("two",)))
    ]
    path = tmp_path / "solutions.jsonl"
    path.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    found = solution_datasets([str(path)])
    assert {model: [str(one.id) for one in data] for model, data in found.items()} == {
        "one": ["gsm8k_0"],
        "two": ["gsm8k_0", "math500_0"],
    }
