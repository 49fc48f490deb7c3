"""Generated rows as samples, made on demand; long data sets are streamed."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from random import Random
from typing import Any, overload

from inspect_ai import SampleSource
from inspect_ai.dataset import Dataset, Sample
from inspect_ai.log import EvalSample

from misstep._inspect_private import running_task
from misstep.generator import VERSION, check_count, settings_of, solution
from misstep.loaders._first_error import check_rows, first_error_sample

CACHED = 5_000
"""The number of recent samples that are cached. Longer data sets are streamed."""
WINDOW = 1_000
"""The largest number of samples in the queue of a streamed run."""


@dataclass(eq=False, repr=False)
class LazyDataset(Dataset):
    """Samples that are made on demand, from the numbers in `order`.

    Making the task, a slice or a shuffle makes no sample. Inspect makes all samples when a run
    starts, even with a limit, so `RowStream` streams long data sets.
    """

    make: Callable[[int], Sample]
    order: Sequence[int]
    name: str | None = None
    shuffled: bool = False
    location: str | None = None
    """Generated data has no location."""

    def __len__(self) -> int:
        return len(self.order)

    @overload
    def __getitem__(self, index: int) -> Sample: ...

    @overload
    def __getitem__(self, index: slice) -> Dataset: ...

    def __getitem__(self, index: int | slice) -> Sample | Dataset:
        if isinstance(index, slice):
            return replace(self, order=self.order[index])
        return self.make(self.order[index])

    def filter(self, predicate: Callable[[Sample], bool], name: str | None = None) -> "LazyDataset":
        """Return the samples that fulfil a predicate."""
        kept = [number for number in self.order if predicate(self.make(number))]
        return replace(self, order=kept, name=name or self.name)

    def sort(self, reverse: bool = False, key: Callable[[Sample], Any] | None = None) -> None:
        """Sort by a key; without a key, by the length of the input."""
        by = key or (lambda sample: len(sample.input))
        self.order = sorted(self.order, key=lambda number: by(self.make(number)), reverse=reverse)

    def shuffle(self, seed: int | None = None) -> None:
        """Shuffle the samples."""
        self.order = list(self.order)
        Random(seed).shuffle(self.order)  # noqa: S311 (not a secret)
        self.shuffled = True

    def shuffle_choices(self, seed: int | None = None) -> None:
        """Do nothing: there are no choices."""


def procedural_dataset(
    seed: int,
    n: int,
    steps: int | str | None,
    position: str,
    error_types: str | Sequence[str] | None,
    families: str | Sequence[str] | None,
    difficulty: int | str | Sequence[int],
    correct_share: float,
) -> LazyDataset:
    """Return generated solutions as samples, by the settings of `misstep.generator.solutions`."""
    settings = settings_of(steps, position, error_types, families, difficulty, correct_share)
    start, count = check_count("seed", seed, 0), check_count("n", n, 1)

    # Inspect iterates over the samples of a task several times.
    @lru_cache(CACHED)
    def make(index: int) -> Sample:
        [row], _ = check_rows([(index + 1, solution(start, index, settings).row())])
        return first_error_sample(row)

    name = f"procedural-{VERSION}-{start}"
    return LazyDataset(make, range(count), name)


@dataclass
class StreamProgress:
    """How many samples one run has received and finished."""

    run: object
    issued: int
    done: int = 0


class RowStream(SampleSource):
    """The samples of a data set in order, at most one window ahead of the run.

    Inspect makes and starts all samples of an ordinary data set before the first call to a model.
    From a stream it takes one window.
    """

    def __init__(self, dataset: Dataset, window: int = WINDOW) -> None:
        self._dataset = dataset
        self._window = window
        self._runs: list[StreamProgress] = []

    def initial_samples(self) -> list[Sample]:
        """Return the first window."""
        return list(self._dataset[: self._window])

    async def next_samples(self) -> list[Sample] | None:
        """Return more samples if the queue is empty: `--sample-id` may skip a whole window."""
        return self._more(self._run()) or None

    async def sample_complete(self, sample: EvalSample) -> list[Sample] | None:
        """Return more samples if half a window is left."""
        return self._after(sample.epoch)

    async def sample_abandoned(self, sample: Sample, epoch: int) -> list[Sample] | None:
        """Return more samples if half a window is left, after a sample was cancelled."""
        return self._after(epoch)

    def _after(self, epoch: int) -> list[Sample] | None:
        run = self._run()
        run.done += epoch == 1
        return self._more(run) if run.issued - run.done <= self._window // 2 else None

    def _more(self, run: StreamProgress) -> list[Sample]:
        begin = run.issued
        run.issued = min(begin + (self._window + 1) // 2, len(self._dataset))
        return list(self._dataset[begin : run.issued])

    def _run(self) -> StreamProgress:
        """Return the progress of the calling run: several models may run one task at once."""
        here = running_task()
        for progress in self._runs:
            if progress.run is here:
                return progress
        self._runs.append(StreamProgress(here, min(self._window, len(self._dataset))))
        return self._runs[-1]


def streamed(dataset: Dataset) -> Dataset | SampleSource:
    """Return a data set, as a stream if it is long."""
    return dataset if len(dataset) <= CACHED else RowStream(dataset)
