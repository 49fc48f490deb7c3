import anyio
import pytest
from anyio.lowlevel import checkpoint

from misstep.forge._inject import let_new_calls_start

ANSWERS = 5


@pytest.fixture
def anyio_backend():
    return "asyncio"


@pytest.mark.anyio
async def test_calls_go_out_between_the_work_on_answers_that_came_together():
    done = []

    async def work(number):
        await let_new_calls_start()
        done.append(number)

    async def call():
        # What a call waits for before it is sent.
        for _ in range(2):
            await checkpoint()
        done.append("call")

    async with anyio.create_task_group() as group:
        for number in range(ANSWERS):
            group.start_soon(work, number)
        group.start_soon(call)
    assert [one for one in done if one != "call"] == list(range(ANSWERS))
    assert done.index("call") < ANSWERS - 1


def test_each_run_has_turns_of_its_own():
    async def several():
        async with anyio.create_task_group() as group:
            for _ in range(ANSWERS):
                group.start_soon(let_new_calls_start)

    anyio.run(several)
    anyio.run(several)
