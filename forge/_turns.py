"""One at a time: the work on many answers that come at once."""

import anyio
from anyio.lowlevel import RunVar, checkpoint

_turn: RunVar[anyio.Lock | None] = RunVar("forge_turn", None)


async def take_turn() -> None:
    """Wait until the work on those answers that came before has begun.

    Answers that were asked for together come together. If all of them were worked on at once, the
    connections that they leave would stand idle meanwhile; so calls go out between them.
    """
    lock = _turn.get()
    if lock is None:
        lock = anyio.Lock()
        _turn.set(lock)
    async with lock:
        await checkpoint()
