"""Calls at the same time: their results, and the error of those that fail."""

import pytest
from inspect_ai.util import LimitExceededError

from misstep.providers import collect

pytestmark = pytest.mark.anyio


async def give(value):
    return value


async def fail(error):
    raise error


async def test_results_come_in_the_order_of_the_calls():
    assert await collect(*map(give, range(5))) == [0, 1, 2, 3, 4]


@pytest.mark.parametrize("count", [1, 3])
async def test_an_error_is_raised_as_it_is_however_many_calls_fail(count):
    with pytest.raises(ConnectionError, match=r"^refused 0$"):
        await collect(*(fail(ConnectionError(f"refused {i}")) for i in range(count)))


async def test_a_limit_of_the_sample_precedes_other_errors():
    limit = LimitExceededError("token", value=2, limit=1)
    with pytest.raises(LimitExceededError):
        await collect(fail(ValueError("other")), fail(limit))


async def test_an_error_in_a_call_that_makes_calls_is_found():
    with pytest.raises(ConnectionError):
        await collect(*(collect(*(fail(ConnectionError("x")) for _ in range(2))) for _ in range(2)))
