"""The facts of process reward models."""

import pytest

from misstep.registry import Prm, find_judge, prms

WANTED = {
    "Qwen/Qwen2.5-Math-PRM-7B",
    "Qwen/Qwen2.5-Math-PRM-72B",
    "Qwen/Qwen2.5-Math-7B-PRM800K",
    "peiyi9979/math-shepherd-mistral-7b-prm",
    "RLHFlow/Llama3.1-8B-PRM-Mistral-Data",
    "RLHFlow/Llama3.1-8B-PRM-Deepseek-Data",
    "Skywork/Skywork-o1-Open-PRM-Qwen-2.5-1.5B",
    "Skywork/Skywork-o1-Open-PRM-Qwen-2.5-7B",
}


def test_the_known_ones_are_there_and_say_where_their_facts_are_from():
    assert {prm.repository for prm in prms().values()} >= WANTED
    assert "groundedprm" in prms()
    for name, prm in prms().items():
        wanted = {"style"} if prm.way == "judge" else {"template", "step_token", "route"}
        assert wanted - {"route"} <= prm.sources.keys(), name
        if prm.style:
            find_judge(prm.style)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"step_token": None}, "needs step_token"),
        ({"template": "{problem}"}, "must contain {steps} exactly once"),
        ({"step": "{step}"}, "must contain the step_token"),
        ({"right": "good"}, "one of the `labels`"),
        ({"way": "judge"}, "needs a style"),
    ],
)
def test_an_incomplete_entry_is_refused(change, says):
    facts = prms()["qwen2.5-math-prm-7b"].model_dump() | change
    with pytest.raises(ValueError, match=says):
        Prm.model_validate(facts)
