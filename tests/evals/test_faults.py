"""Runs against a server that fails: the figures are those of an undisturbed run."""

import pytest
from inspect_ai.log import read_eval_log

from misstep.evals.processbench import processbench
from tests.support.openai_server import PASSING_FAULTS, Fault, Faults, critic, plus_minus
from tests.support.runs import metrics_of

SAMPLES = 24


def faults(rate):
    """All passing faults, at a rate in all."""
    return Faults(
        dict.fromkeys(PASSING_FAULTS, rate / len(PASSING_FAULTS)), retry_after=0.1, pause=0.2
    )


@pytest.mark.parametrize(
    ("reply", "arguments"),
    [
        (critic, {}),
        (critic, {"votes": 4}),
        (plus_minus, {"critic": "stepwise", "style": "single_token"}),
    ],
    ids=["one vote", "four votes", "stepwise"],
)
def test_a_third_of_calls_failing_changes_no_figure(serve, reply, arguments):
    def run(faults):
        log, server = serve(
            processbench(source="sample", **arguments),
            reply,
            faults=faults,
            limit=SAMPLES,
            retry_on_error=20,
            timeout=60,
        )
        return log, server

    calm, _ = run(None)
    disturbed, server = run(faults(0.3))
    assert disturbed.status == "success"
    assert disturbed.results.completed_samples == SAMPLES
    assert disturbed.results.scores == calm.results.scores
    assert len(server.requests) > SAMPLES

    samples = read_eval_log(disturbed.location).samples
    assert len({sample.id for sample in samples}) == len(samples) == SAMPLES
    assert not any(sample.error for sample in samples)


@pytest.mark.parametrize(
    ("fault", "share"), [(Fault.TRUNCATED, "truncated"), (Fault.NULL_CONTENT, "unparsed")]
)
def test_an_answer_that_is_none_is_counted_and_never_a_verdict(serve, fault, share):
    log, _ = serve(
        processbench(source="sample"), critic, faults=Faults({fault: 1.0}), limit=SAMPLES
    )
    assert metrics_of(log)[share] == 1.0
    assert metrics_of(log)["error_accuracy"] == 0.0
    for sample in read_eval_log(log.location).samples:
        assert sample.scores["first_error"].answer is None


def test_a_fault_that_stays_ends_the_run_as_an_error_with_no_figures(serve):
    log, _ = serve(
        processbench(source="sample"), critic, faults=Faults({Fault.MALFORMED_JSON: 1.0}), limit=4
    )
    assert log.status == "error"
    assert log.results is None or not log.results.scores


def test_a_long_error_body_is_shortened_before_inspect_formats_it(serve):
    log, server = serve(
        processbench(source="sample"),
        critic,
        faults=Faults({Fault.LONG_REFUSAL: 1.0}),
        limit=3,
        fail_on_error=False,
    )
    samples = read_eval_log(log.location).samples
    assert [len(sample.error.message) < 20_000 for sample in samples] == [True] * 3
    calls = [event for sample in samples for event in sample.events if event.event == "model"]
    assert len(calls) == len(server.requests) == 3
    for call in calls:
        assert call.error.startswith("Error code: 400")
        assert max(len(call.error), len(call.traceback_ansi)) < 20_000
