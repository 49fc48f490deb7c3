"""Error recovery: round trips of a small run, idle connections of a long run, CPU time."""

import tempfile
import time
from collections.abc import Iterator
from copy import copy
from pathlib import Path

from inspect_ai import Task
from inspect_ai.model import ChatMessageSystem, ChatMessageUser, Model
from inspect_ai.scorer import includes
from inspect_ai.solver import Generate, Solver, TaskState, solver
from inspect_ai.util import collect

from benchmarks._measurement import Measurement
from benchmarks._programs import program, two_processes
from benchmarks._runs import CONNECTIONS, local_model, run, seconds, server_process, span
from misstep.evals.error_recovery import error_recovery

CALLS = 6
"""The calls of a sample."""
SMALL, LONG, MIDDLE = 2, 144, 20
"""Samples of each of the five tasks: as in the variant `small`, for the long run, for CPU time."""
TRIPS, IDLE, BESIDE = 4, 0.1, 1.25
TIMES = 4


def measure() -> Iterator[Measurement]:
    """Yield the round trips of `small`, the idle connections of a long run, and the CPU time."""
    for provider, target in (("lean", TRIPS), ("openai-api", None)):
        small, at_once = (_small(latency, provider) for latency in (200, 0))
        taken = f"{small:.2f} s, without latency {at_once:.2f} s"
        note = f"{taken}; {5 * SMALL} samples of {CALLS} calls at 200 ms"
        name = f"error recovery, small, by {provider}/…"
        yield Measurement(name, small / 0.2, "trips", target, note)
    calls = 5 * LONG * CALLS
    elapsed = _split_seconds(LONG, 1000)
    idle = 1 - calls / (CONNECTIONS * elapsed)
    note = f"{calls:,} calls at 1 s in {elapsed:.1f} s; {CONNECTIONS} connections, two processes"
    yield Measurement("error recovery, idle connections", idle, "share", IDLE, note)
    with server_process("--reply", "short") as url:
        model = local_model(url)
        bare = Task(dataset=_task(MIDDLE).dataset, solver=bare_calls(), scorer=includes())
        ours = min(_work(_task(MIDDLE), model) for _ in range(TIMES))
        theirs = min(_work(bare, model) for _ in range(TIMES))
    each = 1000 / (5 * MIDDLE * CALLS)
    note = f"{each * ours:.1f} ms of processor time a call, bare calls {each * theirs:.1f} ms"
    yield Measurement("error recovery beside bare calls", ours / theirs, "times", BESIDE, note)


def _small(latency: int, provider: str) -> float:
    with server_process("--reply", "short", "--latency", str(latency)) as url:
        model = local_model(url, provider)
        # The first run is not measured: it imports the client libraries.
        seconds(_task(1), model)
        return min(seconds(_task(SMALL), model) for _ in range(TIMES))


def _split_seconds(per_task: int, latency: int) -> float:
    """Return the seconds from the first sample to the last of a run in two processes."""
    with (
        server_process("--reply", "short", "--latency", str(latency)) as url,
        tempfile.TemporaryDirectory() as folder,
    ):
        options = ("-T", "source=generated", "-T", f"per_task={per_task}")
        program(two_processes("misstep/error-recovery", folder, *options), url)
        [joined] = Path(folder).glob("*.eval")
        return span(str(joined))


def _task(per_task: int) -> Task:
    return error_recovery(source="generated", per_task=per_task)


def _work(task: Task, model: Model) -> float:
    """Return the CPU seconds of a run; other programs do not count."""
    start = time.process_time()
    run(task, model)
    return time.process_time() - start


@solver
def bare_calls() -> Solver:
    """Make as many calls as error recovery, and nothing else."""

    async def solve(state: TaskState, generate: Generate) -> TaskState:
        async def twice(number: int) -> TaskState:
            own = copy(state)
            own.messages = [
                ChatMessageSystem(content="Solve the problem."),
                ChatMessageUser(content=f"{number}: {state.input_text}"),
            ]
            own = await generate(own)
            own.messages.append(ChatMessageUser(content="And the answer?"))
            return await generate(own)

        state.output = (await collect(*(twice(number) for number in range(3))))[-1].output
        return state

    return solve
