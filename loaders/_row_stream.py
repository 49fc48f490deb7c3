"""Samples that come while a run goes on, for data that would take long to go through first."""

from dataclasses import dataclass

from inspect_ai import SampleSource
from inspect_ai.dataset import Dataset, Sample
from inspect_ai.log import EvalSample

from misstep._inspect_private import running_task
from misstep.loaders._procedural import KEPT

WINDOW = 1_000
"""How many samples are queued at most."""


@dataclass
class Progress:
    """How far a run has come."""

    run: object
    issued: int
    done: int = 0


class RowStream(SampleSource):
    """The samples of a data set in their order, some hundreds ahead of the run.

    Of an ordinary data set, Inspect goes through all samples and starts them all before the first
    one is asked about; of a stream, those of the first window.
    """

    def __init__(self, dataset: Dataset, window: int = WINDOW) -> None:
        self._dataset = dataset
        self._window = window
        self._runs: list[Progress] = []

    def initial_samples(self) -> list[Sample]:
        """The first window."""
        return list(self._dataset[: self._window])

    async def next_samples(self) -> list[Sample] | None:
        """What comes next where nothing is queued: `--sample-id` may pass over a whole window."""
        return self._more(self._run()) or None

    async def sample_complete(self, sample: EvalSample) -> list[Sample] | None:
        """What comes next where half a window is left."""
        return self._after(sample.epoch)

    async def sample_abandoned(self, sample: Sample, epoch: int) -> list[Sample] | None:
        """The same for a sample that was cancelled in the queue."""
        return self._after(epoch)

    def _after(self, epoch: int) -> list[Sample] | None:
        run = self._run()
        run.done += epoch == 1
        return self._more(run) if run.issued - run.done <= self._window // 2 else None

    def _more(self, run: Progress) -> list[Sample]:
        begin = run.issued
        run.issued = min(begin + (self._window + 1) // 2, len(self._dataset))
        return list(self._dataset[begin : run.issued])

    def _run(self) -> Progress:
        """The run that asks: one task may be run by several models at once, and again."""
        here = running_task()
        for progress in self._runs:
            if progress.run is here:
                return progress
        self._runs.append(Progress(here, min(self._window, len(self._dataset))))
        return self._runs[-1]


def streamed(dataset: Dataset) -> Dataset | SampleSource:
    """A data set, as a stream if it is long."""
    return dataset if len(dataset) <= KEPT else RowStream(dataset)
