"""Generated rows as samples, made when they are asked for."""

from collections.abc import Callable, Sequence
from functools import lru_cache
from random import Random
from typing import Any, overload

from inspect_ai.dataset import Dataset, Sample

from misstep.generator import VERSION, check_count, settings_of, solution
from misstep.loaders._first_error import sample_of
from misstep.loaders._rows import check_rows

KEPT = 5_000
"""How many of the samples that were made last are kept."""


class LazyDataset(Dataset):
    """Samples that are made when they are asked for.

    Inspect itself goes through all samples of a task when a run starts, whatever the limit; the
    task, its slices and its shuffles cost nothing before that. Where samples are so many that it
    would take long, they are streamed: see `RowStream`.
    """

    def __init__(
        self,
        make: Callable[[int], Sample],
        order: Sequence[int],
        name: str,
        shuffled: bool = False,
    ) -> None:
        self._make = make
        self._order = order
        self._name = name
        self._shuffled = shuffled

    @property
    def name(self) -> str | None:
        """The data set's name."""
        return self._name

    @property
    def location(self) -> str | None:
        """It is nowhere."""
        return None

    @property
    def shuffled(self) -> bool:
        """Whether it was shuffled."""
        return self._shuffled

    def __len__(self) -> int:
        return len(self._order)

    @overload
    def __getitem__(self, index: int) -> Sample: ...

    @overload
    def __getitem__(self, index: slice) -> Dataset: ...

    def __getitem__(self, index: int | slice) -> Sample | Dataset:
        if isinstance(index, slice):
            return self._part(self._order[index], self._name)
        return self._make(self._order[index])

    def _part(self, order: Sequence[int], name: str) -> "LazyDataset":
        return LazyDataset(self._make, order, name, self._shuffled)

    def filter(self, predicate: Callable[[Sample], bool], name: str | None = None) -> "LazyDataset":
        """Those samples that a predicate holds for."""
        kept = [number for place, number in enumerate(self._order) if predicate(self[place])]
        return self._part(kept, name or self._name)

    def sort(self, reverse: bool = False, key: Callable[[Sample], Any] | None = None) -> None:
        """Sort by a key; by the input's length where there is none."""
        by = key or (lambda sample: len(sample.input))
        numbered = {number: self[place] for place, number in enumerate(self._order)}
        self._order = sorted(self._order, key=lambda number: by(numbered[number]), reverse=reverse)

    def shuffle(self, seed: int | None = None) -> None:
        """Shuffle the order in which samples come."""
        order = list(self._order)
        Random(seed).shuffle(order)  # noqa: S311 (not a secret)
        self._order, self._shuffled = order, True

    def shuffle_choices(self, seed: int | None = None) -> None:
        """There are no choices."""


def procedural_dataset(
    seed: int,
    n: int,
    steps: int | str,
    position: str,
    error_types: str | Sequence[str] | None,
    families: str | Sequence[str] | None,
    difficulty: int,
    correct_share: float,
) -> LazyDataset:
    """Generated solutions as samples; `misstep.generator.solutions` has the arguments.

    Raises:
        MisstepError: A value that is not allowed.
    """
    settings = settings_of(steps, position, error_types, families, difficulty, correct_share)
    start, count = check_count("seed", seed, 0), check_count("n", n, 1)

    # Inspect goes through a task's samples several times.
    @lru_cache(KEPT)
    def make(index: int) -> Sample:
        [row], _ = check_rows([(index + 1, solution(start, index, settings).row())])
        return sample_of(row)

    return LazyDataset(make, range(count), f"procedural-{VERSION}-{start}")
