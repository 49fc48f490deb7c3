"""Error recovery against a real server: what is sent, and what becomes of replies."""

from collections import Counter
from pathlib import Path

import pytest
import yaml

from misstep.evals.error_recovery import error_recovery
from misstep.registry import MisstepError, evals, sizes
from misstep.samples import RecoveryMetadata
from misstep.solvers import ContinuationOptions, continuation_tokens, variation_names
from tests.support.openai_server import Fault, Faults, OpenAIServer, Reply
from tests.support.recovery_model import is_final, knows, student, variation_of
from tests.support.runs import local_model, run_task, succeed, table_of

ROOT = Path(__file__).parents[2]
WORDS = yaml.safe_load((ROOT / "registry" / "continuations.yaml").read_text(encoding="utf-8"))[
    "error_recovery"
]
SAID = " I go on from here."


def generated(**options):
    return error_recovery(source="generated", per_task=1, **options)


def expected_calls(sample, variation, *, own=True, notice=None, turn="new_turn", role="system"):
    """The messages of a variation's calls, as the protocol has them: (role, text)."""
    metadata = sample.metadata
    steps = {
        "NR": [],
        "CR": metadata["correct_steps"],
        "IR": [*metadata["correct_steps"], metadata["incorrect_step"]],
    }[variation]
    talk = [("system", WORDS["system"]), ("user", sample.input)]
    if steps:
        talk.append(("assistant" if own else "user", "\n".join(steps)))
    if notice == "immediate":
        talk.append(("user", WORDS["notice"]))
    carried = bool(steps) and own and notice != "immediate"
    if carried and turn == "asked":
        talk.append(("user", WORDS["proceed"]))
    calls = [list(talk)]
    if carried and turn == "continued":
        talk[-1] = ("assistant", talk[-1][1] + SAID)
    else:
        talk.append(("assistant", SAID))
    if notice == "end":
        talk.append(("user", WORDS["notice"]))
        calls.append(list(talk))
        talk.append(("assistant", SAID))
    hint = WORDS["tasks"][metadata["task"]]["hint"]
    calls.append([*talk, (role, f"{WORDS['final']}\n\n{hint}")])
    return calls


def sent(server):
    return Counter(
        tuple((m["role"], m["content"]) for m in request.body["messages"])
        for request in server.requests
    )


@pytest.mark.parametrize(
    ("options", "notices", "calls"),
    [
        ({}, {}, 6),
        ({"own_reasoning": False}, {}, 6),
        ({"answer_role": "user"}, {}, 6),
        ({"turn": "continued"}, {}, 6),
        ({"turn": "asked"}, {}, 6),
        ({"notice": "immediate"}, {"CR": "immediate", "IR": "immediate"}, 6),
        ({"notice": "immediate", "notice_for": "IR"}, {"IR": "immediate"}, 6),
        ({"notice": "end"}, {"NR": "end", "CR": "end", "IR": "end"}, 9),
        ({"notice": "end", "turn": "continued"}, {"NR": "end", "CR": "end", "IR": "end"}, 9),
        ({"notice": "end", "notice_for": "IR"}, {"IR": "end"}, 7),
    ],
)
def test_roles_and_order_of_the_messages(serve, options, notices, calls):
    task = generated(**options)
    log, server = serve(task, student(task.dataset))
    assert log.status == "success"
    wanted = Counter(
        tuple(call)
        for sample in task.dataset
        for variation in ("NR", "CR", "IR")
        for call in expected_calls(
            sample,
            variation,
            own=options.get("own_reasoning", True),
            notice=notices.get(variation),
            turn=options.get("turn", "new_turn"),
            role=options.get("answer_role", "system"),
        )
    )
    assert sent(server) == wanted
    assert len(server.requests) == calls * len(task.dataset)
    chosen = ContinuationOptions(
        **{name: value for name, value in options.items() if name != "turn"}
    )
    for sample in task.dataset:
        assert (
            continuation_tokens(sample.input, sample.metadata_as(RecoveryMetadata), chosen).calls
            == calls
        )
    # Whoever is told to continue has to be told so, and only there.
    for request in server.requests:
        flagged = request.body.get("continue_final_message", False)
        trailing = request.body["messages"][-1]["role"] == "assistant"
        assert flagged == (trailing and options.get("turn") == "continued")


@pytest.fixture(scope="module")
def whole_run(tmp_path_factory):
    """All generated problems once, with answers that only the lenient scorer takes for right."""
    task = error_recovery(source="generated", per_task=4)
    with OpenAIServer(student(task.dataset, "Answer:  {}.".format)) as server:
        folder = tmp_path_factory.mktemp("logs")
        log = succeed(task, folder, local_model(server), max_connections=64)
    return task.dataset, log


def test_the_rates_are_those_of_the_answers(whole_run):
    samples, log = whole_run
    strict, lenient = table_of(log, "recovery"), table_of(log, "recovery_lenient")
    for variation in ("NR", "CR", "IR"):
        right = [knows(sample, variation) for sample in samples]
        assert lenient[f"{variation}_correct_rate"] == pytest.approx(sum(right) / len(samples))
        assert strict[f"{variation}_correct_rate"] == 0
        for task in ("word_problems", "shuffled_objects", "sorting", "deduction", "brackets"):
            of_task = [knows(s, variation) for s in samples if s.metadata["task"] == task]
            name = f"task_{task.replace('_', '-')}_{variation}_correct_rate"
            assert lenient[name] == pytest.approx(sum(of_task) / 4)
    both = [knows(s, "IR") for s in samples if knows(s, "CR")]
    assert lenient["recovery_rate"] == pytest.approx(sum(both) / len(both))
    assert (strict["total_count"], strict["continued"], strict["empty"]) == (20, 0, 0)
    assert strict["total_tokens"] == sum(u.total_tokens for u in log.stats.model_usage.values())
    assert log.results.headline.metric == "IR_correct_rate"


def test_every_variation_is_a_span_and_the_turn_is_recorded(whole_run):
    _, log = whole_run
    sample = log.samples[0]
    spans = {event.id: event.name for event in sample.events if event.event == "span_begin"}
    calls = Counter(spans[event.span_id] for event in sample.events if event.event == "model")
    assert calls == {"NR": 2, "CR": 2, "IR": 2}
    told = {
        event.data["variation"]: event.data["turn"]
        for event in sample.events
        if event.event == "info"
    }
    assert told == {"NR": "plain", "CR": "new_turn", "IR": "new_turn"}
    assert {
        name: kept["turn"] for name, kept in sample.store["RecoveryRecord:variations"].items()
    } == told
    assert [message.role for message in sample.messages] == [
        *("system", "user", "assistant", "assistant", "system", "assistant")
    ]
    assert sample.scores["recovery"].metadata["IR"]["turn"] == "new_turn"


def test_the_variations_and_the_samples_run_at_once(tmp_path):
    task = error_recovery(source="generated", per_task=2)
    # A busy machine may need more than 300 ms to send 30 requests.
    for latency in (300, 3000):
        with OpenAIServer(student(task.dataset), latency=latency) as server:
            succeed(task, tmp_path, local_model(server))
        if server.most_in_flight == 30:
            return
    assert server.most_in_flight == 30


REPLIES = {
    "empty": Reply(""),
    "truncated": Reply("(A", "length"),
    "refused": Reply("(A)", "content_filter"),
}


@pytest.mark.parametrize("kind", REPLIES)
def test_a_reply_without_an_answer_is_wrong_and_counted(serve, kind):
    task = generated()
    knowing = student(task.dataset)

    def reply(request, choice):
        messages = request.body["messages"]
        sample = next(s for s in task.dataset if s.input == messages[1]["content"])
        if is_final(messages) and variation_of(messages, sample) == "IR":
            right = REPLIES[kind]
            return Reply(sample.target, right.finish_reason) if kind != "empty" else right
        return knowing(request, choice)

    log, _ = serve(task, reply)
    strict = table_of(log, "recovery")
    assert strict[kind] == pytest.approx(1 / 3)
    assert strict["IR_correct_rate"] == table_of(log, "recovery_lenient")["IR_correct_rate"] == 0
    score = log.samples[0].scores["recovery"]
    assert score.value["IR"] == 0
    assert score.metadata["IR"]["unread"] == kind
    assert score.reason == {"empty": "no_response", "refused": "refusal"}.get(kind, kind)


def test_cut_reasoning_is_reported_and_the_answer_counts(serve):
    task = generated()

    def reply(request, choice):
        messages = request.body["messages"]
        sample = next(s for s in task.dataset if s.input == messages[1]["content"])
        return sample.target if is_final(messages) else Reply("So we", "length")

    log, _ = serve(task, reply)
    strict = table_of(log, "recovery")
    assert (strict["reasoning_truncated"], strict["truncated"]) == (1, 0)
    assert strict["IR_correct_rate"] == 1


def test_an_empty_reasoning_adds_no_message(serve):
    task = generated()
    log, server = serve(task, lambda request, choice: "")
    assert log.status == "success"
    finals = [r.body["messages"] for r in server.requests if is_final(r.body["messages"])]
    assert {len(messages) for messages in finals} == {3, 4}
    assert all(message["content"] for messages in finals for message in messages)


def test_a_failed_call_is_made_again_and_never_an_answer(serve):
    task = generated()
    faults = Faults(script=[Fault.SERVER_ERROR, None, Fault.RATE_LIMIT, None, Fault.CUT])
    log, server = serve(task, student(task.dataset), faults=faults)
    assert log.status == "success"
    assert len(server.requests) == 33
    for sample in log.samples:
        given = next(s for s in task.dataset if s.id == sample.id)
        for variation, value in sample.scores["recovery"].value.items():
            assert value == knows(given, variation)


@pytest.mark.usefixtures("embedded_model_installed")
def test_the_embedded_model_continues_the_given_text(tmp_path):
    task = generated(max_tokens=4)
    log = succeed(task, tmp_path, "embedded/smollm2", limit=1)
    [sample] = log.samples
    turns = {name: kept["turn"] for name, kept in sample.store["RecoveryRecord:variations"].items()}
    assert turns == {"NR": "plain", "CR": "continued", "IR": "continued"}
    given = [*sample.metadata["correct_steps"], sample.metadata["incorrect_step"]]
    assert [m.role for m in sample.messages] == [
        *("system", "user", "assistant", "system", "assistant")
    ]
    assert sample.messages[2].text.startswith("\n".join(given))
    assert len(sample.messages[2].text) > len("\n".join(given))
    assert table_of(log, "recovery")["continued"] == 1


def refusing(task):
    """A server that takes no conversation which ends with the assistant's words."""
    knowing = student(task.dataset)

    def reply(request, choice):
        if request.body["messages"][-1]["role"] == "assistant":
            raise ValueError("The conversation must end with a user message.")
        return knowing(request, choice)

    return reply


def test_where_a_trailing_message_is_refused_the_model_is_asked_to_go_on(serve):
    task = generated()
    log, _ = serve(task, refusing(task))
    assert log.status == "success"
    for sample in log.samples:
        turns = {
            name: kept["turn"] for name, kept in sample.store["RecoveryRecord:variations"].items()
        }
        assert turns == {"NR": "plain", "CR": "asked", "IR": "asked"}
        roles = [message.role for message in sample.messages]
        assert roles == ["system", "user", "assistant", "user", "assistant", "system", "assistant"]


def test_a_forced_continuation_that_is_refused_is_an_error(serve):
    task = generated(turn="continued")
    log, _ = serve(task, refusing(task), limit=1)
    assert log.status == "error"
    assert "must end with a user message" in log.error.message


def test_epochs_are_seen_together(serve):
    task = generated()
    seen = Counter()

    def reply(request, choice):
        messages = request.body["messages"]
        if not is_final(messages):
            return SAID
        sample = next(s for s in task.dataset if s.input == messages[1]["content"])
        variation = variation_of(messages, sample)
        seen[sample.id, variation] += 1
        # CR is right in both epochs, IR in one of them, and NR comes to nothing once.
        if variation == "NR":
            return "" if seen[sample.id, "NR"] == 1 else "no"
        return "no" if (variation, seen[sample.id, variation]) == ("IR", 1) else sample.target

    log, _ = serve(task, reply, epochs=2)
    strict = table_of(log, "recovery")
    rates = [strict[f"{name}_correct_rate"] for name in ("NR", "CR", "IR")]
    assert rates == [0, 1, 0.5]
    assert strict["recovery_rate"] == 0.5
    assert strict["empty"] == pytest.approx(1 / 6)
    assert strict["total_count"] == 5


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"notice": "imediate"}, "Did you mean 'immediate'"),
        ({"notice_for": "NR"}, "Allowed: IR, all"),
        ({"answer_role": "assistant"}, "Allowed: auto, system, user"),
        ({"turn": "continue"}, "Did you mean 'continued'"),
        ({"source": "big_bench_mistakes"}, "Did you mean 'big_bench_mistake'"),
        ({"per_task": 0}, "per_task=0"),
        ({"variations": "NR,CR,IRx"}, "Did you mean"),
        ({"variations": ["NR", "XI"]}, "variations=NR,XI: IR is missing"),
        ({"marker": "But"}, "variations=NR,CR,IR have no marker. Add CRm or IRm"),
        ({"variations": "IR,IRm", "notice": "immediate"}, "between the marker"),
        ({"variations": "IR,XI", "own_reasoning": False}, "XI would not differ"),
        ({"variations": "IR,IRp", "until": "last"}, "IR gives the steps of IRp"),
        ({"prompts": "self_correction_bench"}, "source=generated"),
    ],
)
def test_a_wrong_argument_names_what_is_allowed(options, says):
    with pytest.raises(MisstepError, match=says):
        error_recovery(**{"source": "generated", **options})


@pytest.mark.parametrize(
    ("spec", "arguments"),
    [
        ("misstep/error-recovery.sample", {}),
        ("evals/error_recovery.py@error-recovery.sample", {}),
        ("misstep/error-recovery", {"source": "generated", "per_task": 8, "max_tokens": 32}),
    ],
)
def test_a_variant_is_its_base_task_with_arguments(tmp_path, monkeypatch, spec, arguments):
    monkeypatch.chdir(ROOT)
    with OpenAIServer(lambda request, choice: "1") as server:
        log = run_task(spec, tmp_path, local_model(server), task_args=arguments, limit=1)
        assert [r.body["max_tokens"] for r in server.requests] == [32] * 6
    assert log.status == "success"
    assert log.eval.dataset.samples == 40
    # What `inspect eval-retry` gives the task again.
    assert log.eval.task_args_passed == arguments


def test_estimates_are_those_of_the_conversations(real_data):
    entry, known = evals()["error-recovery"], sizes()
    for name in ("medium", "small.other-reasoning", "blind-spot.medium", "sample"):
        variant, size = entry.variants[name], known[f"error-recovery.{name}"]
        options = {k: v for k, v in variant.args.items() if k != "max_tokens"}
        task = error_recovery(**options)
        chosen = ContinuationOptions(
            own_reasoning=options.get("own_reasoning", True),
            variations=variation_names(options.get("variations", "NR,CR,IR")),
        )
        reasoning = variant.args.get("max_tokens", entry.replies.tokens[0])
        uses = [
            continuation_tokens(
                s.input, s.metadata_as(RecoveryMetadata), chosen, reasoning_tokens=reasoning
            )
            for s in task.dataset
        ]
        assert len(uses) == size.samples, name
        prompt = sum(use.prompt_tokens for use in uses)
        assert size.prompt_tokens == pytest.approx(prompt, rel=0.01), name
        completion = sum(use.completion_tokens for use in uses)
        assert size.completion_tokens == pytest.approx(completion, rel=0.01), name
    assert known["error-recovery"] == known["error-recovery.main"]
    for name in ("main", "medium", "small"):
        plain = f"error-recovery.{name}"
        assert known[plain] == known[f"{plain}.other-reasoning"]
