import pytest

from misstep.runs import Shard, split


@pytest.mark.parametrize(("start", "stop", "count"), [(0, 64, 3), (5, 6, 4), (10, 17, 7)])
def test_shards_cover_every_sample_once_and_in_order(start, stop, count):
    shards = split(start, stop, count)
    covered = [sample for shard in shards for sample in range(shard.start, shard.stop)]
    assert covered == list(range(start, stop))
    assert [shard.index for shard in shards] == list(range(len(shards)))


def test_sizes_differ_by_at_most_one_and_none_is_empty():
    sizes = [len(shard) for shard in split(0, 100, 7)]
    assert max(sizes) - min(sizes) == 1
    assert len(split(0, 3, 8)) == 3


def test_a_limit_counts_from_one_as_inspect_does():
    assert Shard(0, 0, 21).limit == "1-21"
