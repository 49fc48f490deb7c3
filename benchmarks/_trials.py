"""Trials of endurance: what is done to a run, and whether it mattered."""

import json
import random
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path

from inspect_ai import eval as evaluate
from inspect_ai.log import EvalLog, EvalSample, EvalScore, read_eval_log
from inspect_ai.model import get_model

from tests.support.openai_server import (
    ChatRequest,
    Fault,
    Faults,
    OpenAIServer,
    ReplyFunction,
    critic,
)

EVAL = "misstep/processbench.sample"
SCORER = "first_error"
VOTES = 4
BIN = Path(sys.executable).parent


HOSTILE_SAMPLES = 20
HOSTILE = (
    "\\boxed{" * 40_000 + "1" + "}" * 40_000,
    "<html><script>alert(1)</script>" * 3_000,
    "\\boxed{1",
    "[/]\x1b[2J \\boxed{[link=x]1[/link]}",
)
"""Replies that are nested, long, cut off, or that look like markup."""
LONGEST_ERROR = 30_000
"""Characters of the error of a sample, which has the request and the start of the response."""
MOST_SECONDS = 1.0
"""CPU time of a sample that fails."""


@dataclass(frozen=True)
class Trial:
    """What was done to a run, and whether it mattered."""

    name: str
    problem: str
    """Empty where all is as it must be."""
    requests: int
    seconds: float


@dataclass(frozen=True)
class Outcome:
    """What a run came to."""

    scores: list[EvalScore]
    answers: dict[str | int, str | None]
    """Of each sample."""

    @classmethod
    def of(cls, log: EvalLog) -> "Outcome":
        """That of a log.

        Raises:
            RuntimeError: It did not succeed, or counted a sample twice.
        """
        if log.status != "success" or log.results is None:
            raise RuntimeError(log.error.message if log.error else f"it ended as {log.status}")
        samples = read_eval_log(log.location).samples or []
        answers = {sample.id: _answer(sample) for sample in samples}
        if len(answers) != len(samples):
            raise RuntimeError("a sample is counted twice")
        return cls(log.results.scores, answers)


class Trials:
    """Trials of one eval, their logs in one folder.

    Args:
        folder: Where logs go.
        limit: Of samples.
        kills: How often a run is killed.
    """

    def __init__(self, folder: str, limit: int | None, kills: int) -> None:
        self._folder = folder
        self._limit = limit
        self._kills = kills
        self._calm = {reply: self._undisturbed(reply) for reply in (critic, agreeing)}

    def _undisturbed(self, reply: ReplyFunction) -> Outcome:
        with OpenAIServer(reply) as server:
            return Outcome.of(self._run(server.url))

    def passing(self, provider: str, fault: Fault, rate: float) -> Trial:
        """Calls fail for a moment; asked again, the server answers."""
        return self._faulty(provider, fault, rate, critic)

    def too_few_choices(self, provider: str, rate: float) -> Trial:
        """Choices are missing, and asked for again."""
        return self._faulty(provider, Fault.WRONG_CHOICES, rate, agreeing)

    def _faulty(self, provider: str, fault: Fault, rate: float, reply: ReplyFunction) -> Trial:
        with OpenAIServer(reply, faults=_faults(fault, rate)) as server:
            return self._trial(
                f"{provider}, {fault} {rate:.0%}",
                server,
                lambda: _difference(self._calm[reply], Outcome.of(self._run(server.url, provider))),
            )

    def no_answer(self, provider: str, fault: Fault, rate: float) -> Trial:
        """Some answers are none: their samples have no verdict, all others theirs."""
        faults = _faults(fault, rate)
        with OpenAIServer(critic, faults=faults) as server:

            def problem() -> str:
                log = read_eval_log(self._run(server.url, provider).location)
                met = islice(faults.in_order(), len(server.requests))
                spoilt = {
                    _asked(one) for one, fault in zip(server.requests, met, strict=True) if fault
                }
                expected = {
                    sample.id: None if sample.messages[0].text in spoilt else calm
                    for sample, calm in _with_answers(log, self._calm[critic].answers)
                }
                return "" if Outcome.of(log).answers == expected else "other verdicts"

            return self._trial(f"{provider}, {fault} {rate:.0%}", server, problem)

    def dead_server(self, seconds: float) -> Trial:
        """The server dies in the middle, and comes back at the same address."""
        with OpenAIServer(critic, latency=200) as server:

            def die_and_return() -> None:
                _wait_for(server, 20)
                server.down()
                time.sleep(seconds)
                server.up()

            def problem() -> str:
                thread = threading.Thread(target=die_and_return, daemon=True)
                thread.start()
                log = self._run(server.url)
                thread.join()
                return _difference(self._calm[critic], Outcome.of(log))

            return self._trial(f"server dead for {seconds:.0f} s", server, problem)

    def killed(self) -> Trial:
        """A run is killed at random moments; what it did is recovered, and it is retried."""
        folder = Path(self._folder, "killed")

        def resume() -> list[str | Path]:
            newest = max(folder.glob("*.eval"), key=lambda log: log.stat().st_mtime)
            recover = [BIN / "inspect", "log", "recover", newest, "--overwrite"]
            subprocess.run(recover, check=True, stdout=subprocess.DEVNULL)
            return [BIN / "inspect", "eval-retry", newest, "--log-dir", folder, "--display", "none"]

        start = [BIN / "inspect", "eval", EVAL, "--display", "none"]
        return self._killed("inspect eval", start, folder, resume)

    def split_killed(self) -> Trial:
        """A split run is killed at random moments, and resumed each time."""
        folder = Path(self._folder, "split")

        def resume() -> list[str | Path]:
            [plan] = folder.glob("*.shards")
            return [BIN / "misstep", "run", "--resume", plan]

        start = [BIN / "misstep", "run", EVAL, "--processes", "2", "--log-buffer", "1"]
        return self._killed("misstep run", start, folder, resume)

    def _killed(
        self,
        name: str,
        start: Sequence[str | Path],
        folder: Path,
        resume: Callable[[], list[str | Path]],
    ) -> Trial:
        chance = random.Random(0)
        with OpenAIServer(critic, latency=300) as server:

            def problem() -> str:
                command = [
                    *(*start, "-T", f"votes={VOTES}", "--model", "openai-api/local/critic"),
                    *("--model-base-url", server.url, "--max-connections", "2"),
                    *("--log-dir", folder),
                    *(("--limit", str(self._limit)) if self._limit else ()),
                ]
                for _ in range(self._kills):
                    before = len(server.requests)
                    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
                    _wait_for(server, before + 5, process)
                    time.sleep(chance.uniform(0, 2))
                    process.kill()
                    process.wait()
                    time.sleep(3)  # until its workers have noticed
                    command = resume()
                subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
                newest = max(folder.glob("*.eval"), key=lambda log: log.stat().st_mtime)
                return _difference(self._calm[critic], Outcome.of(read_eval_log(str(newest))))

            return self._trial(f"{name}, kills: {self._kills}", server, problem)

    def two_at_once(self) -> Trial:
        """Two sweeps start on one folder: one of them does the work, the other says so."""
        folder = Path(self._folder) / "two"
        folder.mkdir()
        with OpenAIServer(critic, latency=300) as server:
            entry = {"eval": EVAL, "args": {"votes": VOTES}, "limit": HOSTILE_SAMPLES}
            model = {"model": "openai-api/local/critic", "base_url": server.url}
            sweep = {"log_dir": str(folder / "logs"), "evals": [entry], "models": [model]}
            file = folder / "sweep.yaml"
            file.write_text(json.dumps(sweep), encoding="utf-8")

            def problem() -> str:
                command = [str(BIN / "misstep"), "sweep", "run", str(file)]
                both = [subprocess.Popen(command, stdout=subprocess.DEVNULL) for _ in range(2)]
                statuses = sorted(process.wait() for process in both)
                if statuses != [0, 1]:
                    return f"they ended with the statuses {statuses}"
                most = max(Counter(map(_asked, server.requests)).values())
                return "" if most == 1 else f"one sample was asked {most} times"

            return self._trial("two sweeps at once", server, problem)

    def hostile_replies(self) -> Trial:
        """Replies that are made to be slow: each is read or unread, and every sample is scored."""

        def reply(request: ChatRequest, choice: int) -> str:
            return HOSTILE[len(_asked(request)) % len(HOSTILE)]

        with OpenAIServer(reply) as server:

            def problem() -> str:
                log = self._run(server.url, limit=HOSTILE_SAMPLES)
                return "" if len(Outcome.of(log).answers) == HOSTILE_SAMPLES else "samples are lost"

            return self._trial("hostile replies", server, problem)

    def long_errors(self, provider: str) -> Trial:
        """Refusals of 200 kB: every sample fails with a short error, in little time."""
        with OpenAIServer(critic, faults=_faults(Fault.LONG_REFUSAL, 1)) as server:

            def problem() -> str:
                start = time.process_time()
                log = self._run(server.url, provider, HOSTILE_SAMPLES, fail_on_error=False)
                seconds = (time.process_time() - start) / HOSTILE_SAMPLES
                samples = read_eval_log(log.location).samples or []
                errors = [len(one.error.message) for one in samples if one.error]
                if len(errors) != HOSTILE_SAMPLES or max(errors) > LONGEST_ERROR:
                    return f"{len(errors)} errors of up to {max(errors, default=0):,} characters"
                return f"{seconds:.1f} s of CPU a sample" if seconds > MOST_SECONDS else ""

            return self._trial(f"long refusals, {provider}", server, problem)

    def _trial(self, name: str, server: OpenAIServer, find_problem: Callable[[], str]) -> Trial:
        start = time.monotonic()
        try:
            problem = find_problem()
        except Exception as error:
            problem = f"{type(error).__name__}: {error}"
        return Trial(name, problem, len(server.requests), time.monotonic() - start)

    def _run(
        self,
        url: str,
        provider: str = "openai-api",
        limit: int | None = None,
        fail_on_error: bool = True,
    ) -> EvalLog:
        [log] = evaluate(
            EVAL,
            task_args={"votes": VOTES},
            model=get_model(f"{provider}/local/critic", base_url=url, api_key="x", memoize=False),
            log_dir=self._folder,
            display="none",
            log_level="error",
            retry_on_error=30 if fail_on_error else 0,
            fail_on_error=fail_on_error,
            limit=limit or self._limit,
        )
        return log


def agreeing(request: ChatRequest, choice: int) -> str:
    """A critic who says the same of a solution each time, whatever the choice and the seed."""
    return critic(replace(request, body={**request.body, "seed": None}), 0)


def _faults(fault: Fault, rate: float) -> Faults:
    return Faults({fault: rate}, seed=1, retry_after=0.5, pause=0.5)


def _difference(calm: Outcome, disturbed: Outcome) -> str:
    if disturbed.answers != calm.answers:
        return "other verdicts"
    return "" if disturbed.scores == calm.scores else "other metrics"


def _answer(sample: EvalSample) -> str | None:
    if sample.error or SCORER not in (sample.scores or {}):
        raise RuntimeError(f"the sample {sample.id} was not scored")
    return (sample.scores or {})[SCORER].answer


def _asked(request: ChatRequest) -> str:
    return str(request.messages[0]["content"])


def _with_answers(
    log: EvalLog, calm: dict[str | int, str | None]
) -> list[tuple[EvalSample, str | None]]:
    samples = {sample.id: sample for sample in log.samples or []}
    return [(samples[id], answer) for id, answer in calm.items()]


def _wait_for(
    server: OpenAIServer, requests: int, process: subprocess.Popen[bytes] | None = None
) -> None:
    while len(server.requests) < requests and (process is None or process.poll() is None):
        time.sleep(0.05)
