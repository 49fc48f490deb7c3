"""The order of samples: the first ones have both classes and all subsets."""

import json
from collections import Counter

import pytest

from misstep.evals import deltabench, processbench
from misstep.loaders import first_error_dataset, load_rows, recovery_dataset
from tests.support.runs import metrics_of, succeed


def classes(samples):
    return Counter(sample.metadata["has_error"] for sample in samples)


@pytest.fixture
def errors_first(tmp_path):
    """30 rows with an error before 10 without, in two subsets."""
    path = tmp_path / "rows.jsonl"
    rows = [
        {"id": f"{i}", "problem": "p", "steps": ["a", "b"], "label": label, "subset": subset}
        for i, (label, subset) in enumerate(
            [(1, "x")] * 20 + [(1, "y")] * 10 + [(-1, "x")] * 5 + [(-1, "y")] * 5
        )
    ]
    path.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    return str(path)


def test_the_first_samples_have_both_classes_by_their_shares(errors_first):
    samples = list(first_error_dataset(errors_first))
    assert classes(samples[:2]) == {True: 1, False: 1}
    assert classes(samples[:20]) == {True: 15, False: 5}
    assert {sample.metadata["subset"] for sample in samples[:4]} == {"x", "y"}


def test_the_same_rows_in_another_order(errors_first):
    mixed, published = (
        [sample.id for sample in first_error_dataset(errors_first, order=order)]
        for order in ("interleaved", "published")
    )
    assert published == [row.id for row in load_rows(errors_first)]
    assert mixed != published
    assert sorted(mixed) == sorted(published)
    assert mixed == [sample.id for sample in first_error_dataset(errors_first)]


def test_the_order_changes_no_result_on_the_whole_set(errors_first, tmp_path):
    both = [
        metrics_of(succeed(processbench(source=errors_first, critic="uniform", order=o), tmp_path))
        for o in ("interleaved", "published")
    ]
    assert both[0] == pytest.approx(both[1], nan_ok=True)


def test_twenty_rows_of_processbench_have_both_classes(real_data):
    samples = list(first_error_dataset("processbench", ["gsm8k", "math"]))[:20]
    assert min(classes(samples).values()) >= 8
    assert {sample.metadata["subset"] for sample in samples} == {"gsm8k", "math"}
    published = list(first_error_dataset("processbench", "gsm8k", order="published"))[:20]
    assert classes(published) == {True: 20}


def test_the_first_problems_of_error_recovery_have_all_tasks(real_data):
    samples = list(recovery_dataset("big_bench_mistake"))
    assert len({sample.metadata["task"] for sample in samples[:5]}) == 5
    published = list(recovery_dataset("big_bench_mistake", order="published"))
    assert len({sample.metadata["task"] for sample in published[:5]}) == 1
    assert {sample.id for sample in samples} == {sample.id for sample in published}


def test_several_subsets(real_data):
    both = processbench(subset=["gsm8k", "math"]).dataset
    assert (both.name, len(both)) == ("processbench-gsm8k-math", 1400)


def test_an_unknown_one_of_several_subsets_is_refused(errors_first):
    with pytest.raises(Exception, match=r"Unknown subset 'z'\. Allowed: x, y"):
        deltabench(source=errors_first, subset=["x", "z"])
    assert len(deltabench(source=errors_first, subset=["x", "y"]).dataset) == 40
