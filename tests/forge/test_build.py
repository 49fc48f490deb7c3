"""Building a set: every bad reply has its name, what was answered is not asked again."""

import errno
import json
import os
import pickle
import signal
import socket
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest
from click.testing import CliRunner
from inspect_ai import score
from inspect_ai.log import read_eval_log

from misstep.cli._main import cli
from misstep.forge import BuildSettings, audit, late_start, push_to_hub
from misstep.forge._checks import AUTOMATIC_CHECKS, UNTOUCHED_CHECKS
from misstep.forge._offline import offline_solution, sample_examples
from misstep.forge._task import accepted, draw_solutions, injection_samples, logged_example
from misstep.registry import MisstepError
from tests.support.openai_server import Fault, Faults, OpenAIServer, forge, injector, reviewer

MISSTEP = str(Path(sys.executable).parent / "misstep")


def free_port():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return taken.getsockname()[1]


def lines(path):
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def spoiling(spoil):
    """An injector whose reply is spoilt before it is sent."""

    def reply(request, choice):
        good = json.loads(injector(request, choice))
        spoilt = spoil(good)
        return spoilt if isinstance(spoilt, str) else json.dumps(spoilt)

    return reply


def last_step(content, text):
    return {**content, "rewritten_steps": [*content["rewritten_steps"][:-1], text]}


def first_step(content, text):
    return {**content, "rewritten_steps": [text, *content["rewritten_steps"][1:]]}


def right_answer(content):
    number = str(int(content["final_answer"]) - 1)
    said = last_step(content, f"The value is $\\boxed{{\\frac{{{2 * int(number)}}}{{2}}}}$.")
    return {**said, "final_answer": f"\\frac{{{2 * int(number)}}}{{2}}"}


BAD = {
    "reply: not_json": lambda c: "I would rather talk about it.",
    "reply: missing_field": lambda c: {k: v for k, v in c.items() if k != "rewritten_steps"},
    "reply: malformed_field": lambda c: {**c, "error_step": "late"},
    "error_in_last_quarter: step_out_of_range": lambda c: {**c, "error_step": 99},
    "declared_step: other_step": lambda c: {**c, "error_step": 1},
    "logical_error_type: unknown_type": lambda c: {**c, "error_type": "typo"},
    "different_final_answer: other_spelling": right_answer,
    "different_final_answer: not_stated": lambda c: {**c, "final_answer": "77777"},
    "maintains_plausibility: gives_itself_away": lambda c: first_step(
        c, c["rewritten_steps"][0] + " This is erroneous."
    ),
    "maintains_plausibility: doubled_escapes": lambda c: first_step(
        c, c["rewritten_steps"][0] + " So $\\\\frac{1}{2}$."
    ),
    "maintains_plausibility: broken_latex": lambda c: first_step(
        c, c["rewritten_steps"][0] + " So $\\frac{1}{2."
    ),
}


def test_every_bad_reply_is_rejected_by_name(forged, tmp_path):
    names = list(BAD)
    told = {}

    def reply(request, choice):
        problem = request.text
        name = told.setdefault(problem, names[len(told)] if len(told) < len(names) else "")
        return spoiling(BAD[name])(request, choice) if name else injector(request, choice)

    results = []
    built, server = forged(reply, num_examples=len(BAD) + 2, on_each=results.append)
    assert len(server.requests) == len(BAD) + 2
    assert set(names) <= set(built.rejects)
    assert len(built.examples) == 2
    assert len(results) == len(BAD) + 2
    assert sum(result.spent.input_tokens for result in results) > 1000
    rejected = lines(built.folder / "rejects.jsonl")
    assert [row["id"] for row in rejected] == sorted(row["id"] for row in rejected)
    assert {f"{x['stage']}: {x['reason']}" for row in rejected for x in row["rejects"]} == set(
        built.rejects
    )
    assert all(x["detail"] for row in rejected for x in row["rejects"])


def test_the_validators_complaint_goes_back_until_it_is_put_right(forged):
    def reply(request, choice):
        complaints = sum(m["role"] == "user" for m in request.messages) - 1
        spoil = (BAD["reply: not_json"], BAD["maintains_plausibility: gives_itself_away"])
        return (
            spoiling(spoil[complaints])(request, choice)
            if complaints < 2
            else injector(request, choice)
        )

    built, server = forged(reply, num_examples=2, max_attempts=3)
    assert len(built.examples) == 2
    assert len(server.requests) == 6
    texts = [r.messages[-1]["content"] for r in server.requests]
    assert sum("the reply is not JSON" in text for text in texts) == 2
    assert sum("erroneous" in text for text in texts) == 2
    assert {r.seed for r in server.requests} == {42, 43, 44}
    assert all(r.body["response_format"]["type"] == "json_schema" for r in server.requests)
    assert all(r.body["temperature"] == 0.7 for r in server.requests)


def test_the_same_call_goes_on_and_asks_nothing_again(forged, monkeypatch):
    port = free_port()
    settings = {"num_examples": 8, "injection_rate": 0.75, "port": port}
    replace = os.replace

    def full(source, target):
        if str(target).endswith("adversarial.parquet"):
            raise OSError(errno.ENOSPC, "No space left on device")
        replace(source, target)

    monkeypatch.setattr("os.replace", full)
    with pytest.raises(MisstepError, match=r"No space left.*answers are kept"):
        forged(injector, **settings)
    monkeypatch.undo()
    built, server = forged(injector, **settings)
    assert server.requests == []
    assert len(built.examples) == 8
    before = (built.folder / "adversarial.jsonl").read_bytes()
    again, server = forged(injector, **settings)
    assert server.requests == []
    assert (again.folder / "adversarial.jsonl").read_bytes() == before
    with pytest.raises(MisstepError, match=r"other settings \(seed=42\)"):
        forged(injector, seed=7, **settings)


def test_what_is_written_is_whole_ordered_and_loadable(forged, tmp_path):
    import datasets

    built, _ = forged(injector, num_examples=8, injection_rate=0.5)
    rows = lines(built.folder / "adversarial.jsonl")
    assert [row["id"] for row in rows] == sorted(row["id"] for row in rows)
    assert sorted(row["label"] == -1 for row in rows) == [False] * 4 + [True] * 4
    for row in rows:
        assert row["steps"][: max(0, row["label"])] == row["original_steps"][: max(0, row["label"])]
        assert row["final_answer_correct"] == (row["label"] == -1)
    for form, name in (("json", "adversarial.jsonl"), ("parquet", "adversarial.parquet")):
        loaded = datasets.load_dataset(
            form, data_files=str(built.folder / name), split="train", cache_dir=str(tmp_path / "hf")
        )
        assert [dict(row) for row in loaded] == rows
    whole = datasets.load_dataset(str(built.folder), split="test", cache_dir=str(tmp_path / "hf"))
    assert len(whole) == 8
    assert audit(str(built.folder / "adversarial.parquet")).passed


def test_an_example_names_the_checks_that_were_run_on_it(forged):
    built, _ = forged(injector, num_examples=4, injection_rate=0.5)
    for one in built.examples:
        ran = UNTOUCHED_CHECKS if one.untouched else AUTOMATIC_CHECKS
        assert one.checks == [f"{check}: passed" for check in ran]


def test_examples_that_nobody_checked_claim_no_check():
    assert not any(example.checks for example in sample_examples())


def test_a_build_that_is_scored_again_has_the_same_results(forged, monkeypatch):
    monkeypatch.setenv("LOCAL_API_KEY", "x")
    built, _ = forged(injector, num_examples=4, injection_rate=0.5)
    log = read_eval_log(built.log)
    again = score(log, accepted(), action="overwrite", display="none")
    assert again.results.scores[0].metrics == log.results.scores[0].metrics
    assert [logged_example(sample) for sample in again.samples] == built.examples


def test_blind_reviewers_confirm_originals_and_errors(forged):
    """One has a bad original, one its error elsewhere, and in one later steps do not follow."""
    problems = [offline_solution(42, index, 0.25).problem for index in range(5)]

    def review(request, choice):
        place = next(i for i, problem in enumerate(problems) if problem in request.text)
        found = json.loads(reviewer(request, choice))
        original = found["first_wrong_step"] == -1
        if place == 0 and original:
            found["first_wrong_step"] = 2
        if place == 1 and not original and request.seed % 3:  # two of three votes
            found["first_wrong_step"] -= 1
        if place == 2 and not original:
            found["later_steps_follow"] = False
        if place == 3 and not original and request.seed % 3 == 0:
            return "I cannot say."
        return json.dumps(found)

    built, server = forged(injector, review=review, num_examples=5)
    assert dict(built.rejects) == {
        "original_confirmed: error_found": 1,
        "confirmed: not_confirmed": 1,
        "confirmed: later_steps_do_not_follow": 1,
    }
    [unread, sure] = built.examples
    assert unread.review_votes.count(None) == 1
    assert round(unread.review_share, 2) == 0.67
    assert sure.review_votes == [sure.label] * 3
    assert sure.original_votes == [-1] * 3
    assert sure.checks[0] == "original_confirmed: 3 of 3 votes"
    assert sure.checks[-1] == "confirmed: 3 of 3 votes"
    # Three votes on each original, an injection and three votes for those that are left.
    assert len(server.requests) == 5 * 3 + 4 * (1 + 3)
    asked = [r.text for r in server.requests if "first_wrong_step" in r.text]
    assert not any("claimed" in text or "Correct" in text for text in asked)
    card = (built.folder / "README.md").read_text(encoding="utf-8")
    assert "Blind review: 3 votes" in card
    assert "unconfirmed" not in card


def test_without_a_review_the_card_says_so(forged):
    built, _ = forged(injector, num_examples=2)
    card = (built.folder / "README.md").read_text(encoding="utf-8")
    assert "The labels are unconfirmed" in card
    assert "late_window" in card


def test_positions_are_drawn_over_the_whole_allowed_range(tmp_path):
    rows = [
        {"id": f"p{i}", "problem": f"p{i}", "solution": offline_solution(1, 0).row()["solution"]}
        for i in range(300)
    ]
    solutions = draw_solutions(enumerate(rows, 1), BuildSettings()).chosen
    samples = injection_samples(solutions, BuildSettings(late_fraction=0.5))
    steps = len(solutions[0].steps)
    targets = Counter(sample.metadata["target"] for sample in samples)
    assert set(targets) == set(range(late_start(steps, 0.5), steps))
    assert max(targets.values()) < 3 * min(targets.values())
    assert sum(not sample.metadata["inject"] for sample in samples) == 90  # 30% by default


def test_failed_calls_are_rejects_that_the_next_go_makes_again(forged):
    port = free_port()
    faults = Faults(script=[Fault.MALFORMED_JSON, Fault.REFUSAL, Fault.TRUNCATED])
    built, _ = forged(injector, num_examples=5, faults=faults, port=port)
    assert len(built.examples) == 2
    assert set(built.rejects) == {"call: JSONDecodeError", "reply: refused", "reply: truncated"}
    built, server = forged(injector, num_examples=5, port=port)
    # A reply that was cut off is an answer; a refusal is not kept, and a failed call is none.
    assert len(server.requests) == 2
    assert dict(built.rejects) == {"reply: truncated": 1}


def test_types_are_drawn_by_weight_or_left_to_the_injector(forged):
    mix = {"invalid_generalization": 1.0, "circular_reasoning": 0.0}
    _, server = forged(injector, num_examples=2, error_types=mix)
    assert all("circular_reasoning" not in request.text for request in server.requests)
    with pytest.raises(MisstepError, match="Did you mean 'circular_reasoning'"):
        forged(injector, error_types={"circular_reason": 1.0})


def test_a_folder_that_cannot_be_written_is_told_before_any_call(forged, tmp_path):
    (tmp_path / "file").write_text("", encoding="utf-8")
    called = []
    with pytest.raises(MisstepError, match=r"cannot be written.*-o DIR"):
        forged(lambda *_: called.append(1), folder=tmp_path / "file" / "built")
    assert called == []


def run(*arguments):
    return CliRunner().invoke(cli, ["forge", "build", *arguments], terminal_width=200)


def test_the_command_builds_offline_and_counts(tmp_path):
    folder = tmp_path / "built"
    options = ["--source", "offline", "--model", "offline/rules", "--num-examples", "16"]
    done = run(*options, "--injection-rate", "0.5", "-o", str(folder))
    assert done.exit_code == 0, done.output
    assert "16 of 16: 16 accepted, 0 rejected; 8 calls" in " ".join(done.output.split())
    assert "rules, no model" in (folder / "README.md").read_text(encoding="utf-8")
    assert audit(str(folder / "adversarial.jsonl")).passed


def test_the_offline_injector_knows_its_own_solutions_only(tmp_path):
    path = tmp_path / "own.jsonl"
    row = {**offline_solution(1, 0).row(), "id": "mine"}
    path.write_text(json.dumps(row), encoding="utf-8")
    done = run("--source", str(path), "--model", "offline/rules", "-o", str(tmp_path / "built"))
    assert done.exit_code == 1
    assert "it works with --source offline only" in str(done.exception)


def test_pushing_without_a_hub_is_one_message(tmp_path):
    with pytest.raises(MisstepError, match="not a finished build"):
        push_to_hub(tmp_path, "me/set")
    for name in ("adversarial.jsonl", "adversarial.parquet", "README.md"):
        (tmp_path / name).write_text("", encoding="utf-8")
    with pytest.raises(MisstepError, match="the upload failed"):
        push_to_hub(tmp_path, "no such name")


def test_make_that_is_killed_twice_ends_with_the_same_set(forged, tmp_path, monkeypatch):
    """Killed while it builds, and again while the critic runs. No answered call is repeated."""
    undisturbed, reference = forged(
        injector, review=reviewer, num_examples=8, injection_rate=0.75, max_attempts=3
    )
    folder = tmp_path / "killed"
    options = ["--source", "offline", "--num-examples", "8", "--injection-rate", "0.75"]
    options += ["--model", "openai-api/local/injector", "--reviewer", "openai-api/local/reviewer"]
    options += ["--critic-model", "openai-api/local/critic", "--max-connections", "4"]
    command = ["forge", "make", *options, "-o", str(folder)]
    with OpenAIServer(forge, latency=150) as server:
        monkeypatch.setenv("LOCAL_API_KEY", "x")
        monkeypatch.setenv("LOCAL_BASE_URL", server.url)

        def criticised():
            return [request for request in server.requests if request.body["model"] == "critic"]

        def kill_when(reached):
            with subprocess.Popen([MISSTEP, *command], stdout=subprocess.DEVNULL) as making:
                while making.poll() is None and not reached():
                    time.sleep(0.02)
                making.send_signal(signal.SIGKILL)
            assert making.returncode == -signal.SIGKILL

        kill_when(lambda: len(kept(folder)) >= 8)
        answered, asked = len(kept(folder)), len(server.requests)
        assert not (folder / "adversarial.jsonl").exists()
        kill_when(lambda: len(criticised()) >= 2)
        built = len(server.requests) - len(criticised())
        assert built - asked == len(reference.requests) - answered
        done = CliRunner().invoke(cli, command, terminal_width=200)
        assert done.exit_code == 0, done.output
        assert len(server.requests) - len(criticised()) == built
        # The critic judges each solution once, and again those that it was asked at the kill.
        assert 8 <= len(criticised()) <= 8 + 4
    for name in ("adversarial.jsonl", "adversarial.parquet", "README.md"):
        assert (folder / name).read_bytes() == (undisturbed.folder / name).read_bytes()
    for name in ("steps.svg", "report.md", "report.html"):
        assert (folder / name).stat().st_size > 1000
    assert "local/critic finds " in " ".join(done.output.split())


def kept(folder):
    """The answers that are kept and whole."""
    path = folder / "answers.jsonl"
    return path.read_bytes().split(b"\n")[:-1] if path.is_file() else []


class Planted:
    """An object whose pickle makes a file when it is loaded."""

    def __init__(self, made):
        self.made = made

    def __reduce__(self):
        return Path.touch, (self.made,)


def test_a_folder_that_somebody_else_filled_runs_no_code(forged, tmp_path):
    made = tmp_path / "made"
    port = free_port()
    built, _ = forged(injector, num_examples=3, port=port)
    answers = [p for p in built.folder.rglob("*") if "answers" in str(p) and p.is_file()]
    assert answers
    for path in answers:
        path.write_bytes(pickle.dumps((None, Planted(made))))
    again, server = forged(injector, num_examples=3, port=port)
    assert not made.exists()
    assert len(server.requests) == 3
    assert again.examples == built.examples


@pytest.mark.parametrize("spoilt", [b"{", b"[]", b'{"key": 1}', b"[" * 100_000, b"\xff", b""])
def test_a_line_of_answers_that_cannot_be_read_is_asked_again(forged, spoilt):
    built, _ = forged(injector, num_examples=3)
    path = built.folder / "answers.jsonl"
    _, second, third = path.read_bytes().splitlines()
    path.write_bytes(b"\n".join([spoilt, second, third[: len(third) // 2]]))
    again, server = forged(injector, num_examples=3)
    assert len(server.requests) == 2
    assert again.examples == built.examples
    _, server = forged(injector, num_examples=3)
    assert server.requests == []


def test_an_answer_of_the_wrong_shape_is_asked_again(forged):
    built, _ = forged(injector, num_examples=2)
    path = built.folder / "answers.jsonl"
    key = json.loads(path.read_text(encoding="utf-8").splitlines()[0])["key"]
    path.write_text(json.dumps({"key": key, "output": {"choices": "all"}}), encoding="utf-8")
    again, server = forged(injector, num_examples=2)
    assert len(server.requests) == 2
    assert again.examples == built.examples
