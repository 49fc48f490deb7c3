import itertools
from random import Random

import pytest
from inspect_ai.model import (
    ChatCompletionChoice,
    ChatMessageAssistant,
    ContentReasoning,
    ContentText,
    Logprob,
    Logprobs,
)
from inspect_ai.scorer import CORRECT, INCORRECT, Score

from misstep.registry import MisstepError
from misstep.scorers import (
    Vote,
    first_error_table,
    read_vote,
    score_votes,
    tally,
    vote,
    votes_needed,
)
from misstep.verdicts import READINGS, Unread
from tests.support.published_rules import published_prediction


def choice(text, stop_reason="stop", reasoning=None, logprobs=None):
    content = text
    if reasoning is not None:
        content = [ContentReasoning(reasoning=reasoning), ContentText(text=text)]
    return ChatCompletionChoice(
        message=ChatMessageAssistant(content=content), stop_reason=stop_reason, logprobs=logprobs
    )


def votes_of(*texts, reading="strict"):
    return [read_vote(choice(text), reading) for text in texts]


def boxed(*indices):
    return [rf"\boxed{{{index}}}" for index in indices]


@pytest.mark.parametrize("reading", READINGS)
def test_the_answer_comes_before_the_reasoning(reading):
    assert read_vote(choice(r"\boxed{1}", reasoning=r"\boxed{2}"), reading).verdict == 1
    assert read_vote(choice("so it is", reasoning=r"\boxed{2}"), reading).verdict == 2
    assert read_vote(choice("so it is", reasoning="hm"), reading).verdict == Unread.NO_BOX


@pytest.mark.parametrize("reading", READINGS)
@pytest.mark.parametrize(
    ("text", "stop_reason", "unread"),
    [
        (r"\boxed{1}", "max_tokens", Unread.TRUNCATED),
        (r"\boxed{1}", "model_length", Unread.TRUNCATED),
        (r"\boxed{1}", "content_filter", Unread.REFUSED),
        (" \n", "stop", Unread.EMPTY),
        ("", "stop", Unread.EMPTY),
    ],
)
def test_what_is_cut_refused_or_empty_is_no_verdict(reading, text, stop_reason, unread):
    assert read_vote(choice(text, stop_reason), reading) == Vote(unread, None)


def test_plurality_counts_indices_not_hits():
    assert tally(votes_of(*boxed(2, 2, 0, 1, 3))).verdict == 2


def test_of_several_leaders_the_first_seen_wins():
    assert tally(votes_of(*boxed(3, 1, 1, 3))).verdict == 3
    assert tally(votes_of(*boxed(1, 3, 3, 1))).verdict == 1


def test_strict_counts_texts_and_lenient_counts_indices():
    texts = [
        r"\boxed{\text{2}}",
        r"\boxed{\text{2}}",
        r"\boxed{03}",
        r"\boxed{3}",
        "no box",
        "no box",
    ]
    assert tally(votes_of(*texts)).verdict == Unread.NOT_AN_INDEX
    assert tally(votes_of(*texts, reading="lenient")).verdict == 2
    assert tally(votes_of(r"\boxed{03}", r"\boxed{1}", r"\boxed{3}", r"\boxed{1}")).verdict == 1
    mixed = votes_of(r"\boxed{03}", r"\boxed{1}", r"\boxed{3}", reading="lenient")
    assert tally(mixed).verdict == 3


def test_votes_without_a_box_are_dropped():
    assert tally(votes_of("?", "?", "?", r"\boxed{4}")).verdict == 4
    assert tally(votes_of("?", "?")).verdict == Unread.NO_BOX


def test_strict_voting_is_the_published_rule_on_random_votes():
    random = Random(1)
    pool = [*boxed(-1, 0, 1, 2), r"\boxed{\text{1}}", r"\boxed{01}", r"\boxed{}", "nothing"]
    for _ in range(5_000):
        texts = random.choices(pool, k=random.randint(1, 8))
        verdict = tally(votes_of(*texts)).verdict
        assert (None if isinstance(verdict, Unread) else verdict) == published_prediction(texts)


@pytest.mark.parametrize("total", [2, 3, 5, 8])
def test_an_adaptive_vote_ends_as_the_full_vote_does(total):
    for full in itertools.product(["0", "1", "2", None], repeat=total):
        votes = [Vote(Unread.NO_BOX if b is None else int(b), b) for b in full]
        drawn = 0
        while needed := votes_needed(votes[:drawn], total - drawn):
            drawn += needed
        assert drawn <= total
        assert drawn > 0
        assert tally(votes[:drawn]).verdict == tally(votes).verdict, full


def test_a_vote_that_agrees_stops_half_way():
    assert votes_needed([], 8) == 4
    assert votes_needed(votes_of(*boxed(1, 1, 1, 1)), 4) == 0
    assert votes_needed(votes_of(*boxed(1, 1, 1, 2)), 4) == 1


def test_weights_are_the_models_confidence():
    sure = Logprobs(content=[Logprob(token="x", logprob=-0.1)])
    unsure = Logprobs(content=[Logprob(token="x", logprob=-3.0)])
    pairs = zip(boxed(1, 2, 2), (sure, unsure, unsure), strict=True)
    choices = [choice(t, logprobs=p) for t, p in pairs]
    assert tally([read_vote(c, "strict", weighted=True) for c in choices]).verdict == 1
    assert tally([read_vote(c, "strict") for c in choices]).verdict == 2
    with pytest.raises(MisstepError, match="no logprobs"):
        read_vote(choice(r"\boxed{1}"), "strict", weighted=True)


def test_the_record_holds_every_vote_the_distribution_and_the_margin():
    votes = votes_of(*boxed(2, 0, 2, 2), "?", *boxed(0), r"\boxed{x}", r"\boxed{1}")
    scored = score_votes(votes, label=2, steps=4, asked=8)
    assert scored.explanation == (
        "Predicted step 2; that is the first wrong step (of 0 to 3). "
        "Votes: `2` `0` `2` `2` `(no_box)` `0` `x` `1`."
    )
    record = scored.metadata["voting"]
    assert record["votes"] == ["2", "0", "2", "2", "(no_box)", "0", "x", "1"]
    assert record["counts"] == {"2": 3, "0": 2, "x": 1, "1": 1}
    assert record["margin"] == 1
    assert record["agreement"] == 3 / 8
    assert record["hits_at"] == {"1": 1.0, "2": 1.0, "4": 1.0}


def score(answer, label, **metadata):
    value = CORRECT if answer == str(label) else INCORRECT
    return Score(value=value, answer=answer, metadata=metadata)


def test_the_epoch_reducer_votes_on_the_answer():
    reduced = vote()([score(a, 2) for a in ("2", "2", "0", "1", "3")])
    assert (reduced.value, reduced.answer) == (CORRECT, "2")
    reduced = vote()([score(a, 2) for a in ("0", "2", "0", None, None)])
    assert (reduced.value, reduced.answer) == (INCORRECT, "0")
    reduced = vote()([score(None, 2, unread="no_box")] * 3)
    assert (reduced.value, reduced.answer) == (INCORRECT, None)
    assert reduced.metadata["unread"] == "no_box"


def test_the_epoch_reducer_counts_unreadable_boxes_as_the_strict_rule_does():
    odd = [score_votes(votes_of(r"\boxed{x}"), 2, 4) for _ in range(2)]
    right = score_votes(votes_of(r"\boxed{2}"), 2, 4)
    reduced = vote()([odd[0], right, odd[1]])
    assert (reduced.value, reduced.answer) == (INCORRECT, None)


def test_metrics_give_the_score_at_fewer_votes_and_the_saving():
    from inspect_ai.scorer import SampleScore

    votes = votes_of(*boxed(0, 2, 2, 2))
    scores = [
        SampleScore(score=score_votes(votes, 2, 4, asked=8), sample_metadata={"has_error": True}),
        SampleScore(
            score=score_votes(votes_of(*boxed(-1, -1, -1, -1)), -1, 4, asked=8),
            sample_metadata={"has_error": False},
        ),
    ]
    figures = first_error_table(scores, scores)
    assert figures["f1_score"] == 1.0
    assert figures["f1_score_at_1"] == 0.0
    assert figures["f1_score_at_4"] == 1.0
    assert figures["votes_drawn"] == 4
    assert figures["votes_saved"] == 0.5
    assert figures["agreement"] == (0.75 + 1) / 2


def test_a_vote_that_is_not_counted_needs_no_logprobs():
    sure = Logprobs(content=[Logprob(token="x", logprob=-0.5)])
    votes = [
        read_vote(choice(r"\boxed{1}", logprobs=sure), "strict", weighted=True),
        read_vote(choice("cut off", "max_tokens"), "strict", weighted=True),
        read_vote(choice("", "content_filter"), "strict", weighted=True),
        read_vote(choice("no box"), "strict", weighted=True),
    ]
    assert tally(votes).verdict == 1
    with pytest.raises(MisstepError, match="no logprobs"):
        read_vote(choice(r"\boxed{1}"), "strict", weighted=True)


def test_an_empty_box_that_wins_has_its_agreement():
    record = score_votes(votes_of(*boxed("", "", 2, "")), 2, 5, asked=4).metadata["voting"]
    assert record["agreement"] == 0.75


def test_nobody_agrees_where_no_vote_has_a_ballot():
    record = score_votes(votes_of("no", "box"), 2, 5, asked=2).metadata["voting"]
    assert record["agreement"] == 0.0
