"""Who&When: three protocols, our and the published rule, and where they differ."""

import json
import re
from dataclasses import replace
from hashlib import sha256
from math import ceil, isnan, log2

import pytest

from misstep.evals import who_and_when
from misstep.loaders import attribution_dataset, published_wording
from misstep.loaders._first_error import _check_row_pins, check_rows
from misstep.registry import DataError, MisstepError, find_source, find_wording
from misstep.reports import benchmarks, leaderboard, read_run, summary_of_run
from misstep.samples import AttributionMetadata
from misstep.scorers._attribution import (
    Blame,
    plain_name,
    published_hits,
    read_blame,
    read_blame_published,
    score_blame,
)
from misstep.solvers._attribution import Questions
from tests.evals.test_agent_process import model_that
from tests.support.runs import metrics_of, succeed, table_of

SETS = ("Algorithm-Generated", "Hand-Crafted")
# The name may run over lines: a reply that says "Prediction for" hides the next file.
PUBLISHED_BLOCK = re.compile(r"Prediction for ([^:]+\.json):(.*?)(?=Prediction for|\Z)", re.DOTALL)
BLOCK = re.compile(r"^Prediction for ([^:\n]+\.json):[ \t]*$", re.MULTILINE)
ROW = {
    "id": "x",
    "question": "How many?",
    "ground_truth": "8",
    "history": [{"name": f"Agent_{i % 3}", "role": "user", "content": f"c{i}"} for i in range(12)],
    "mistake_agent": "Agent_1",
    "mistake_step": "1",
    "mistake_reason": "It guessed.",
}


@pytest.fixture
def own(tmp_path):
    path = tmp_path / "failures.jsonl"
    path.write_text(json.dumps(ROW))
    return str(path)


def scores_of(log):
    [sample] = log.samples
    return {name: score.value for name, score in sample.scores.items()}


def test_gold_1_matches_a_predicted_10_by_the_published_rule_only(own, tmp_path):
    reply = "Agent Name: Agent_1\nStep Number: 10\nReason for Mistake: guess"
    log = succeed(who_and_when(source=own), tmp_path, model_that(lambda prompt: reply))
    assert scores_of(log)["attribution_published"] == {"agent": 1, "step": 1}
    assert scores_of(log)["attribution"] == {"agent": 1, "step": 0, "both": 0}
    found = table_of(log, "attribution")
    assert (found["step_within_5"], found["out_of_range"]) == (0, 0)
    assert found["random_agent"] == pytest.approx(1 / 3)
    assert found["random_step"] == pytest.approx(1 / 12)


def test_the_papers_table_stands_beside_runs_asked_and_scored_like_it(own, tmp_path):
    reply = "Agent Name: Agent_1\nStep Number: 10\nReason for Mistake: guess"
    log = succeed(who_and_when(source=own), tmp_path, model_that(lambda prompt: reply))
    run = read_run(log.location)
    # The same run on all 184 rows of the paper.
    samples = [
        replace(run.samples[0], id=str(i), facets={"subset": SETS[i >= 126]}) for i in range(184)
    ]
    by_rule = {f"{name}_{part}_accuracy": 0.25 for name in SETS for part in ("agent", "step")}
    whole = replace(
        run,
        data="who_and_when",
        samples=samples,
        metrics=run.metrics | {"attribution_published": by_rule},
        traits=run.traits | {"wording": "published"},
    )
    [benchmark] = benchmarks([whole])
    table = leaderboard(benchmark)
    [row] = table[table["published"]].to_dict("records")
    assert row["protocol"] == "all_at_once with answer"
    assert row["published_Hand-Crafted_agent_accuracy"] == pytest.approx(0.5517)
    assert isnan(row["step_accuracy"]), "our rule is another one"
    assert table["published_Hand-Crafted_step_accuracy"].to_list() == [0.25, 0.0526]
    assert table["step_accuracy"][0] == run.metrics["attribution"]["step_accuracy"] == 0
    near = summary_of_run(whole).published
    assert (near.metric, near.own) == ("Algorithm-Generated_step_accuracy", 0.25)
    assert near.value == pytest.approx(0.125)
    for other in ({"wording": "own"}, {"critic": "stepwise"}):
        [alone] = benchmarks([replace(whole, traits=whole.traits | other)])
        assert not leaderboard(alone)["published"].any()
    no_answer = replace(whole, traits=whole.traits | {"ground_truth": False})
    assert summary_of_run(no_answer).published.model == "GPT-4o (all_at_once, without answer)"


@pytest.mark.parametrize(
    ("reply", "ours", "published"),
    [
        ("Agent Name: Ann\nStep Number: 3", Blame("Ann", 3), ("Ann", "3")),
        ("**Agent Name:** Ann\n**Step Number:** 3", Blame("Ann", 3), None),
        ("Agent Name: (Ann)\nStep Number: 3", Blame("Ann", 3), None),
        ("agent name: Ann\nstep number: Step 3", Blame("Ann", 3), None),
        ("Agent Name: Blu-Ray_Expert\nStep Number: 3", Blame("Blu-Ray_Expert", 3), ("Blu", "3")),
        ("Agent Name: Ann", Blame("Ann", None), None),
        ("Step Number: 4", Blame(None, 4), None),
        ("I cannot say.", Blame(), None),
    ],
)
def test_replies_are_read_by_our_and_by_the_published_rule(reply, ours, published):
    assert read_blame(reply) == ours
    assert read_blame_published(reply) == published


def test_names_are_compared_without_case_punctuation_and_a_bracketed_tail():
    assert plain_name("Orchestrator (-> WebSurfer)") == plain_name("orchestrator")
    assert plain_name("Web_Surfer") == plain_name("websurfer")
    assert plain_name("Web") != plain_name("WebSurfer")


def test_step_by_step_stops_at_the_first_yes(own, tmp_path):
    asked = []

    def answer(prompt):
        asked.append(prompt)
        return "1. Yes.\n2. It guessed." if "log up to step 4" in prompt else "1. No.\n2. Fine."

    task = who_and_when(source=own, critic="step_by_step")
    log = succeed(task, tmp_path, model_that(answer))
    assert len(asked) == 5
    assert scores_of(log)["attribution"] == {"agent": 1, "step": 0, "both": 0}
    assert log.samples[0].scores["attribution"].answer == "Agent_1, step 4"


def test_an_unreadable_reply_to_a_step_is_unread_by_ours_and_a_no_as_published(own, tmp_path):
    def answer(prompt):
        if "log up to step 0" in prompt:
            return "Hard to say."
        return "1. Yes." if "log up to step 1" in prompt else "1. No."

    task = who_and_when(source=own, critic="step_by_step")
    log = succeed(task, tmp_path, model_that(answer))
    assert scores_of(log)["attribution_published"] == {"agent": 1, "step": 1}
    assert scores_of(log)["attribution"] == {"agent": 0, "step": 0, "both": 0}
    assert metrics_of(log, "attribution")["unread"] == 1


def test_binary_search_visits_halves_and_makes_few_calls(own, tmp_path):
    ranges = []
    replies = ["lower half", "Not the upper half but the lower half", "upper half", "upper half"]

    def answer(prompt):
        ranges.append(re.search(r"\[Log, from step (\d+) to step (\d+)\]", prompt).groups())
        return replies[len(ranges) - 1]

    task = who_and_when(source=own, critic="binary_search")
    log = succeed(task, tmp_path, model_that(answer))
    # "upper half" anywhere in a reply counts first.
    assert ranges == [("0", "11"), ("6", "11"), ("6", "8"), ("6", "7")]
    assert len(ranges) <= ceil(log2(12))
    assert log.samples[0].scores["attribution"].answer.endswith("step 6")


def test_without_the_true_answer_the_prompt_does_not_hold_it(own, tmp_path):
    seen = []

    def answer(prompt):
        seen.append(prompt)
        return "Agent Name: Agent_1\nStep Number: 1"

    succeed(who_and_when(source=own), tmp_path, model_that(answer))
    succeed(who_and_when(source=own, ground_truth=False), tmp_path, model_that(answer))
    assert ["right answer is: 8" in prompt for prompt in seen] == [True, False]


def test_a_critic_of_first_errors_blames_the_agent_of_the_step(own, tmp_path):
    task = who_and_when(source=own, critic="critique")
    log = succeed(task, tmp_path, model_that(lambda prompt: r"\boxed{1}"))
    assert scores_of(log)["attribution"] == {"agent": 1, "step": 1, "both": 1}
    assert scores_of(log)["attribution_published"] == {"agent": 1, "step": 1}


def test_wrong_options_and_rows_get_one_message(own):
    with pytest.raises(MisstepError, match="votes and context go with critic=critique"):
        who_and_when(source=own, votes=8)
    _, [problem] = check_rows([(1, ROW | {"mistake_step": "12"})])
    assert "labels are -1 or 0 to 11" in str(problem)


def test_the_copy_on_the_hub_is_refused_by_name():
    row = ROW | {"id": "hand-34", "mistake_step": "8"}
    rows, _ = check_rows([(1, row)])
    with pytest.raises(DataError, match=r"'hand-34' has the label '8'; the pinned copy .* has '4'"):
        _check_row_pins(rows, find_source("who_and_when"))


@pytest.fixture(scope="module")
def real(real_data):
    """Return the figures, and the samples of each set by file name."""
    folder = real_data / "who_and_when"
    if not folder.is_dir():
        pytest.skip("the offline mirror has no who_and_when")
    known = json.loads((real_data / "figures.json").read_text())["who_and_when"]
    samples = {
        name: {
            f"{str(one.id).rpartition('-')[2]}.json": one
            for one in attribution_dataset(f"{folder / name}/*.json")
        }
        for name in SETS
    }
    return folder, known, samples


def about(sample):
    return sample.metadata_as(AttributionMetadata)


def percent(values):
    return round(100 * sum(values) / len(values), 2)


def predictions(text):
    """Return the prediction for each file in a log of predictions. The last one counts."""
    heads = list(BLOCK.finditer(text))
    ends = [head.start() for head in heads[1:]] + [len(text)]
    return {head[1]: text[head.end() : end] for head, end in zip(heads, ends, strict=True)}


def published_predictions(text):
    """Yield the predictions that the published script reads, with the names of their files."""
    for block in PUBLISHED_BLOCK.finditer(text):
        if (read := read_blame_published(block[2])) is not None:
            yield block[1].strip(), read


@pytest.mark.parametrize("name", SETS)
def test_recorded_predictions_have_the_expected_figures(real, name):
    folder, figures, samples = real
    known, rows = figures[name], samples[name]
    text = (folder / f"synthetic_{name}.txt").read_text()
    read = {file: one for file, one in published_predictions(text) if file in rows}
    hits = [
        published_hits(read.get(file), about(one).mistake_agent, about(one).label)
        for file, one in rows.items()
    ]
    published = {
        "parsed": len(read),
        "agent": percent([agent for agent, _ in hits]),
        "step": percent([step for _, step in hits]),
    }
    assert published == known["synthetic_published"]
    blocks = predictions(text)
    scores = [score_blame(read_blame(blocks.get(f, "")), about(x)) for f, x in rows.items()]
    values = ("agent", "step", "both")
    ours = {value: percent([one.value[value] for one in scores]) for value in values}
    ours |= {key: sum(key in one.metadata for one in scores) for key in ("unread", "out_of_range")}
    ours |= {
        f"within_{k}": percent([one.metadata.get("off_by", 999) <= k for one in scores])
        for k in (1, 3, 5)
    }
    assert ours == known["synthetic_ours"]


@pytest.mark.parametrize("name", SETS)
def test_baselines_have_the_expected_figures(real, name):
    _, figures, samples = real
    known, rows = figures[name], [about(one) for one in samples[name].values()]
    assert percent([1 / len(set(one.agents)) for one in rows]) == known["random_agent"]
    assert percent([1 / len(one.steps) for one in rows]) == known["random_step"]
    for constant, figure in known["constant"].items():
        exact = percent([score_blame(Blame("x", int(constant)), one).value["step"] for one in rows])
        published = percent([published_hits(("x", constant), "y", one.label)[1] for one in rows])
        assert {"exact": exact, "published": published} == figure
    # Gold answers are right by our rule.
    gold = [score_blame(Blame(one.mistake_agent, one.label), one).value["both"] for one in rows]
    assert percent(gold) == 100


def original_file(folder):
    """Return a file like the original, with the words of rendered prompts as f-strings."""
    lines = ["def all_at_once():", "    pass"]
    row = json.loads((folder / "Algorithm-Generated" / "1.json").read_text())
    history = row["history"]
    plain = "\n".join(f"{one['name']}: {one['content']}" for one in history)
    numbered = "".join(f"Step {i} - {x['name']}: {x['content']}\n" for i, x in enumerate(history))
    places = {
        "all_at_once": ("all_at_once", "all_at_once", "prompt", "first_call", plain, {}),
        "step_by_step": (
            "step_by_step",
            "step_by_step",
            "prompt",
            "last_call",
            numbered,
            {"(5) was by 'DataVerification_Expert'": "({number}) was by '{agent}'"},
        ),
        "binary_search": (
            "_find_error_in_segment_recursive",
            "_construct_binary_search_prompt",
            "return",
            "first_call",
            plain,
            {
                "from step 0 to step 2": "{upper}",
                "from step 3 to step 5": "{lower}",
                "from step 0 to step 5": "{range}",
            },
        ),
    }
    lines = []
    entry = find_wording("who_and_when").files[0]
    for protocol, (system_in, prompt_in, target, call, log, others) in places.items():
        path = folder / "prompts" / f"rendered_{protocol}_1.json"
        system, user = (one["content"] for one in json.loads(path.read_text())[call])
        text = user.replace(log, "{history}", 1).replace(row["question"], "{problem}", 1)
        text = text.replace("problem is: 8\n", "problem is: {answer}\n", 1)
        for old, new in others.items():
            text = text.replace(old, new)
        slots = entry.texts[f"{protocol}.prompt"].slots
        parts = re.split("({(?:" + "|".join(slots) + ")})", text)
        source = " + ".join(
            f"str({slots[part[1:-1]]})" if part[1:-1] in slots and part[:1] == "{" else repr(part)
            for part in parts
        )
        source = re.sub(r"str\((\w+)\)", r"\1", source)
        value = f"return {source}" if target == "return" else f"prompt = {source}"
        if system_in == prompt_in:
            lines += [f"def {system_in}():", f"    {value}", f"    x = {{'content': {system!r}}}"]
        else:
            lines += [f"def {system_in}():", f"    x = {{'content': {system!r}}}"]
            lines += [f"def {prompt_in}():", f"    {value}"]
    return "\n".join(lines) + "\n"


@pytest.mark.parametrize("name", SETS)
def test_published_prompts_have_the_published_checksums(real, name, tmp_path, monkeypatch):
    folder, _, samples = real
    file = tmp_path / "who_and_when" / find_wording("who_and_when").files[0].name
    file.parent.mkdir()
    file.write_text(original_file(folder))
    monkeypatch.setenv("MISSTEP_DATA", str(tmp_path))
    published_wording.cache_clear()
    listed = [
        json.loads(line)
        for line in (folder / "prompts" / f"sha256_{name}.jsonl").read_text().splitlines()
    ]
    assert listed
    try:
        for one in listed:
            sample = samples[name][one["file"]]
            asks = Questions(str(sample.input), about(sample), "published", True)
            steps = len(about(sample).steps)
            last = steps - 1
            middle = last // 2
            calls = {
                "all_at_once": asks.messages("all_at_once", asks.lines(0, steps, False)),
                "step_by_step": asks.messages(
                    "step_by_step",
                    asks.lines(0, steps, True) + "\n",
                    number=str(last),
                    agent=about(sample).agents[last],
                ),
                "binary_search": asks.messages(
                    "binary_search",
                    asks.lines(0, steps, False),
                    range=f"from step 0 to step {last}",
                    upper=f"from step 0 to step {middle}",
                    lower=f"from step {middle + 1} to step {last}",
                ),
            }
            for protocol, (system, user) in calls.items():
                key = "last_sha256" if protocol == "step_by_step" else "first_sha256"
                assert system.text == one[protocol]["system"]
                found = sha256(user.text.encode()).hexdigest()
                assert found == one[protocol][key], (one["file"], protocol)
        assert "{idx}" in calls["step_by_step"][1].text
    finally:
        published_wording.cache_clear()
