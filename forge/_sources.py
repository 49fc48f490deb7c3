"""Where a build takes its solutions from."""

from collections.abc import Iterator

from misstep.forge._offline import OFFLINE, offline_rows
from misstep.forge._order import Order
from misstep.loaders import RawRow, corpus_rows


def source_rows(source: str, order: Order) -> Iterator[RawRow]:
    """The rows of a source: a registered corpus, a file, or `offline`."""
    if source == OFFLINE:
        return offline_rows(order.seed, order.allowed, order.num_examples)
    return corpus_rows(source)
