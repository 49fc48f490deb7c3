import pytest

from misstep.scorers._recovery import is_right


@pytest.mark.parametrize(
    ("reply", "target", "kind"),
    [
        ("-2116", "-2116", "number"),
        ("(B)", "(B)", "letter"),
        ("] }", "] }", "brackets"),
        ("being bellyache", "being bellyache", "words"),
    ],
)
def test_the_same_text_is_right_in_both_readings(reply, target, kind):
    assert is_right(reply, target, kind, "strict")
    assert is_right(reply, target, kind, "lenient")


@pytest.mark.parametrize(
    ("reply", "target", "kind"),
    [
        (" 13\n", "13", "number"),
        ("13.", "13", "number"),
        ("13.0", "13", "number"),
        ("+13", "13", "number"),
        ("\u22122116", "-2116", "number"),
        ("-2,116", "-2116", "number"),
        ("Answer: 13", "13", "number"),
        ('answer: "13".', "13", "number"),
        ('"13."', "13", "number"),
        ("(B) Ulysses.", "(B)", "letter"),
        ("Answer: (b)", "(B)", "letter"),
        ("The answer is (B), that is (B).", "(B)", "letter"),
        ("]}", "] }", "brackets"),
        ("`]  }`", "] }", "brackets"),
        ("> > .", "> >", "brackets"),
        ("Being  Bellyache\n cider", "being bellyache cider", "words"),
        ("“being bellyache”", "being bellyache", "words"),
    ],
)
def test_the_lenient_reading_looks_through_the_wrapping(reply, target, kind):
    assert not is_right(reply, target, kind, "strict")
    assert is_right(reply, target, kind, "lenient")


@pytest.mark.parametrize(
    ("reply", "target", "kind"),
    [
        ("12", "13", "number"),
        ("13 14", "13", "number"),
        ("x = 13", "13", "number"),
        ("1,3", "13", "number"),
        ("1e1", "10", "number"),
        ("9" * 5000, "13", "number"),
        ("", "13", "number"),
        ("(A) or (B)", "(B)", "letter"),
        ("B", "(B)", "letter"),
        ("(C)", "(B)", "letter"),
        ("} ]", "] }", "brackets"),
        ("] } >", "] }", "brackets"),
        ("bellyache being", "being bellyache", "words"),
        ("being, bellyache", "being bellyache", "words"),
        ("beingbellyache", "being bellyache", "words"),
    ],
)
def test_another_answer_is_wrong_in_both_readings(reply, target, kind):
    assert not is_right(reply, target, kind, "strict")
    assert not is_right(reply, target, kind, "lenient")


def test_the_targets_of_the_original_set_are_told_apart(real_data):
    from misstep.loaders import recovery_dataset
    from misstep.registry import find_continuation
    from misstep.scorers._recovery import _meant

    samples = recovery_dataset("big_bench_mistake")
    for name, task in find_continuation().tasks.items():
        targets = {s.target for s in samples if s.metadata["task"] == name}
        assert len({_meant(target, task.answer) for target in targets}) == len(targets)
    wrong = [s for s in samples if s.metadata["wrong_answer"] is not None]
    kinds = find_continuation().tasks
    taken = [
        s.id
        for s in wrong
        if is_right(
            s.metadata["wrong_answer"], s.target, kinds[s.metadata["task"]].answer, "lenient"
        )
    ]
    # What is left differs from the target in the wrapping alone.
    assert len(taken) <= 0.01 * len(wrong), taken
