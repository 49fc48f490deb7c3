"""Files of results: what a log must have, and that a tampered file is refused."""

import json
from pathlib import Path

import pytest

from misstep.loaders import load_rows
from misstep.registry import MisstepError
from misstep.reports import board_page, check_results, read_results, read_run, submission
from misstep.reports._result_files import (
    ResultFile,
    read_result_file,
    recomputed,
    rows_digest,
    stored_metrics,
)
from tests.support.logs import guesses, write_first_error_log
from tests.support.runs import succeed

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def log(tmp_path_factory):
    """A complete run of a baseline on the bundled sample."""
    from misstep import agent_process, processbench

    folder = tmp_path_factory.mktemp("board")
    task = processbench(source="sample", critic="last_step")
    agents = agent_process(source="agent_sample", critic="last_step")
    return succeed(task, folder).location, succeed(agents, folder).location


@pytest.fixture(scope="module")
def file(log):
    return submission(log[0])


def write(folder, file):
    folder.mkdir(exist_ok=True)
    (folder / file.name).write_text(file.text())
    return folder


def changed(file, **fields):
    """Return a file with other content and honest checksums and metrics."""
    content = file.model_dump() | fields
    samples = ResultFile.model_validate(content).samples
    of = fields.get("of", len(samples))
    content |= {"rows": len(samples), "of": of, "rows_sha256": rows_digest(samples)}
    content["metrics"] = stored_metrics(recomputed(samples, file.metrics))
    return ResultFile.model_validate(content)


def test_committed_results_agree_with_themselves_and_with_the_page():
    page = board_page(ROOT / "results")
    assert page == (ROOT / "docs" / "board.md").read_text(), "run `misstep board` again"


def test_a_file_has_the_metrics_of_its_log_and_no_text(log, file, tmp_path):
    text = file.text()
    assert len(text.encode()) < 100 * file.rows
    rows = load_rows("sample")
    assert not any(row.problem in text or row.steps[0] in text for row in rows)
    assert str(Path(log[0]).parent) not in text
    [checked] = read_results(write(tmp_path, file))
    assert checked.file == file
    run = read_run(log[0])
    found, expected = checked.run.metrics["first_error"], run.metrics["first_error"]
    for name in ("f1_score", "error_accuracy_lower", "mean_subset_f1_score", "unparsed"):
        assert found[name] == pytest.approx(expected[name])
    assert checked.run.name == run.name == "last_step"


def test_labels_of_steps_are_part_of_a_file(log, tmp_path):
    file = submission(log[1])
    [checked] = read_results(write(tmp_path, file))
    expected = read_run(log[1]).metrics["step_labels"]
    for name in ("step_accuracy", "first_error_accuracy", "step_macro_f1"):
        assert checked.run.metrics["step_labels"][name] == pytest.approx(expected[name])
    samples = [file.samples[0]._replace(judged="+" * file.samples[0].steps), *file.samples[1:]]
    forged = file.model_copy(update={"samples": samples})
    with pytest.raises(MisstepError, match="step_labels, step_accuracy is"):
        check_results(forged, "x.json")


def test_changed_text_of_a_file_is_refused(file, tmp_path):
    path = write(tmp_path, file) / file.name
    content = json.loads(path.read_text())
    content["samples"][0][6] = content["samples"][0][5]
    path.write_text(json.dumps(content))
    with pytest.raises(MisstepError, match="its checksum is not that of its content"):
        read_result_file(path)
    path.write_text('{"format": 1, "sha256": "' + "0" * 64 + '"}')
    with pytest.raises(MisstepError, match="no file of results"):
        read_results(tmp_path)


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ('"f1_score":0.0', '"f1_score":NaN', "NaN is no number of JSON"),
        ('"f1_score":0.0', '"f1_score":true', "no file of results"),
        (",-1,", ",true,", "no file of results"),
        (",-1,", ",1.0,", "no file of results"),
        ('"tokens": null', '"tokens": [-1, 5]', "no file of results"),
        ('"created": "20', '"created": "2026-02-30", "x": "', "no file of results"),
        ('"model": "', '"model": "\\u202e', "no file of results"),
        ('"format": 1', '"format": 1, "note": "hello"', "no file of results"),
    ],
)
def test_values_of_another_kind_are_refused(file, tmp_path, old, new, says):
    path = write(tmp_path, file) / file.name
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new, 1))
    with pytest.raises(MisstepError, match=says):
        read_result_file(path)


@pytest.mark.parametrize("text", ["[]", "", "hello", "[" * 100_000, "1", "null"])
def test_other_files_are_refused(tmp_path, text):
    path = tmp_path / "x.json"
    path.write_text(text)
    with pytest.raises(MisstepError, match="no file of results"):
        read_result_file(path)


def test_the_board_shows_markup_as_text(file, tmp_path):
    forged = changed(file, model="<script>alert(1)</script> a|b [x](javascript:alert(1))")
    page = board_page(write(tmp_path, forged))
    for part in ("<script", "[x](", " a|b"):
        assert part not in page


def test_forged_files_are_refused(file):
    wrong = next(i for i, one in enumerate(file.samples) if 0 <= one.label != one.verdict)
    sample = file.samples[wrong]

    def with_sample(**fields):
        samples = list(file.samples)
        samples[wrong] = sample._replace(**fields)
        return samples

    verdict = file.model_copy(update={"samples": with_sample(verdict=sample.label)})
    metric = file.metrics["first_error"] | {"f1_score": 0.9}
    forged = {
        "error_accuracy is .*; its verdicts give": verdict,
        "f1_score is 0.9; its verdicts give": file.model_copy(
            update={"metrics": {"first_error": metric}}
        ),
        "its row is not that of sample": changed(file, samples=with_sample(label=sample.verdict)),
        "199 of the 200 rows": changed(file, samples=file.samples[1:]),
        "199 samples, and 200 of 200 rows": changed(file).model_copy(
            update={"samples": [*file.samples[1:], file.samples[1]]}
        ),
        "only recorded runs may cover a part": changed(file).model_copy(update={"of": 300}),
        "a path or an address": changed(file, settings={"domain": "../../private"}),
        "only the critics of misstep": changed(file, settings={"critic": "own.py@solver"}),
        "sample .*: its row is not": changed(file, samples=with_sample(cluster="another")),
        "'<b>', which is no pinned source": changed(file, imported=True, source="<b>"),
        "it has version 0 of processbench": changed(file, version="0"),
        "did not read the rows of 'processbench'": changed(file, source="processbench"),
        "did not read the rows of 'sample'": changed(file, settings={}),
        "200 of the 3,400 rows of processbench": changed(file, source="processbench", settings={}),
        "mathcheck does not have 200 rows": changed(file, imported=True, source="mathcheck"),
    }
    for message, one in forged.items():
        with pytest.raises(MisstepError, match=message):
            check_results(one, "x.json")


def test_files_of_one_source_have_the_same_rows(file, tmp_path):
    # Rows that are not at hand: only another file can tell that a label was changed.
    recorded = changed(file, imported=True, source="mathcheck", of=516)
    other = file.samples[0]._replace(row="0" * 16)
    forged = changed(
        recorded,
        samples=[other, *file.samples[1:]],
        model="imported/b",
        log_sha256="1" * 64,
        of=516,
    )
    write(write(tmp_path, recorded), forged)
    with pytest.raises(MisstepError, match="another text or label than in"):
        read_results(tmp_path)
    again = changed(recorded, model="imported/c", of=516)
    folder = write(write(tmp_path / "twice", recorded), again)
    with pytest.raises(MisstepError, match="the same log as"):
        read_results(folder)


def test_logs_that_cannot_be_submitted(tmp_path):
    from misstep import processbench

    rows = load_rows("sample")[:20]

    def refused(match, **options):
        path = tmp_path / "one.eval"
        path.unlink(missing_ok=True)
        spec = {"task": "misstep/processbench", "model": "openai/x", **options}
        write_first_error_log(path, rows, guesses(rows, 0.5, 1), **spec)
        with pytest.raises(MisstepError, match=match):
            submission(str(path))

    refused("19 of 20 samples|1 samples have no score", failed=[rows[0].id])
    own = {"task_args": {"source": "mine.jsonl"}, "task_args_passed": {"source": "mine.jsonl"}}
    refused("'mine.jsonl', which is no pinned source", **own)
    refused("accept=.* changes the rows", task_args_passed={"accept": "0" * 64})
    refused("only the critics of misstep", task_args_passed={"critic": "my.py@critic"})
    refused("it has version 7 of processbench", task_version=7)
    task = processbench(source="sample", critic="no_error")
    with pytest.raises(MisstepError, match="without --limit"):
        submission(succeed(task, tmp_path, limit=4).location)
