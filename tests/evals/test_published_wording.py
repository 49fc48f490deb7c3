"""Published wording in DeltaBench, error recovery, GroundedPRM's judge and MathCheck.

The texts stand in for the published ones, which are not part of this project.
"""

import json

import pytest

from misstep.evals.deltabench_sections import deltabench_sections
from misstep.evals.error_recovery import error_recovery
from misstep.evals.processbench import processbench
from misstep.loaders import PublishedWording, Template, _recovery, published_wording
from misstep.loaders._wording import Slot
from misstep.registry import DataError, MisstepError
from misstep.rewards import _judge
from misstep.solvers import _critique, sections_prompt
from tests.support.runs import metrics_of

TASKS = ("multistep_arithmetic", "tracking_shuffled_objects", "word_sorting", "logical_deduction")
WORDS = {
    "deltabench": {"prompt": "Q: {{question}} A: {{model_output}} {answer}"},
    "groundedprm": {"system": "Judge it.", "history": Template(("It is ", Slot("sign")))},
    "mathcheck": {"prompt": "Where does it begin?"},
    "error_recovery": {
        "system": "Solve.",
        "notice": "Is it right?",
        "final": "Answer now.",
        "hints": {task: f"\n\nHint of {task}." for task in TASKS},
        "instructions": dict.fromkeys(TASKS, "") | {"word_sorting": "Sort: "},
    },
}


@pytest.fixture
def published(monkeypatch):
    for module in (_critique, _judge, _recovery):
        monkeypatch.setattr(
            module, "published_wording", lambda name: PublishedWording(name, WORDS[name])
        )


def test_sections_are_shown_as_the_published_rows_join_them(real_data, published):
    path = real_data / "deltabench" / "Deltabench_v1.jsonl"
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    samples = {s.input: s.metadata["steps"] for s in deltabench_sections(source=str(path)).dataset}
    for row in rows:
        text = sections_prompt(row["question"], samples[row["question"]], wording="published")
        assert text == f"Q: {row['question']} A: {row['sections_content']} {{answer}}"


def test_groundedprm_is_asked_in_its_own_words(serve, published):
    task = processbench(source="sample", critic="stepwise", style="written", wording="published")
    log, server = serve(task, lambda *_: r"Fine. \boxed{+}", limit=1)
    steps = log.samples[0].metadata["steps"]
    last = max(server.requests, key=lambda request: len(request.body["messages"])).body
    expected = [("system", "Judge it."), ("user", f"{log.samples[0].input}\n\n{steps[0]}")]
    for step in steps[1:]:
        expected += [("assistant", "It is +"), ("user", step)]
    assert [(one["role"], one["content"]) for one in last["messages"]] == expected
    assert last["temperature"] == 0.6


def test_mathcheck_is_asked_and_read_by_its_own_rule(serve, real_data, published):
    content = (real_data / "mathcheck" / "process_judging.json").read_text(encoding="utf-8")
    rows = {f"mathcheck-{row['id']}": row for row in json.loads(content)}
    task = processbench(source="mathcheck", wording="published")
    log, server = serve(task, lambda *_: "The answer is:\n**Step 3**", limit=8)
    sent = {request.body["messages"][0]["content"] for request in server.requests}
    hits = 0
    for sample in log.samples:
        row = rows[sample.id]
        assert (
            f"Where does it begin?\n\nQuestion: {row['question']}\nSolution: {row['solution']}\n"
            "Judgement: "
        ) in sent
        hits += row["answer"] == "Step 3"
    assert metrics_of(log)["error_accuracy"] == hits / 8
    assert metrics_of(log, "process_judging_published")["none_count"] == 0
    assert sum(len(score.metrics) for score in log.results.scores) <= 15


def test_error_recovery_in_the_published_words(real_data, serve, published):
    options = {"subset": "word_sorting", "wording": "published", "notice": "end"}
    log, server = serve(error_recovery(**options), lambda *_: "a b", limit=1)
    [sample] = log.samples
    assert sample.input.startswith("Sort: ")
    texts = [(m["role"], m["content"]) for m in server.requests[-1].body["messages"]]
    assert texts[0] == ("system", "Solve.")
    assert ("user", "Is it right?") in texts
    assert texts[-1] == ("system", "Answer now.\n\nHint of word_sorting.")
    with pytest.raises(MisstepError, match="source=generated"):
        error_recovery(source="generated", wording="published")


@pytest.mark.parametrize(
    ("task", "options", "says"),
    [
        (processbench, {"source": "sample"}, "ProcessBench's prompt is the published one already"),
        (processbench, {"source": "sample", "critic": "stepwise"}, "style=written"),
        (deltabench_sections, {"structured": True}, "Leave out structured"),
        (deltabench_sections, {"critic": "no_error"}, "goes with critic=critique"),
    ],
)
def test_where_there_is_no_other_wording_it_is_refused(real_data, task, options, says):
    if task is deltabench_sections:
        options = options | {"source": str(real_data / "deltabench" / "Deltabench_v1.jsonl")}
    with pytest.raises(MisstepError, match=says):
        task(wording="published", **options)


def test_without_the_files_each_eval_says_how_to_get_them(real_data, tmp_path, monkeypatch):
    rows = str(real_data / "deltabench" / "Deltabench_v1.jsonl")
    monkeypatch.setenv("MISSTEP_DATA", str(tmp_path))
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    published_wording.cache_clear()
    stepwise = {"source": "sample", "critic": "stepwise", "style": "written"}
    for task, options, name in (
        (deltabench_sections, {"source": rows}, "deltabench"),
        (error_recovery, {}, "error_recovery"),
        (processbench, stepwise, "groundedprm"),
    ):
        with pytest.raises(DataError, match=f"`misstep data fetch {name} --wording`"):
            task(wording="published", **options)
