import json
from collections import Counter
from statistics import fmean, harmonic_mean

import pytest
from inspect_ai.model import ModelOutput
from inspect_ai.solver import solver

from misstep.arithmetic import false_equations
from misstep.evals.processbench import processbench
from tests.support.runs import metrics_of, succeed

OWN = '''
from inspect_ai.model import ModelOutput
from inspect_ai.solver import solver

@solver
def longest_step():
    """The step with the most characters."""
    async def solve(state, generate):
        steps = state.metadata["steps"]
        longest = max(range(len(steps)), key=lambda i: len(steps[i]))
        state.output = ModelOutput.from_content("none", f"\\\\boxed{{{longest}}}")
        return state
    return solve
'''


def run(tmp_path, limit=None, **options):
    return succeed(processbench(source="sample", **options), tmp_path, limit=limit)


def test_a_critic_out_of_ones_own_file(tmp_path):
    (tmp_path / "mine.py").write_text(OWN, encoding="utf-8")
    log = run(tmp_path, critic=f"{tmp_path}/mine.py@longest_step", limit=40)
    for sample in log.samples:
        steps = sample.metadata["steps"]
        longest = max(range(len(steps)), key=lambda i: len(steps[i]))
        assert sample.scores["first_error"].answer == str(longest)


def test_a_solver_as_critic_from_python(tmp_path):
    @solver
    def third():
        async def solve(state, generate):
            state.output = ModelOutput.from_content("none", r"\boxed{2}")
            return state

        return solve

    log = run(tmp_path, critic=third(), limit=4)
    assert {sample.scores["first_error"].answer for sample in log.samples} == {"2"}


def test_always_no_error_is_right_on_every_correct_solution(tmp_path):
    got = metrics_of(run(tmp_path, critic="no_error", limit=40))
    assert (got["error_accuracy"], got["correct_accuracy"], got["f1_score"]) == (0.0, 1.0, 0.0)


def test_always_the_last_step(tmp_path):
    log = run(tmp_path, critic="last_step", limit=60)
    wrong = [sample.metadata for sample in log.samples if sample.metadata["label"] >= 0]
    last = [row["label"] == len(row["steps"]) - 1 for row in wrong]
    assert metrics_of(log)["error_accuracy"] == pytest.approx(sum(last) / len(wrong))


def test_the_late_window_is_at_three_quarters_of_the_steps(tmp_path):
    for sample in run(tmp_path, critic="late_window", limit=40).samples:
        answer = int(sample.scores["first_error"].answer)
        assert answer == int(0.75 * len(sample.metadata["steps"]))


def test_a_calculator_answers_with_the_first_step_that_has_a_false_equation(tmp_path):
    rows = [
        {"problem": "p", "steps": ["1 + 1 = 2", "2 * 3 = 7", "7 - 1 = 5"], "label": 1},
        {"problem": "p", "steps": ["x + 1 = 5", "x = 4"], "label": -1},
    ]
    own = tmp_path / "rows.jsonl"
    own.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    log = succeed(processbench(source=str(own), critic="arithmetic"), tmp_path)
    assert {s.id: s.scores["first_error"].answer for s in log.samples} == {
        "row-1": "1",
        "row-2": "-1",
    }


@pytest.mark.parametrize(("subset", "f1"), [("gsm8k", 0.083), ("math", 0.114)])
def test_what_a_calculator_can_do_on_processbench(real_rows, subset, f1):
    hits = {True: [], False: []}
    for row in real_rows[subset]:
        wrong = (i for i, step in enumerate(row.steps) if false_equations(step))
        hits[row.label >= 0].append(next(wrong, -1) == row.label)
    assert round(harmonic_mean(fmean(found) for found in hits.values()), 3) == f1


def test_what_a_calculator_can_do_on_the_bundled_sample(tmp_path):
    assert round(metrics_of(run(tmp_path, critic="arithmetic"))["f1_score"], 3) == 0.261


@pytest.mark.parametrize("critic", ["uniform", "label_distribution"])
def test_random_baselines_repeat_themselves_and_stay_in_range(tmp_path, critic):
    logs = [run(tmp_path, critic=critic, limit=24) for _ in range(2)]
    first, second = ([s.scores["first_error"].answer for s in log.samples] for log in logs)
    assert first == second
    assert len(set(first)) > 4
    for sample in logs[0].samples:
        assert -1 <= int(sample.scores["first_error"].answer) < len(sample.metadata["steps"])


def test_the_label_distribution_says_no_error_about_as_often_as_the_data(tmp_path):
    log = run(tmp_path, critic="label_distribution", limit=100)
    counts = Counter(sample.scores["first_error"].answer for sample in log.samples)
    right = sum(sample.metadata["label"] == -1 for sample in log.samples)
    assert abs(counts["-1"] - right) <= 15
