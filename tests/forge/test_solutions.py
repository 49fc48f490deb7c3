"""Which rows are used, and why the others are not."""

import json

import pytest

from misstep.forge import SkipReason, WorkedSolution, analyse, examine_row
from misstep.forge._latex import broken_latex, doubled_escapes
from misstep.loaders import corpus_rows, read_rows
from misstep.registry import DataError, MisstepError

STEPS = "".join(
    f"{i}. We see that the {i}th sum is of the form \\(x + {i}\\).\n" for i in range(1, 9)
)
GOOD = {
    "problem": "What is the sum?",
    "solution": STEPS + "9. So it is \\(\\boxed{9}\\).",
    "source": "x",
}


def with_solution(solution):
    return {**GOOD, "solution": solution}


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        ([1], SkipReason.MALFORMED),
        ({"problem": "p"}, SkipReason.MALFORMED),
        ({**GOOD, "id": "a\x00b"}, SkipReason.MALFORMED),
        ({**GOOD, "source": "\x1b[2J"}, SkipReason.MALFORMED),
        (with_solution(STEPS), SkipReason.NO_ANSWER),
        (with_solution(STEPS + "\\boxed{}"), SkipReason.NO_ANSWER),
        (with_solution(STEPS + "\\boxed{3"), SkipReason.NO_ANSWER),
        (with_solution(STEPS + "\\boxed{\\text{Proved.}}"), SkipReason.ANSWER_IN_WORDS),
        (with_solution("It is \\(\\boxed{9}\\) for all of them"), SkipReason.ONE_BLOCK),
        (
            with_solution("One is 1.\n\nTwo.\n\nThree.\n\nIt is \\(\\boxed{9}\\)."),
            SkipReason.TOO_FEW_STEPS,
        ),
        (
            with_solution(STEPS.replace("We see", "我们看到这个数是什么") + "\\boxed{9}"),
            SkipReason.NOT_ENGLISH,
        ),
        (
            with_solution(
                "".join(
                    f"{i}. Il est clair que la somme est {i} et les autres.\n" for i in range(9)
                )
                + "\\boxed{9}"
            ),
            SkipReason.NOT_ENGLISH,
        ),
        (with_solution(STEPS + "9. \\[ x \\(\\boxed{9}\\)"), SkipReason.BROKEN_LATEX),
        (with_solution(STEPS + "9. \\frac{1}{2 \\(\\boxed{9}\\)"), SkipReason.BROKEN_LATEX),
    ],
)
def test_every_reason_to_leave_a_row_out(row, reason):
    assert examine_row(1, row).result is reason


def test_a_good_row_is_stripped_steps_and_the_last_boxed_answer():
    found = examine_row(7, GOOD).result
    assert isinstance(found, WorkedSolution)
    assert (found.id, found.answer, len(found.steps)) == ("row-0000007", "9", 9)
    assert found.steps[0] == "1. We see that the 1th sum is of the form \\(x + 1\\)."
    assert found.solution == GOOD["solution"]


def test_a_rows_own_answer_serves_where_no_box_does():
    assert examine_row(1, {**with_solution(STEPS), "answer": "9"}).result.answer == "9"
    assert (
        examine_row(1, {**with_solution(STEPS), "answer": "See solution"}).result
        is SkipReason.NO_ANSWER
    )


def test_broken_latex_knows_escapes_and_line_breaks():
    assert broken_latex("\\{ \\frac{1}{2} \\\\[2pt] \\left( x \\right. \\$5 \\rightarrow") is None
    assert broken_latex("\\left( x") == "\\left and \\right do not pair"
    assert broken_latex("\\begin{a} \\end{b}") == "\\begin and \\end do not pair"
    assert broken_latex("$5") == "an odd number of $"
    assert doubled_escapes("\\\\frac{1}{2} and x \\\\ y \\\\[2pt]") == ["\\\\frac"]


def test_the_analysis_counts_by_source():
    rows = [(1, GOOD), (2, {**GOOD, "source": "y"}), (3, with_solution("No.")), (4, 5)]
    analysis = analyse(rows, 8)
    assert (analysis.everything.rows, analysis.everything.usable) == (4, 2)
    assert analysis.sources["x"].left_out == {"no_answer": 1}
    assert analysis.sources["x"].steps == {9: 1, 1: 1}
    assert analysis.everything.structures == {"numbered": 2, "one block": 1}
    assert analysis.everything.median_steps == 9


@pytest.mark.parametrize("ending", [".jsonl", ".csv", ".parquet", ".json"])
def test_files_stream_alike(tmp_path, ending):
    import pandas

    path = tmp_path / f"rows{ending}"
    frame = pandas.DataFrame([GOOD, {**GOOD, "source": "y\u2028z"}])
    match ending:
        case ".csv":
            frame.to_csv(path, index=False)
        case ".parquet":
            frame.to_parquet(path)
        case _:
            frame.to_json(path, orient="records", lines=ending == ".jsonl")
    assert list(read_rows(str(path))) == [(1, GOOD), (2, {**GOOD, "source": "y\u2028z"})]


@pytest.mark.parametrize(
    ("name", "content", "says"),
    [
        ("a.jsonl", b'{"a": 1}\n{', "line 2: not valid JSON"),
        ("a.jsonl", b"\xff\xfe", "not UTF-8"),
        ("a.parquet", b"no", "not a valid Parquet file"),
        ("a.csv", b'a,b\n"1', "not valid CSV"),
        ("a.txt", b"", "Allowed extensions"),
        ("none.jsonl", None, "cannot be read"),
    ],
)
def test_a_file_that_cannot_be_read_is_one_message(tmp_path, name, content, says):
    path = tmp_path / name
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(MisstepError, match=says):
        list(read_rows(str(path)))


def test_a_corpus_is_pinned_by_its_number_of_rows(tmp_path, monkeypatch):
    monkeypatch.setenv("MISSTEP_DATA", str(tmp_path))
    folder = tmp_path / "numinamath"
    folder.mkdir()
    (folder / "numinamath_cot.jsonl").write_text(json.dumps(GOOD), encoding="utf-8")
    with pytest.raises(DataError, match=r"1 rows; numinamath is pinned to 859,494.*--source"):
        list(corpus_rows("numinamath"))
    with pytest.raises(MisstepError, match="Did you mean 'numinamath'"):
        list(corpus_rows("numinamat"))


def test_a_corpus_that_is_nowhere_names_every_place(tmp_path, monkeypatch):
    monkeypatch.setenv("MISSTEP_DATA", str(tmp_path))
    # What HF_HUB_OFFLINE=1 sets at the start of a process.
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    monkeypatch.setattr("datasets.config.HF_HUB_OFFLINE", True)
    with pytest.raises(DataError, match=r"(?s)offline mirror.*AI-MO/NuminaMath-CoT"):
        list(corpus_rows("numinamath"))
