import json

import pytest
from inspect_ai.util import registry_create

import misstep.registry.entry_point  # noqa: F401
from misstep.evals.adversarial_numinamath import adversarial_numinamath
from misstep.forge import sample_examples
from misstep.registry import find_domain, sizes, taxonomy
from misstep.solvers import critique_prompt
from tests.support.openai_server import plus_minus
from tests.support.runs import succeed, table_of

SAMPLE = {one.problem: one for one in sample_examples()}


def example_of(request):
    return next(one for problem, one in SAMPLE.items() if problem in request.text)


def half_right(request, choice):
    """Finds errors of four types, flags the step before those of two, and passes all others."""
    one = example_of(request)
    kinds = list(taxonomy())
    if one.error_type in kinds[:4]:
        verdict = one.label
    elif one.error_type in kinds[4:6]:
        verdict = one.label - 1
    else:
        verdict = -1
    return f"\\boxed{{{verdict}}}"


def test_critics_are_scored_by_type_and_position(serve):
    log, server = serve(adversarial_numinamath(), half_right)
    assert log.status == "success"
    found = table_of(log, "detections")
    kinds = list(taxonomy())
    assert (found["total"], found["errors"]) == (64, 48)
    assert found["correct_detections"] == 24
    assert found["false_positives"] == 12
    assert found["missed_errors"] == 12
    assert found["passed_untouched"] == 16
    assert found["first_error_accuracy"] == 0.5
    thirds = [found[f"{third}_total"] for third in ("middle", "late")]
    assert sum(thirds) == 48
    rates = [found[f"{third}_first_error_accuracy"] for third in ("middle", "late")]
    assert round(sum(a * b for a, b in zip(thirds, rates, strict=True))) == 24
    assert [found[f"{kind}_first_error_accuracy"] for kind in kinds] == [1] * 4 + [0] * 4
    strict = table_of(log, "detections")
    assert (strict["error_accuracy"], strict["correct_accuracy"]) == (0.5, 1)
    assert log.eval.task == "misstep/adversarial_numinamath"
    assert "original_steps" not in log.samples[0].metadata
    # Nothing about the error reaches the critic.
    assert not any(kind in request.text for request in server.requests for kind in kinds)


def test_votes_and_steps_judge_too(serve):
    log, _ = serve(adversarial_numinamath(votes=3), half_right, limit=6)
    assert table_of(log, "detections")["total"] == 6
    assert len(log.samples[0].scores["detections"].metadata["voting"]["votes"]) == 3
    log, _ = serve(adversarial_numinamath(critic="stepwise"), lambda *_: r"\boxed{right}", limit=6)
    assert table_of(log, "detections")["missed_errors"] == 4


def test_rewards_are_scored_by_type_and_position_too(serve):
    task = adversarial_numinamath(critic="reward", style="single_token", threshold=0.4)
    log, _ = serve(task, plus_minus, limit=8)
    found = table_of(log, "detections")
    assert found["total"] == 8
    assert any(name.endswith("_first_error_accuracy") for name in found)
    assert log.eval.task_args["threshold"] == 0.4
    assert log.samples[0].scores["detections"].answer is not None


def test_a_critic_that_always_cries_error_does_not_win(tmp_path):
    log = succeed(adversarial_numinamath(critic="last_step"), tmp_path)
    assert table_of(log, "detections")["false_positives"] == 16
    assert table_of(log, "detections")["correct_accuracy"] == 0


def test_a_built_file_is_read(tmp_path):
    path = tmp_path / "built.jsonl"
    rows = [one.row() for one in sample_examples(wrong=4, untouched=2)]
    path.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    dataset = adversarial_numinamath(source=str(path), order="published").dataset
    assert [int(sample.target) for sample in dataset] == [row["label"] for row in rows]
    assert dataset[0].metadata["error_type"] == "invalid_generalization"
    assert dataset[0].metadata["position_third"] == "late"


def test_variants_are_what_they_say():
    known = sizes()
    whole = known["adversarial_numinamath"]
    for name in ("sample", "maj8"):
        dataset = registry_create("task", f"misstep/adversarial_numinamath.{name}").dataset
        assert len(dataset) == known[f"adversarial_numinamath.{name}"].samples == whole.samples
    domain = find_domain("mathematics")
    prompts = [critique_prompt(domain, str(s.input), s.metadata["steps"]) for s in dataset]
    assert sum(map(len, prompts)) / 3 == pytest.approx(whole.prompt_tokens, rel=0.05)
