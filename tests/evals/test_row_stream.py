"""A stream gives the run that the data set would have given."""

from collections import Counter

import pytest
from inspect_ai import Task, eval as run_task, eval_retry, task
from inspect_ai.dataset import Sample
from inspect_ai.log import read_eval_log
from inspect_ai.model import ModelOutput, ModelUsage, get_model
from inspect_ai.scorer import match
from inspect_ai.solver import solver

from misstep.evals.procedural import procedural
from misstep.loaders import LazyDataset, RowStream
from tests.support.runs import metrics_of

ROWS, WINDOW = 45, 8


class Rows:
    """A stream of rows that remembers in what order they were made and asked about."""

    def __init__(self):
        self.made = []
        self.asked = []
        self.failing = set()
        self.most_ahead = 0

    def make(self, index):
        self.made.append(index)
        self.most_ahead = max(self.most_ahead, len(set(self.made)) - len(set(self.asked)))
        return Sample(id=f"row-{index:03d}", input=f"{index}", target="yes")

    def task(self):
        @solver
        def say_yes():
            async def solve(state, generate):
                index = int(state.input_text)
                if index in self.failing:
                    raise RuntimeError("not now")
                self.asked.append(index)
                state.output = ModelOutput.from_content("none", "yes")
                return state

            return solve

        stream = RowStream(LazyDataset(self.make, range(ROWS), "rows"), WINDOW)
        return Task(dataset=stream, solver=say_yes(), scorer=match())


@pytest.fixture
def rows():
    return Rows()


def run(task, tmp_path, model="none/none", **options):
    return run_task(
        task,
        model=model,
        log_dir=str(tmp_path),
        display="log",
        log_realtime=False,
        max_samples=2,
        **options,
    )


def test_every_row_runs_once_and_few_are_made_ahead(rows, tmp_path, caplog):
    [log] = run(rows.task(), tmp_path)
    assert log.status == "success"
    assert sorted(rows.asked) == list(range(ROWS))
    assert log.results.completed_samples == log.results.total_samples == ROWS
    assert {sample.id for sample in log.samples} == {f"row-{i:03d}" for i in range(ROWS)}
    assert rows.most_ahead <= WINDOW
    assert not caplog.records


def test_epochs(rows, tmp_path):
    [log] = run(rows.task(), tmp_path, epochs=3)
    assert log.results.completed_samples == 3 * ROWS
    assert set(Counter(rows.asked).values()) == {3}


@pytest.mark.parametrize("limit", [3, 8, 30])
def test_a_limit_takes_the_first_rows(rows, tmp_path, limit):
    [log] = run(rows.task(), tmp_path, limit=limit)
    assert sorted(rows.asked) == list(range(limit))
    assert log.results.total_samples == limit
    assert len(rows.made) <= limit + WINDOW


def test_rows_are_found_by_their_ids_wherever_they_stand(rows, tmp_path):
    run(rows.task(), tmp_path, sample_id=["row-002", "row-041"])
    assert rows.asked == [2, 41]


def test_a_shuffle_is_of_the_first_window(rows, tmp_path):
    [log] = run(rows.task(), tmp_path, sample_shuffle=1)
    assert sorted(rows.asked) == list(range(ROWS))
    assert rows.asked != list(range(ROWS))
    assert log.eval.dataset.shuffled


def test_one_task_by_two_models_and_once_more(rows, tmp_path):
    shared = rows.task()
    logs = run(shared, tmp_path, model=["none/none", "none/other"]) + run(shared, tmp_path)
    assert [log.results.completed_samples for log in logs] == [ROWS] * 3


def test_a_retry_asks_only_about_what_is_missing(rows, tmp_path):
    @task(name="rows_of_a_stream")
    def registered():
        return rows.task()

    rows.failing = {3, 30}
    [log] = run(registered(), tmp_path, fail_on_error=False)
    assert log.results.completed_samples == ROWS - 2
    rows.failing, rows.asked = set(), []
    [again] = eval_retry(log, log_dir=str(tmp_path), display="log", log_realtime=False)
    assert sorted(rows.asked) == [3, 30]
    assert read_eval_log(again.location).results.completed_samples == ROWS


def test_very_many_generated_rows_start_and_score_at_once(tmp_path):
    usage = ModelUsage(input_tokens=1, output_tokens=1, total_tokens=2)

    def no_error(*_):
        output = ModelOutput.from_content("m", r"\boxed{-1}")
        output.usage = usage
        return output

    model = get_model("mockllm/model", custom_outputs=no_error, memoize=False)
    [log] = run(procedural(n=100_000, seed=7), tmp_path, model=model, limit=6)
    ordinary = procedural(n=6, seed=7).dataset
    assert [sample.id for sample in log.samples] == [sample.id for sample in ordinary]
    assert [sample.input for sample in log.samples] == [sample.input for sample in ordinary]
    assert [sample.metadata for sample in log.samples] == [s.metadata for s in ordinary]
    assert metrics_of(log)["correct_accuracy"] == 1
