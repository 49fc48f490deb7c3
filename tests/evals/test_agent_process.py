"""AgentProcessBench end to end: prompts, critics, windows, both rules, recorded judges."""

import json
import re
from hashlib import sha256

import pytest
from click.testing import CliRunner
from inspect_ai.model import ModelOutput, ModelUsage, get_model

from misstep.cli._main import cli
from misstep.evals import agent_process
from misstep.loaders import judgement_datasets, published_wording, trajectory_dataset
from misstep.registry import MisstepError, find_wording
from misstep.reports import (
    benchmarks,
    export_log,
    groupings,
    import_files,
    leaderboard,
    read_run,
    summary_of_run,
)
from misstep.samples import TrajectoryMetadata
from misstep.scorers import step_counts
from misstep.scorers._step_labels import score_labels
from misstep.solvers._step_labels import published_messages
from tests.support.runs import metrics_of, succeed, table_of

SETS = ("hotpotqa", "bfcl")


def model_that(answer):
    """Return a model whose replies are made from the last prompt."""

    def reply(messages, tools, tool_choice, config):
        output = ModelOutput.from_content("mockllm/model", answer(messages[-1].text))
        output.usage = ModelUsage(input_tokens=1, output_tokens=1, total_tokens=2)
        return output

    return get_model("mockllm/model", custom_outputs=reply, memoize=False)


def labels_reply(labels, first=0):
    content = {"step_labels": {str(first + i): label for i, label in enumerate(labels)}}
    return f"Step by step.\n```json\n{json.dumps(content)}\n```"


def asked_numbers(prompt):
    return [int(n) for n in re.search(r"Label the steps ([\d, ]+)\.", prompt)[1].split(",")]


def test_a_perfect_judge_of_all_steps_is_perfect_by_every_metric(tmp_path):
    dataset = trajectory_dataset("agent_sample")
    by_text = {sample.metadata["steps"][-1]: sample.metadata["step_labels"] for sample in dataset}

    def answer(prompt):
        last = re.findall(r"<step_\d+>\n(.*?)\n</step_\d+>", prompt, re.S)[-1]
        return labels_reply(by_text[last])

    log = succeed(agent_process(source="agent_sample"), tmp_path, model_that(answer))
    assert table_of(log, "first_error")["f1_score"] == 1
    ours = table_of(log, "step_labels")
    assert (ours["step_accuracy"], ours["step_macro_f1"], ours["unread_steps"]) == (1, 1, 0)
    assert table_of(log, "step_labels_published")["exact"] == 1


def test_a_reply_without_labels_is_unread_and_right_only_by_the_published_rule(tmp_path):
    log = succeed(
        agent_process(source="agent_sample"), tmp_path, model_that(lambda prompt: "All is fine.")
    )
    assert metrics_of(log, "step_labels_published")["first_error_accuracy"] == 0.5
    assert metrics_of(log, "step_labels")["first_error_accuracy"] == 0
    assert metrics_of(log, "first_error")["correct_accuracy"] == 0
    score = log.samples[0].scores["first_error"]
    assert (score.metadata["unread"], score.value) == ("not_structured", "I")


@pytest.mark.parametrize("critic", ["critique", "stepwise", "no_error", "label_distribution"])
def test_the_critics_of_worked_solutions_read_trajectories_too(critic, tmp_path):
    def answer(prompt):
        return r"\boxed{right}" if critic == "stepwise" else r"All fine. \boxed{-1}"

    log = succeed(agent_process(source="agent_sample", critic=critic), tmp_path, model_that(answer))
    found = metrics_of(log, "step_labels")
    assert found["unread_steps"] == 0
    if critic != "label_distribution":
        # Never to flag is right on the half without an error.
        assert found["first_error_accuracy"] == 0.5
    score = log.samples[0].scores["step_labels"]
    assert score.metadata["derived"] is True


def test_a_long_trajectory_is_read_in_windows_and_all_labels_are_joined(tmp_path):
    seen = []

    def answer(prompt):
        numbers = asked_numbers(prompt)
        seen.append(numbers)
        return labels_reply([1] * len(numbers), numbers[0])

    log = succeed(
        agent_process(source="agent_sample", subset="service", context=1200),
        tmp_path,
        model_that(answer),
    )
    assert any(numbers[0] > 0 for numbers in seen)
    for sample in log.samples:
        assert sample.scores["step_labels"].metadata["labels"] == [1] * sample.metadata["n_steps"]


def test_a_step_that_fits_no_context_is_unread_by_name(tmp_path):
    task = agent_process(source="agent_sample", critic="critique", context=300)
    log = succeed(task, tmp_path, model_that(lambda prompt: r"\boxed{-1}"))
    unread = {sample.scores["first_error"].metadata.get("unread") for sample in log.samples}
    assert unread == {"too_long"}
    assert metrics_of(log, "first_error")["correct_accuracy"] == 0


def test_windows_stop_at_the_first_error(tmp_path):
    asked = []

    def answer(prompt):
        asked.append(prompt)
        return r"\boxed{-1}" if "<step_0>" in prompt else r"Wrong. \boxed{2}"

    task = agent_process(source="agent_sample", subset="service", critic="critique", context=700)
    log = succeed(task, tmp_path, model_that(answer))
    answers = {sample.id: sample.scores["first_error"].answer for sample in log.samples}
    assert set(answers.values()) == {"-1", "2"}
    assert all(prompt.count("<step_3>") == 0 or "<step_2>" in prompt for prompt in asked)


def test_options_that_do_not_go_together_are_refused():
    with pytest.raises(MisstepError, match="votes go with critic=critique"):
        agent_process(source="agent_sample", votes=8)
    with pytest.raises(MisstepError, match="windows go with critic=critique"):
        agent_process(source="agent_sample", critic="stepwise", context=1000)
    with pytest.raises(MisstepError, match="goes with critic=labels"):
        agent_process(source="agent_sample", critic="critique", wording="published")
    with pytest.raises(MisstepError, match="Unknown wording 'mine'"):
        agent_process(source="agent_sample", wording="mine")


def figures(real_data):
    return json.loads((real_data / "figures.json").read_text())["agentprocessbench"]


@pytest.fixture(scope="module")
def verdicts(real_data):
    """Return the published result files of all judges."""
    folder = real_data / "agentprocessbench" / "verdicts"
    if not folder.is_dir():
        pytest.skip("the offline mirror has no agentprocessbench/verdicts")
    return folder


def accuracies(scored):
    """Return the metrics of judgements in percent, by the names of the published figures."""
    counts = {
        rule: step_counts(
            (score_labels(judged, gold, rule).metadata, gold) for judged, gold in scored
        )
        for rule in ("published", "ours")
    }
    hits = {True: [], False: []}
    for judged, gold in scored:
        hits[-1 in gold].append(score_labels(judged, gold, "ours").value["first_error"])
    error, correct = (sum(hits[kind]) / len(hits[kind]) for kind in (True, False))
    values = {
        "StepAcc": counts["published"].step_accuracy,
        "FirstErrAcc": counts["published"].first_error_accuracy,
        "exact": counts["published"].exact_accuracy,
        "first_error_accuracy": counts["ours"].first_error_accuracy,
        "step_macro_f1": counts["ours"].step_macro_f1,
        "error_accuracy": error,
        "correct_accuracy": correct,
        "f1": 2 * error * correct / (error + correct) if error + correct else 0,
    }
    return {name: 100 * value for name, value in values.items()}


def judgements(dataset, subset=None):
    return [
        (
            one.metadata["recorded"].get("labels") or [None] * one.metadata["n_steps"],
            one.metadata["step_labels"],
        )
        for one in dataset
        if subset in (None, one.metadata["subset"])
    ]


def test_recorded_judges_have_the_published_figures(verdicts, real_data):
    known = figures(real_data)["judges"]
    files = sorted(map(str, verdicts.glob("*/*.jsonl")))
    judged = judgement_datasets(files, "agentprocessbench_labels")
    assert judged.keys() == known.keys()
    for judge, dataset in judged.items():
        for subset in (*SETS, None):
            expected = known[judge][subset or "both_sets_pooled"]
            failed = [labels for labels, _ in judgements(dataset, subset) if set(labels) == {None}]
            assert len(failed) == expected["failed"]
            expected = expected.get("published", expected) | expected.get("ours", {})
            found = accuracies(judgements(dataset, subset))
            for name in found.keys() & expected.keys():
                where = (judge, subset, name)
                assert found[name] == pytest.approx(expected[name], abs=0.0051), where


def test_the_log_of_a_recorded_judge_has_the_same_figures_and_goes_back_to_files(
    verdicts, real_data, tmp_path
):
    files = sorted(map(str, verdicts.glob("Llama-3.2-3B-Instruct/*.jsonl")))
    [imported] = import_files(files, str(tmp_path), "agentprocessbench_labels")
    log = imported.log
    expected = figures(real_data)["judges"]["Llama-3.2-3B-Instruct"]["both_sets_pooled"]
    published = metrics_of(log, "step_labels_published")
    assert 100 * published["step_accuracy"] == pytest.approx(expected["StepAcc"], abs=0.0051)
    found = 100 * published["first_error_accuracy"]
    assert found == pytest.approx(expected["FirstErrAcc"], abs=0.0051)
    f1 = 100 * metrics_of(log, "first_error")["f1_score"]
    assert f1 == pytest.approx(expected["f1"], abs=0.0051)

    # The paper's table stands beside the run, set by set: the paper does not pool two of four.
    [benchmark] = benchmarks([read_run(log.location)])
    table = leaderboard(benchmark)
    own, paper = (table[table["published"] == which].set_index("model") for which in (False, True))
    assert len(paper) == 20
    for name in SETS:
        metric = f"published_{name}_first_error_accuracy"
        printed = paper.loc["Llama-3.2-3B-Instruct", metric]
        assert own[metric].item() == pytest.approx(printed, abs=0.001)
    assert paper["published_first_error_accuracy"].isna().all()
    assert paper["f1_score"].isna().all()

    export = export_log(log.location, "agentprocessbench")
    assert set(export.files) == {f"{name}__blind_Llama-3.2-3B-Instruct.jsonl" for name in SETS}
    paths = []
    for name, text in export.files.items():
        (tmp_path / name).write_text(text)
        paths.append(str(tmp_path / name))
    [before] = judgement_datasets(files, "agentprocessbench_labels").values()
    [after] = judgement_datasets(paths, "agentprocessbench_labels").values()
    labels = [{one.id: one.metadata["recorded"]["labels"] for one in x} for x in (before, after)]
    assert labels[0] == labels[1]


def test_deleted_records_may_raise_the_published_accuracy_and_never_ours(verdicts, tmp_path):
    path = verdicts / "Qwen3-8B" / "hotpotqa__blind_Qwen3-8B-Non-Thinking.jsonl"
    lines = path.read_text().splitlines()
    kept = [line for line in lines if -1 not in json.loads(line)["step_labels"].values()]
    fewer = tmp_path / "fewer.jsonl"
    fewer.write_text("\n".join(kept))
    [all_of_it] = judgement_datasets([str(path)], "agentprocessbench_labels").values()
    [rest] = judgement_datasets([str(fewer)], "agentprocessbench_labels").values()
    before, after = accuracies(judgements(all_of_it)), accuracies(judgements(rest))
    assert len(rest) == 250
    # Without all flags, the published rule gives what never flagging gives.
    assert after["FirstErrAcc"] == pytest.approx(58.4)
    assert after["FirstErrAcc"] > before["FirstErrAcc"]
    assert after["first_error_accuracy"] <= before["first_error_accuracy"]


def test_judgements_are_read_as_the_published_script_reads_them(tmp_path):
    """Numbers may be texts, labels may be a list or missing, and the newest record counts."""
    gold = [
        {"id": f"mine-{i}", "subset": "mine", "step_labels": {"0": 1, "2": -1}} for i in range(6)
    ]
    labels = [
        {"0": "1", "2": "-1"},
        {"0": 1.0, "2": float("nan"), "9": -1},
        [1, 0, -1],
        None,
        {"0": 5, "2": "bad"},
    ]
    about = {"dataset": "mine", "annotator": "j", "updated_at": "2026-02-05T04:07:56Z"}
    records = [
        {**about, "total_index": str(i), "step_labels": one, "final_label": "x"}
        for i, one in enumerate(labels)
    ]
    newest = {"total_index": 0, "step_labels": {"0": 0, "2": 0}}
    records.insert(0, {**about, **newest, "updated_at": "2026-02-05T05:07:56.5+00:00"})
    records.append({**about, **newest, "updated_at": None})
    for name, rows in (("gold", gold), ("records", records)):
        (tmp_path / f"{name}.jsonl").write_text("\n".join(map(json.dumps, rows)))
    [judged] = judgement_datasets(
        [str(tmp_path / "records.jsonl")], str(tmp_path / "gold.jsonl")
    ).values()
    found = {one.id: one.metadata["recorded"].get("labels") for one in judged}
    assert found == {
        "mine-0": [0, 0],
        "mine-1": [1, None],
        "mine-2": [1, -1],
        "mine-3": [None, None],
        "mine-4": [None, None],
        "mine-5": None,
    }


def test_baselines_have_the_published_figures(real_data):
    known = figures(real_data)["trivial"]
    for subset in SETS:
        rows = trajectory_dataset("agentprocessbench_labels", subset, labels_only=True)
        labels = [row.metadata["step_labels"] for row in rows]
        scores = [score_labels([1] * len(one), one, "ours").metadata for one in labels]
        counts = step_counts(zip(scores, labels, strict=True))
        expected = known[subset]["never_flag_FirstErrAcc"], known[subset]["all_plus_one_StepAcc"]
        found = 100 * counts.first_error_accuracy, 100 * counts.step_accuracy
        assert found == pytest.approx(expected, abs=0.0051)


def test_published_prompts_have_the_published_checksums(real_data, tmp_path, monkeypatch):
    """The mirror gets a file like the original, with the words of one rendered prompt."""
    folder = real_data / "agentprocessbench" / "prompts"
    if not folder.is_dir():
        pytest.skip("the offline mirror has no agentprocessbench/prompts")
    system, user = json.loads((folder / "rendered_total_index_3.json").read_text())
    instructions, _, payload = user["content"].partition("\n\nTRAJECTORY_JSON:\n")
    notes = json.loads(payload)["notes"]
    dataset = trajectory_dataset("agentprocessbench", "hotpotqa", keep_messages=True)
    original = (
        f"JUDGE_RUBRIC = {system['content']!r}\n"
        "def _build_judge_input(item):\n"
        f"    payload = {{'notes': {notes!r}}}\n"
        f"    user_instructions = {instructions!r}\n"
        "    return [{'role': 'system', 'content': JUDGE_RUBRIC}, {'role': 'user', 'content':\n"
        "        user_instructions + '\\n\\nTRAJECTORY_JSON:\\n'\n"
        "        + json.dumps(payload, ensure_ascii=False)}]\n"
    )
    name = find_wording("agentprocessbench").files[0].name
    (tmp_path / "agentprocessbench").mkdir()
    (tmp_path / "agentprocessbench" / name).write_text(original)
    monkeypatch.setenv("MISSTEP_DATA", str(tmp_path))
    published_wording.cache_clear()
    try:
        rendered = {
            str(one.id): published_messages(one.metadata_as(TrajectoryMetadata)) for one in dataset
        }
    finally:
        published_wording.cache_clear()
    listed = [json.loads(line) for line in (folder / "sha256.jsonl").read_text().splitlines()]
    assert len(listed) == len(rendered) == 250
    for one in listed:
        messages = rendered[f"hotpotqa-{one['total_index']}"]
        found = [sha256(message.text.encode()).hexdigest() for message in messages]
        assert found == [one["system_sha256"], one["user_sha256"]], one["total_index"]


def test_results_by_set_by_position_and_by_kind_of_step(tmp_path):
    log = succeed(agent_process(source="agent_sample", critic="last_step"), tmp_path)
    run = read_run(log.location)
    summary = summary_of_run(run)
    errors = [sample for sample in log.samples if sample.metadata["has_error"]]
    assert {one.subset for one in summary.subsets} == {one.metadata["subset"] for one in errors}
    for by in ("relative_position", "error_kind"):
        assert sum(group.samples for group in summary.groups[by]) == len(errors)
    for group in summary.groups["step_kind"]:
        kind = {"tool call": "call", "text only": "text"}[group.group]
        own = [
            judged == label
            for sample in log.samples
            for step_kind, judged, label in zip(
                sample.metadata["step_kinds"],
                sample.scores["step_labels"].metadata["labels"],
                sample.metadata["step_labels"],
                strict=True,
            )
            if step_kind == kind
        ]
        assert (group.samples, group.metric.value) == (len(own), sum(own) / len(own))
    for group in summary.groups["error_kind"]:
        kind = {"tool call": "call", "text only": "text"}[group.group]
        own = [
            sample.scores["first_error"].value == "C"
            for sample in errors
            if sample.metadata["step_kinds"][sample.metadata["label"]] == kind
        ]
        assert (group.samples, group.metric.value) == (len(own), sum(own) / len(own))
    assert {"subset", "relative_position", "error_kind"} <= set(groupings([run]))
    shown = CliRunner().invoke(cli, ["show", log.location], catch_exceptions=False).output
    assert "kind of the first wrong step" in " ".join(shown.split())
    assert "kind of step" in " ".join(shown.split())
    table = table_of(log, "step_labels")
    for name in {sample.metadata["subset"] for sample in log.samples}:
        assert 0 <= table[f"{name}_step_accuracy"] <= 1
