"""PRMScore follows the published rule; strict counts every step of every row."""

import json
from math import isnan
from pathlib import Path

import pytest
from inspect_ai import eval as run
from inspect_ai.model import ModelOutput
from inspect_ai.scorer import SampleScore, Score
from inspect_ai.solver import Generate, Solver, TaskState, solver

from misstep.evals import prmbench
from misstep.loaders import step_validity_dataset
from misstep.samples import SolutionMetadata, WrongStepsMetadata
from misstep.scorers import prm_score_samples, prm_scores, read_step_scores
from misstep.scorers._step_validity import (
    PrmScoreSample,
    all_wrongly_called,
    count_steps,
    prm_score_table,
)
from misstep.stores import StepValidity
from misstep.verdicts import Unread


def labels_of(data: Path, threshold: float | None) -> dict[str, list[bool]]:
    found = {}
    for line in (data / "prmbench" / "r_prm_scores.jsonl").read_text().splitlines():
        row = json.loads(line)
        scores = row["scores"]
        found[row["idx"]] = (
            scores["step_level_validity_labels"]
            if threshold is None
            else [score >= threshold for score in scores["step_level_validity_scores"]]
        )
    return found


@pytest.fixture(scope="module")
def prmbench_data(real_data) -> Path:
    if not (real_data / "prmbench" / "r_prm_scores.jsonl").is_file():
        pytest.skip("the offline mirror has no prmbench/r_prm_scores.jsonl")
    return real_data


def percent(value: float) -> float:
    return round(100 * value, 2)


def samples_with(labels: dict[str, list[bool]], published: bool) -> list[PrmScoreSample]:
    """Return what the metrics need of all rows, labelled as given."""
    found = []
    for sample in step_validity_dataset("prmbench_test_p1"):
        about = sample.metadata_as(WrongStepsMetadata)
        wrong = about.wrong_steps_published if published else None
        count = count_steps(labels[str(sample.id)], wrong or about.wrong_steps)
        value = Score(value=dict(count.value))
        found.append(SampleScore(score=value, sample_id=sample.id, sample_metadata=sample.metadata))
    return prm_score_samples(found)


@pytest.mark.parametrize(("threshold", "key"), [(None, "recorded_labels"), (0.5, "threshold_0_5")])
def test_recorded_scores_give_the_published_numbers(
    prmbench_data, figures, monkeypatch, threshold, key
):
    monkeypatch.setenv("MISSTEP_DATA", str(prmbench_data))
    expected = figures["prmbench"][key]
    classes = expected["by_class"] | {"overall": expected["overall"]}
    for published in (False, True):
        samples = samples_with(labels_of(prmbench_data, threshold), published)
        assert sum(sum(one.counts) for one in samples) == 13063
        found = prm_scores(samples, published)
        for name, figure in classes.items():
            for part in ("prmscore", "f1", "negative_f1"):
                got = percent(getattr(found[name], part))
                assert got == pytest.approx(figure[part], abs=0.01), (published, name, part)
        for group in ("simplicity", "soundness", "sensitivity"):
            assert percent(found[group].prmscore) == pytest.approx(expected[group], abs=0.01)


@pytest.mark.parametrize(("valid", "prmscore"), [(True, 46.63), (False, 11.21)])
def test_constant_labels(prmbench_data, monkeypatch, valid, prmscore):
    monkeypatch.setenv("MISSTEP_DATA", str(prmbench_data))
    labels = {
        str(one.id): [valid] * len(one.metadata["steps"])
        for one in step_validity_dataset("prmbench_test_p1")
    }
    for published in (False, True):
        found = prm_scores(samples_with(labels, published), published)
        assert percent(found["overall"].prmscore) == prmscore
        assert all(score.prmscore >= 0 for score in found.values())


def test_missing_and_surplus_labels_by_the_published_rule():
    short = count_steps([True, True], {4})
    assert (short.tp, short.fp, short.tn, short.fn) == (2, 0, 0, 0)
    long = count_steps([True] * 7, {4})
    assert (long.tp, long.fp, long.tn, long.fn) == (6, 1, 0, 0)
    unread = all_wrongly_called(5, [4])
    assert (unread.tp, unread.fp, unread.tn, unread.fn) == (0, 1, 0, 4)


def scored(
    counts: dict[str, float], subset: str = "circular", cluster: str = "c", **metadata
) -> SampleScore:
    value = {"accuracy": 0.0, "tp": 0.0, "fp": 0.0, "tn": 0.0, "fn": 0.0} | counts
    about = {"subset": subset, "cluster": cluster}
    return SampleScore(score=Score(value=value, metadata=metadata), sample_metadata=about)


def test_undefined_ratios_are_nan_by_ours_and_minus_one_in_the_published_arithmetic():
    rows = prm_score_samples([scored({})])
    assert isnan(prm_scores(rows)["overall"].prmscore)
    assert prm_scores(rows, published=True)["overall"].prmscore == 0.0  # below 0 becomes 0
    assert prm_scores(rows, published=True)["overall"].f1 == -1.0
    alone = prm_score_samples([scored({"tp": 9.0, "fn": 1.0}, "multi_solutions")])
    expected = 2 * 9 / (2 * 9 + 1)
    assert prm_scores(alone)["multi_solutions"].prmscore == pytest.approx(expected)


def widths(rows: list[SampleScore]) -> float:
    found = prm_score_table(rows)
    assert found["prmscore_lower"] <= found["prmscore"] <= found["prmscore_upper"]
    return found["prmscore_upper"] - found["prmscore_lower"]


def test_rows_of_one_problem_are_one_unit_of_the_interval():
    good, bad = {"tp": 8.0, "tn": 2.0}, {"tp": 4.0, "fn": 4.0, "fp": 2.0}
    counts = [good if i % 3 else bad for i in range(30) for _ in range(4)]
    alone = [scored(one, cluster=str(i)) for i, one in enumerate(counts)]
    problems = [scored(one, cluster=str(i // 4)) for i, one in enumerate(counts)]
    # Four equal rows of a problem say no more than one: the interval is twice as wide.
    assert widths(problems) == pytest.approx(2 * widths(alone), rel=0.1)


def test_a_perfect_score_has_an_interval():
    assert widths([scored({"tp": 8.0, "tn": 2.0}, cluster=str(i)) for i in range(20)]) > 0.1


@pytest.mark.parametrize(
    ("reply", "validity"),
    [
        ('{"validity": [1, -0.5], "redundancy": [0, 0]}', [1, -0.5]),
        ('Sure: {x} {"validity": [1], // fine\n "redundancy": [0]} and {"validity": []}', [1]),
        ('{"validity": [1]}', None),
        ('{"validity": [1, "a"], "redundancy": [0, 0]}', None),
        ("} {", None),
        ("no braces", None),
    ],
)
def test_replies_are_read_as_published(reply, validity):
    read = read_step_scores(reply)
    assert (None if isinstance(read, Unread) else read.validity) == validity
    assert read_step_scores("  ") == Unread.EMPTY


def test_a_reply_with_too_few_scores_is_unread_by_ours_and_shortened_by_the_published_rule(
    tmp_path,
):
    rows = [
        {
            "idx": f"p_{i}",
            "classification": "circular",
            "modified_question": "1 + 1?",
            "modified_process": ["one", "two", "three"],
            "error_steps": [3],
        }
        for i in range(2)
    ]
    file = tmp_path / "rows.jsonl"
    file.write_text("\n".join(map(json.dumps, rows)))

    @solver
    def short() -> Solver:
        async def solve(state: TaskState, generate: Generate) -> TaskState:
            steps = state.metadata_as(SolutionMetadata).steps
            left = state.store_as(StepValidity)
            left.valid = [True] * (len(steps) - 1)
            state.output = ModelOutput.from_content("none", "")
            return state

        return solve

    [log] = run(
        prmbench(source=str(file), critic=short()),
        model="mockllm/model",
        display="none",
        log_dir=str(tmp_path),
    )
    assert log.status == "success", log.error
    scores = log.samples[0].scores
    assert scores["step_validity"].metadata["unread"] == "wrong_length"
    assert scores["step_validity"].value["fn"] == 2
    assert scores["step_validity"].value["fp"] == 1
    assert scores["step_validity_published"].value["tp"] == 2
