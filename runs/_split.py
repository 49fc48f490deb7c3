"""Which samples each part of a run gets."""

from dataclasses import dataclass
from itertools import pairwise


@dataclass(frozen=True)
class Shard:
    """A part of a run: the samples from `start` up to, not including, `stop`."""

    index: int
    start: int
    stop: int

    @property
    def limit(self) -> str:
        """As Inspect's `--limit` writes it: from one, both ends included."""
        return f"{self.start + 1}-{self.stop}"

    def __len__(self) -> int:
        return self.stop - self.start


def split(start: int, stop: int, count: int) -> list[Shard]:
    """Consecutive shards whose sizes differ by at most one; never an empty one.

    Consecutive, because a range is what Inspect takes at no cost: a list of ids is matched as
    patterns, each against every sample.
    """
    count = max(1, min(count, stop - start))
    ends = [start + (stop - start) * part // count for part in range(count + 1)]
    return [Shard(index, first, last) for index, (first, last) in enumerate(pairwise(ends))]
