import pytest

from misstep.registry import MisstepError, UnknownNameError
from misstep.solvers import find_critic


@pytest.mark.parametrize(
    ("critic", "options", "says"),
    [
        ("critique", {"votes": 0}, "votes=0"),
        ("critique", {"votes": -3}, "votes=-3"),
        ("critique", {"adaptive": True}, "votes=8"),
        ("critique", {"votes": 8, "adaptive": True, "weighted": True}, "does not go with"),
        ("stepwise", {"votes": 8}, "votes go with critic=critique"),
        ("stepwise", {"style": "writen"}, "Did you mean 'written'"),
        ("stepwise", {"calls": "paralel"}, "Did you mean 'parallel'"),
        ("critiqe", {}, "Did you mean 'critique'"),
        ("critique", {"domain": "maths"}, "Did you mean 'mathematics'"),
        ("nowhere.py@mine", {}, "no Python file"),
    ],
)
def test_a_wrong_option_gets_one_clear_message(critic, options, says):
    with pytest.raises(MisstepError, match=says):
        find_critic(critic, [], **options)


def test_an_unknown_critic_is_an_unknown_name():
    with pytest.raises(UnknownNameError):
        find_critic("misstep/nothing", [])
