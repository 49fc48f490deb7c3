import pytest
from inspect_ai import Epochs, eval as run_task
from inspect_ai.log import EvalConfig, read_eval_log, write_eval_log
from inspect_ai.scorer import CORRECT

from misstep.evals.processbench import processbench
from misstep.registry import MisstepError
from misstep.reports import read_logs, read_run
from tests.reports.conftest import ROWS, write_run
from tests.support.logs import guesses

WHY = {
    "cancelled": "cancelled. To finish it: inspect eval-retry",
    "started": "unfinished. To finish it: inspect eval-retry",
    "error": "ended in an error. To finish it: inspect eval-retry",
    "foreign": "foreign: 'other/gpqa' is not an eval of misstep",
    "empty": "empty: no sample has a score",
    "nothing": "empty: no sample has a score",
    "twice": "the same run as",
    "broken": "cannot be read as an Inspect log",
    "cut": "cannot be read as an Inspect log",
    "other": "cannot be read as an Inspect log",
}


def test_what_cannot_be_counted_is_listed_with_the_reason_and_nothing_else_is(folder):
    logs = read_logs(folder)
    assert {run.file for run in logs.runs} >= {"weak.eval", "voted.eval", "sub/failed.eval"}
    reasons = {skipped.location.rpartition("/")[2]: skipped.reason for skipped in logs.skipped}
    assert len(logs.runs) == 4
    assert len(reasons) == len(logs.skipped) == len(WHY)
    # Of the two that are one run, either is the one that counts.
    reasons.setdefault("twice.eval", reasons.get("strong.eval", ""))
    for name, reason in WHY.items():
        assert reason in reasons[f"{name}.eval"], name


def test_the_parts_of_a_run_are_not_runs(tmp_path):
    for name in ("whole.eval", "whole.shards/0/a.eval", "broken.shards/0/b.eval"):
        write_run(tmp_path / name, guesses(ROWS, 0.5), eval_id=name)
    logs = read_logs(tmp_path)
    assert [run.file for run in logs.runs] == ["whole.eval"]
    [skipped] = logs.skipped
    assert skipped.reason == "a part of a run that is not finished. Resume the run."
    # Its log by its own name is read.
    assert len(read_logs(tmp_path / "broken.shards" / "0" / "b.eval").runs) == 1


def test_a_file_that_is_no_log_is_named_with_what_is_wrong(tmp_path):
    (tmp_path / "a.eval").write_bytes(b"\x89PNG")
    for name, reason in (("a", "it was cut off, or it is another kind"), ("b", "there is no such")):
        with pytest.raises(MisstepError, match=reason):
            read_run(str(tmp_path / f"{name}.eval"))


def test_the_usage_of_a_resumed_run_is_that_of_all_its_samples(tmp_path):
    log = write_run(tmp_path / "a.eval", guesses(ROWS, 0.5))
    whole = read_run(str(tmp_path / "a.eval"))
    # The header of a resumed run has the usage of its last attempt.
    for usage in log.stats.model_usage.values():
        usage.input_tokens = usage.output_tokens = usage.total_tokens = 1
    write_eval_log(log, tmp_path / "a.eval")
    resumed = read_run(str(tmp_path / "a.eval"))
    assert resumed.usage == whole.usage
    [(tokens_in, tokens_out)] = resumed.usage.values()
    assert min(tokens_in, tokens_out) > 1


def test_a_run_is_what_the_whole_log_says(folder, runs):
    log = read_eval_log(str(folder / "voted.eval"))
    samples = {sample.id: sample for sample in runs.voted.samples}
    assert len(log.samples) == len(samples)
    for full in log.samples:
        sample = samples[full.id]
        score = full.scores["first_error"]
        assert sample.scores["first_error"].hit == float(score.value == CORRECT)
        assert sample.scores["first_error"].answer == score.answer
        assert sample.scores["first_error"].rewards == tuple(score.metadata["rewards"])
        assert sample.n_steps == len(full.metadata["steps"])
        assert (sample.label, sample.facets["subset"]) == (
            full.metadata["label"],
            full.metadata["subset"],
        )
    assert runs.voted.protocol == "4 votes"
    assert runs.voted.metrics["first_error"]["total_count"] == len(ROWS)


def test_what_is_too_long_for_a_summary_is_read_from_the_sample(tmp_path):
    rows = [row.model_copy(update={"steps": ["x" * 300] * 6}) for row in ROWS[:3]]
    rewards = [[0.123456789012345678] * 100 for _ in rows]
    log = write_run(tmp_path / "long.eval", [r"\boxed{0}"] * 3, rows=rows, rewards=rewards)
    for sample in log.samples:
        del sample.metadata["n_steps"]
    write_eval_log(log, str(tmp_path / "old.eval"))
    for name in ("long", "old"):
        run = read_run(str(tmp_path / f"{name}.eval"))
        assert [sample.n_steps for sample in run.samples] == [6, 6, 6]
        assert len(run.samples[0].scores["first_error"].rewards) == 100


def test_failed_samples_are_told_apart(folder):
    run = read_run(str(folder / "sub" / "failed.eval"))
    assert len(run.samples) == len(ROWS)
    assert len(run.scored) == len(ROWS) - 1
    assert run.samples[0].error == "no"


@pytest.mark.parametrize("reducer", ["mean", "vote"])
def test_epochs_are_reduced_as_the_log_reduced_them(tmp_path, reducer):
    [log] = run_task(
        processbench(source="sample", critic="uniform"),
        model="mockllm/model",
        log_dir=str(tmp_path),
        limit=6,
        epochs=Epochs(3, reducer),
        display="none",
    )
    run = read_run(log.location)
    [reduction] = [r for r in log.reductions if r.scorer == "first_error"]
    expected = {
        str(s.sample_id): float(s.value == CORRECT) if isinstance(s.value, str) else s.value
        for s in reduction.samples
    }
    assert {s.id: s.scores["first_error"].hit for s in run.samples} == pytest.approx(expected)


def test_an_unknown_reducer_is_refused(tmp_path):
    config = EvalConfig(epochs=2, epochs_reducer=["at_least_2"])
    write_run(tmp_path / "x.eval", [r"\boxed{0}"] * len(ROWS), config=config)
    with pytest.raises(MisstepError, match="reduced by 'at_least_2'"):
        read_run(str(tmp_path / "x.eval"))


def test_a_place_that_is_not_there_is_named(tmp_path):
    with pytest.raises(MisstepError, match="nowhere: there is no such log or folder"):
        read_logs(tmp_path / "nowhere")
    with pytest.raises(MisstepError, match="cannot be read as an Inspect log"):
        read_run(str(tmp_path / "nowhere.eval"))


def test_a_reading_that_a_run_lacks_is_refused(runs):
    with pytest.raises(MisstepError, match="no published reading, only strict, lenient"):
        runs.weak.scorer("published")
