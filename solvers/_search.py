"""Search guided by rewards: the best steps are kept, and the rest of the solution grows on them."""

from collections.abc import Coroutine, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any, TypeVar

from inspect_ai.log import transcript
from inspect_ai.util import collect, span

from misstep.boxes import last_boxed
from misstep.rewards import Aggregation, Reward, RewardModel, aggregate
from misstep.solvers._account import Account
from misstep.solvers._policy import Drawn, Policy
from misstep.solvers._search_view import iteration_text

TRIES = 3
"""So often a step is tried; a reward model that cannot give rewards would be paid without end."""

T = TypeVar("T")


@dataclass(frozen=True)
class Path:
    """The steps that were taken, with their rewards."""

    steps: tuple[str, ...] = ()
    rewards: tuple[float, ...] = ()
    final: bool = False

    def with_step(self, candidate: Drawn, reward: float) -> "Path":
        """The path after one more step."""
        return Path((*self.steps, candidate.text), (*self.rewards, reward), candidate.final)

    @property
    def answer(self) -> str | None:
        r"""What stands in the last step's `\boxed{}`."""
        return last_boxed(self.steps[-1]) if self.steps else None


@dataclass(frozen=True)
class Found:
    """How a search ended."""

    path: Path
    why: str | None = None
    """Why it did not come to an end, where it did not."""
    iterations: list[dict[str, Any]] = field(default_factory=list)


@dataclass(frozen=True)
class _Option:
    """A candidate for a step on one of the paths."""

    path: Path
    candidate: Drawn
    reward: Reward


class Search:
    """Beam search; with a width of 1 it is greedy.

    Args:
        policy: Writes candidates.
        rewards: Scores them.
        account: What it costs.
        random: Breaks ties.
        n: Candidates for a step, shared among the paths.
        width: Paths that are kept.
        aggregation: What a path is worth.
        max_steps: Iterations at most; one that gives no step counts.
    """

    def __init__(
        self,
        policy: Policy,
        rewards: RewardModel,
        account: Account,
        random: Random,
        n: int,
        width: int = 1,
        aggregation: Aggregation = "last",
        max_steps: int = 30,
    ) -> None:
        self._policy = policy
        self._rewards = rewards
        self._account = account
        self._random = random
        self._n = n
        self._width = width
        self._aggregation = aggregation
        self._max_steps = max_steps
        self._iterations: list[dict[str, Any]] = []

    async def run(self, problem: str) -> Found:
        """Search for a solution of a problem."""
        live, done = [Path()], list[Path]()
        why = f"it did not end within {self._max_steps} steps"
        tries = 0
        for number in range(1, self._max_steps + 1):
            if self._account.exhausted:
                why = "its budget of tokens is spent"
                break
            async with span(f"step {number}", type="search"):
                kept, over = await self._iterate(problem, number, live, self._width - len(done))
            done += [path for path in [*kept, *over] if path.final or path in over]
            # Where no candidate had a reward, the same paths are tried again.
            live = [path for path in kept if not path.final] or ([] if kept or over else live)
            if not live or len(done) >= self._width:
                break
            tries = 0 if kept else tries + 1
            if tries == TRIES:
                why = f"no candidate had a reward in {TRIES} tries, the last since {self._missing}"
                break
        if done:
            return Found(self._best(done), None, self._iterations)
        best = self._best(live)
        return Found(best, why + _repetition(best), self._iterations)

    async def _iterate(
        self, problem: str, number: int, live: Sequence[Path], places: int
    ) -> tuple[list[Path], list[Path]]:
        """One step further: the paths that go on, and those that the policy left as they are."""
        share = max(1, self._n // len(live))
        async with span("candidates"):
            drawn = await _all([self._policy.next_steps(path.steps, share) for path in live])
        over = [
            path for path, found in zip(live, drawn, strict=True) if path.answer and _silent(found)
        ]
        async with span("rewards"):
            scored = await _all(
                [
                    self._options(problem, path, found)
                    for path, found in zip(live, drawn, strict=True)
                    if path not in over
                ]
            )
        options = [option for of_path in scored for option in of_path]
        chosen = self._choose(options, places - len(over))
        self._keep(number, live, options, chosen, over)
        return [_taken(option) for option in chosen], over

    async def _options(self, problem: str, path: Path, drawn: Sequence[Drawn]) -> list[_Option]:
        written = [candidate for candidate in drawn if candidate.text]
        rewards = await self._rewards.score_candidates(
            problem, path.steps, [candidate.text for candidate in written]
        )
        options = [_Option(path, c, r) for c, r in zip(written, rewards, strict=True)]
        empty = [candidate for candidate in drawn if not candidate.text]
        return options + [_Option(path, c, Reward(None, "the candidate is empty")) for c in empty]

    def _choose(self, options: Sequence[_Option], places: int) -> list[_Option]:
        """The best of those that have a reward; of equals any, by the seed."""
        known = [option for option in options if option.reward.value is not None]
        self._random.shuffle(known)
        return sorted(known, key=lambda option: -self._worth(_taken(option)))[: max(0, places)]

    @property
    def _missing(self) -> str:
        """Why the first candidate of the last iteration has no reward."""
        candidates = self._iterations[-1]["candidates"]
        return next((str(one["missing"]) for one in candidates), "there was none")

    def _best(self, paths: Sequence[Path]) -> Path:
        return max(paths, key=self._worth)

    def _worth(self, path: Path) -> float:
        worth = aggregate(path.rewards, self._aggregation)
        return -1.0 if worth is None else worth

    def _keep(
        self,
        number: int,
        live: Sequence[Path],
        options: Sequence[_Option],
        chosen: Sequence[_Option],
        over: Sequence[Path],
    ) -> None:
        """Leave an account of an iteration in the log."""
        records = [
            {
                "path": live.index(option.path),
                "step": option.candidate.text,
                "reward": option.reward.value,
                "missing": option.reward.missing,
                "final": option.candidate.final,
                "count": option.candidate.count,
                "chosen": option in chosen,
            }
            for option in options
        ]
        iteration = {
            "iteration": number,
            "paths": len(live),
            "over": [live.index(path) for path in over],
            # In the order in which the next iteration numbers them, final ones left out.
            "kept": [options.index(option) for option in chosen],
            "candidates": records,
        }
        self._iterations.append(iteration)
        transcript().info(iteration_text(iteration), source="search")


async def _all(work: Sequence[Coroutine[Any, Any, T]]) -> list[T]:
    """Everything at once; what is alone needs no group, which the log would show."""
    return [await work[0]] if len(work) == 1 else await collect(*work)


def _taken(option: _Option) -> Path:
    value = option.reward.value
    return option.path.with_step(option.candidate, -1.0 if value is None else value)


def _silent(drawn: Sequence[Drawn]) -> bool:
    """Whether the policy ended every time without a word: it has nothing to add."""
    return all(not candidate.text and candidate.ended for candidate in drawn)


def _repetition(path: Path) -> str:
    times = path.steps.count(path.steps[-1]) if path.steps else 0
    return f"; its last step stands {times} times in it" if times > 1 else ""
