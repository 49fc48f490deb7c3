import math
from types import SimpleNamespace

import pytest
from inspect_ai.scorer import CORRECT, INCORRECT, SampleScore, Score
from pytest_inspect_evals.metrics import assert_agreeing_epochs_change_nothing

from misstep.scorers import first_error_metrics, first_error_table


def sample(hit, has_error, subset=None, unread=None):
    return SampleScore(
        score=Score(
            value=CORRECT if hit else INCORRECT, metadata={"unread": unread} if unread else {}
        ),
        sample_metadata={"has_error": has_error, "subset": subset},
    )


def many(hits_of_errors, errors, hits_of_corrects, corrects, subset=None):
    return [sample(i < hits_of_errors, True, subset) for i in range(errors)] + [
        sample(i < hits_of_corrects, False, subset) for i in range(corrects)
    ]


def figures(scores):
    return first_error_table(scores, scores)


def test_f1_is_the_harmonic_mean_of_the_two_accuracies():
    got = figures(many(3, 10, 6, 8))
    assert got["error_accuracy"] == 0.3
    assert got["correct_accuracy"] == 0.75
    assert got["f1_score"] == pytest.approx(2 * 0.3 * 0.75 / (0.3 + 0.75))
    assert (got["error_count"], got["correct_count"], got["total_count"]) == (10, 8, 18)


def test_two_zero_accuracies_give_zero():
    assert figures(many(0, 5, 0, 5))["f1_score"] == 0.0


def test_an_unlabelled_set_has_no_accuracy():
    got = figures(many(3, 5, 0, 0))
    assert got["error_accuracy"] == 0.6
    assert math.isnan(got["correct_accuracy"])
    assert math.isnan(got["f1_score"])
    assert math.isnan(got["stderr"])


@pytest.mark.parametrize("scores", [[], [sample(True, True)], [sample(False, False, "a")]])
def test_partial_and_empty_data_never_raise(scores):
    got = figures(scores)
    assert got["total_count"] == len(scores)
    assert math.isnan(got["f1_score"])


def test_subsets_stand_apart_and_their_mean_is_plain():
    got = figures(many(1, 2, 1, 2, "a") + many(8, 8, 0, 4, "b"))
    assert got["a_f1_score"] == 0.5
    assert got["b_f1_score"] == 0.0
    assert got["mean_subset_f1_score"] == 0.25
    assert got["error_accuracy"] == 0.9
    assert got["b_total_count"] == 12
    assert got["mean_subset_f1_score_lower"] <= 0.25 <= got["mean_subset_f1_score_upper"]


def test_intervals_take_the_clusters_of_samples_as_their_units():
    def width(clusters):
        scores = many(20, 40, 30, 40)
        for score, cluster in zip(scores, clusters, strict=True):
            score.sample_metadata["cluster"] = cluster
        got = figures(scores)
        names = ("f1_score", "error_accuracy", "correct_accuracy")
        return [got[f"{name}_upper"] - got[f"{name}_lower"] for name in names]

    alone = width([None] * 80)
    assert width([f"problem {i}" for i in range(80)]) == alone
    # Ten samples of each problem, all right or all wrong.
    for wide, narrow in zip(width([f"problem {i // 10}" for i in range(80)]), alone, strict=True):
        assert wide > 2 * narrow


def test_rows_without_a_subset_have_no_figures_by_subset():
    assert not [name for name in figures(many(1, 2, 1, 2)) if "subset" in name]


def test_unparsed_and_truncated_are_counted_apart_and_stay_in_the_denominator():
    scores = [
        sample(False, True, unread="no_box"),
        sample(False, True, unread="truncated"),
        sample(True, True),
        sample(False, False, unread="not_an_index"),
    ]
    got = figures(scores)
    assert (got["unparsed"], got["truncated"]) == (0.5, 0.25)
    assert got["error_accuracy"] == pytest.approx(1 / 3)
    assert got["correct_accuracy"] == 0.0


def test_metrics_through_inspects_own_reducers(monkeypatch):
    # Inspect's mock model counts tokens with an encoding that it would download.
    monkeypatch.setattr("tiktoken.get_encoding", lambda name: SimpleNamespace(encode=_characters))
    scores = many(3, 10, 6, 8, "a")
    assert_agreeing_epochs_change_nothing(
        [first_error_metrics()],
        [score.score for score in scores],
        metadata=[score.sample_metadata for score in scores],
        reducers=["mean", "mode", "vote"],
    )


def _characters(text, **options):
    return list(text)
