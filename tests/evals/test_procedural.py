import pytest
from inspect_ai.dataset import Sample
from inspect_ai.util import registry_create

import misstep.registry.entry_point  # noqa: F401
from misstep.evals.procedural import procedural
from misstep.generator import FAMILIES
from misstep.loaders import FirstErrorRow, LazyDataset, RowStream, procedural_dataset
from misstep.registry import MisstepError, evals, sizes
from misstep.solvers import critique_prompt
from tests.support.runs import metrics_of, succeed


def run(tmp_path, **arguments):
    return succeed(procedural(**arguments), tmp_path)


def test_from_seed_to_log(tmp_path):
    log = run(tmp_path, seed=7, n=26, critic="no_error")
    assert metrics_of(log)["correct_accuracy"] == 1
    assert metrics_of(log)["error_count"] == 13
    assert log.samples[3].id == "procedural-v6-7-000003"
    assert {sample.metadata["subset"] for sample in log.samples} == set(FAMILIES)


def test_the_label_distribution_is_that_of_the_rows(tmp_path):
    log = run(tmp_path, seed=7, n=20, critic="label_distribution", correct_share=1)
    assert all(score.answer == "-1" for s in log.samples for score in [s.scores["first_error"]])


def test_metadata_has_what_is_known_of_the_error():
    sample = procedural(seed=7, n=5, correct_share=0, position="late", steps=12).dataset[4]
    assert sample.metadata["label"] == int(sample.target) > 7
    assert sample.metadata["position"] > 2 / 3
    assert len(sample.metadata["steps"]) == sample.metadata["length"] == 12
    assert sample.metadata["correct_steps"] != sample.metadata["steps"]
    FirstErrorRow.model_validate({"id": sample.id, "problem": sample.input, **sample.metadata})


@pytest.mark.parametrize(
    ("variant", "rows", "fits"),
    [
        ("small", 64, lambda m: True),
        ("long", 500, lambda m: 12 <= m["length"] <= 20),
        ("late", 500, lambda m: m["position"] is None or m["position"] > 2 / 3),
        ("hard", 200, lambda m: 40 <= m["length"] <= 80),
        ("frontier", 200, lambda m: 80 <= m["length"] <= 160),
    ],
)
def test_variants_are_what_they_say(variant, rows, fits):
    task = registry_create("task", f"misstep/procedural.{variant}")
    assert len(task.dataset) == rows == sizes()[f"procedural.{variant}"].samples
    assert all(fits(task.dataset[index].metadata) for index in range(30))


def test_estimated_prompt_tokens_are_a_third_of_the_characters():
    from misstep.registry import find_domain

    names = ["procedural", *(f"procedural.{name}" for name in evals()["procedural"].variants)]
    for name in names:
        size = sizes()[name]
        samples = registry_create("task", f"misstep/{name}").dataset[:130]
        prompts = (
            critique_prompt(find_domain("generic"), s.input, s.metadata["steps"]) for s in samples
        )
        estimate = sum(map(len, prompts)) / 3 / len(samples) * size.samples
        assert size.prompt_tokens == pytest.approx(estimate, rel=0.08), name


def test_very_many_rows_are_there_at_once_and_the_task_takes_them_as_a_stream():
    dataset = procedural_dataset(0, 10**9, 8, "any", None, None, 2, 0.5)
    assert len(dataset) == 10**9
    assert dataset[10**9 - 1].id == "procedural-v6-0-999999999"
    assert dataset.name == "procedural-v6-0"
    assert isinstance(procedural(n=10**9).sample_source, RowStream)
    assert procedural(n=5000).sample_source is None


def test_rows_with_long_solutions_are_a_set_of_their_own():
    assert procedural(n=3, difficulty=4).dataset.name == "procedural-v6-0"


def test_generated_samples_are_made_once():
    dataset = procedural(n=3).dataset
    assert dataset[1] is dataset[1:][0]


def test_a_bad_argument_is_one_message():
    with pytest.raises(MisstepError, match="Did you mean 'late'"):
        procedural(position="lat")


@pytest.fixture
def lazy():
    made = []

    def make(index):
        made.append(index)
        return Sample(id=index, input="x" * (10 - index))

    return LazyDataset(make, range(6), "some"), made


def ids(dataset):
    return [sample.id for sample in dataset]


def test_samples_are_made_when_needed(lazy):
    dataset, made = lazy
    assert made == []
    assert dataset[2].id == 2
    assert ids(dataset[3:5]) == [3, 4]
    assert made == [2, 3, 4]
    assert (dataset.name, dataset.location) == ("some", None)


def test_slices_filters_shuffles_and_sorts_are_those_of_a_list(lazy):
    dataset, _ = lazy
    assert ids(dataset.filter(lambda sample: sample.id % 2, "odd")) == [1, 3, 5]
    dataset.sort()
    assert ids(dataset) == [5, 4, 3, 2, 1, 0]
    dataset.sort(key=lambda sample: sample.id)
    dataset.shuffle(3)
    assert dataset.shuffled
    assert dataset[:2].shuffled
    assert sorted(ids(dataset)) == [0, 1, 2, 3, 4, 5] != ids(dataset)
    dataset.shuffle_choices(1)
