import os
import string
import zlib
from random import Random

import pytest

from misstep.evals.processbench import processbench
from tests.support.openai_server import Fault, Faults, Reply
from tests.support.runs import table_of


def boxed_choice(request, choice):
    """Eight votes of one request: 2, 2, 0, 1 and so on."""
    return rf"\boxed{{{[2, 2, 0, 1, 0, 2, 1, 3][choice]}}}"


def boxed_seed(request, choice):
    """The same votes, one a request."""
    return rf"\boxed{{{[2, 2, 0, 1, 0, 2, 1, 3][request.seed - 42]}}}"


def test_eight_votes_are_one_request(serve):
    log, server = serve(processbench(source="sample", votes=8), boxed_choice, limit=5)
    assert [request.choices for request in server.requests] == [8] * 5
    assert {request.body["temperature"] for request in server.requests} == {0.7}
    assert {sample.scores["first_error"].answer for sample in log.samples} == {"2"}
    record = log.samples[0].scores["first_error"].metadata["voting"]
    assert record["votes"] == ["2", "2", "0", "1", "0", "2", "1", "3"]
    assert table_of(log)["agreement"] == 3 / 8


def test_a_vote_takes_its_room_in_the_log_once(serve):
    def noise(request, choice):
        draw = Random(f"{request.text}{choice}")
        return "".join(draw.choices(string.ascii_letters + string.digits, k=4000)) + r"\boxed{0}"

    def size(votes):
        log, server = serve(processbench(source="sample", votes=votes), noise, limit=5)
        packed = [len(zlib.compress(noise(r, 1).encode())) for r in server.requests]
        return os.path.getsize(log.location), sum(packed)

    (one, _), (eight, vote_of_each) = size(1), size(8)
    assert (eight - one) / 7 == pytest.approx(vote_of_each, rel=0.1)


def test_a_server_that_ignores_n_gets_eight_requests_with_eight_seeds(serve):
    log, server = serve(processbench(source="sample", votes=8), boxed_seed, max_choices=1, limit=5)
    assert len(server.requests) == 40
    for sample in log.samples:
        prompt = sample.messages[0].text
        seeds = [r.seed for r in server.requests if r.text == prompt]
        assert sorted(seeds) == list(range(42, 50))
        record = sample.scores["first_error"].metadata["voting"]
        assert record["votes"] == ["2", "2", "0", "1", "0", "2", "1", "3"]
        infos = [event.data for event in sample.events if event.event == "info"]
        assert infos == ["1 of 8 choices came back. The others are drawn singly."]


def test_a_server_that_refuses_n_gets_eight_requests_with_eight_seeds(serve):
    def refuse(request, choice):
        if request.choices > 1:
            raise ValueError("'n' : number must be at most 1")
        return boxed_seed(request, choice)

    log, server = serve(
        processbench(source="sample", votes=8), refuse, limit=4, max_samples=1, max_tasks=1
    )
    assert log.status == "success"
    # The refusal is remembered: only the first sample tries.
    assert [request.choices for request in server.requests].count(8) == 1
    assert len(server.requests) == 1 + 4 * 8
    for sample in log.samples:
        record = sample.scores["first_error"].metadata["voting"]
        assert record["votes"] == ["2", "2", "0", "1", "0", "2", "1", "3"]
    infos = [e.data for sample in log.samples for e in sample.events if e.event == "info"]
    assert infos == ["The provider refused a request for 8 choices: drawn singly."]


def test_votes_at_temperature_0_are_warned_of_once(serve, caplog):
    def refuse(request, choice):
        if request.choices > 1 and request.body["temperature"] == 0:
            raise ValueError("n must be 1 when using greedy sampling, got 2.")
        return r"\boxed{1}"

    log, _ = serve(processbench(source="sample", votes=2), refuse, limit=2, temperature=0)
    assert log.status == "success"
    told = [record.message for record in caplog.records if "At temperature 0" in record.message]
    assert len(told) == 1
    assert "all 2 votes are the same" in told[0]


def test_another_refusal_is_an_error_of_the_sample(serve):
    def refuse(request, choice):
        raise ValueError("temperature is not supported")

    log, server = serve(processbench(source="sample", votes=8), refuse, limit=1)
    assert log.status == "error"
    assert len(server.requests) == 1


def test_a_server_that_gives_some_of_the_choices_is_asked_for_the_rest(serve):
    log, server = serve(processbench(source="sample", votes=8), boxed_seed, max_choices=3, limit=2)
    assert len(server.requests) == 2 * (1 + 5)
    assert all(len(sample.output.choices) == 8 for sample in log.samples)


def test_seed_temperature_and_top_p_are_inspects_own_options(serve):
    options = {"seed": 7, "temperature": 0.3, "top_p": 0.9, "max_tokens": 99, "limit": 1}
    _, server = serve(
        processbench(source="sample", votes=2), boxed_choice, max_choices=1, **options
    )
    assert sorted(request.seed for request in server.requests) == [7, 8]
    for request in server.requests:
        assert (request.body["temperature"], request.body["top_p"]) == (0.3, 0.9)
        assert request.body["max_tokens"] == 99


def test_a_cache_does_not_make_one_vote_eight(serve, monkeypatch, tmp_path):
    monkeypatch.setenv("INSPECT_CACHE_DIR", str(tmp_path / "cache"))
    task = {"source": "sample", "votes": 8}
    options = {"max_choices": 1, "limit": 1, "cache": True}
    log, server = serve(processbench(**task), boxed_seed, **options)
    first = log.samples[0].scores["first_error"].metadata["voting"]["votes"]
    assert len(set(first)) == 4
    # The address is part of the cache's key.
    log, server = serve(processbench(**task), boxed_seed, port=server.port, **options)
    assert server.requests == []
    assert log.samples[0].scores["first_error"].metadata["voting"]["votes"] == first


def test_adaptive_voting_stops_early_and_decides_the_same(serve):
    def agreeing(request, choice):
        vote = request.seed - 42 + choice
        return rf"\boxed{{{-1 if vote != 1 else 3}}}"

    full, _ = serve(processbench(source="sample", votes=8), agreeing, limit=10)
    part, server = serve(processbench(source="sample", votes=8, adaptive=True), agreeing, limit=10)
    answers = [sample.scores["first_error"].answer for sample in full.samples]
    assert [sample.scores["first_error"].answer for sample in part.samples] == answers
    assert table_of(part)["votes_drawn"] == 5
    assert table_of(part)["votes_saved"] == pytest.approx(3 / 8)
    assert {(r.choices, r.seed) for r in server.requests} == {(4, 42), (1, 46)}


def test_weighted_votes_ask_for_logprobs(serve):
    def sure_of_one(request, choice):
        index, p = [(1, 0.9), (2, 1e-6), (2, 1e-6)][choice]
        word = str(index)
        return Reply(rf"\boxed{{{word}}}", chances={word: {word: p}})

    log, server = serve(processbench(source="sample", votes=3, weighted=True), sure_of_one, limit=1)
    assert server.requests[0].body["logprobs"] is True
    assert log.samples[0].scores["first_error"].answer == "1"


@pytest.mark.parametrize(
    ("fault", "unread"),
    [(Fault.TRUNCATED, "truncated"), (Fault.REFUSAL, "refused"), (Fault.NULL_CONTENT, "empty")],
)
def test_what_is_no_verdict_is_named_and_counted(serve, fault, unread):
    log, _ = serve(
        processbench(source="sample"), boxed_choice, limit=4, faults=Faults(script=[fault])
    )
    assert log.status == "success"
    found = [sample.scores["first_error"].metadata.get("unread") for sample in log.samples]
    assert sorted(x for x in found if x) == [unread]
    got = table_of(log)
    assert got["truncated" if unread == "truncated" else "unparsed"] == 0.25
    assert got["total_count"] == 4


def test_a_failed_call_is_an_error_and_no_verdict(serve):
    def broken(request, choice):
        raise RuntimeError("no")

    log, _ = serve(processbench(source="sample"), broken, limit=3, fail_on_error=False)
    assert [sample.error is not None for sample in log.samples] == [True] * 3
    assert all(not sample.scores for sample in log.samples)


def test_epochs_with_the_vote_reducer(serve):
    from inspect_ai import Epochs

    said = iter([2, 0, 2, 1] * 10)

    def next_vote(request, choice):
        return rf"\boxed{{{next(said)}}}"

    log, _ = serve(processbench(source="sample"), next_vote, limit=1, epochs=Epochs(4, "vote"))
    [reduction] = [r for r in log.reductions if r.scorer == "first_error"]
    assert [sample.answer for sample in reduction.samples] == ["2"]
