"""A worker: Inspect's own command, with settings for throughput, that ends when its parent does.

Its arguments are given, or else told by one line on its standard input once it has loaded Inspect.
"""

import contextlib
import importlib
import json
import os
import signal
import sys
import threading
from importlib.metadata import entry_points

from misstep.workers._garbage import collect_rarely, keep_what_is_loaded

_USED_BY_MOST = ("misstep.registry.entry_point", "acp", "openai")
"""What Inspect loads at the start of a run: evals, a protocol for agents, the client of models."""


def _end_with_parent() -> None:
    # The parent holds the other end of this pipe and writes no more: it ends when the parent ends,
    # however that came about. Inspect takes the signal as a request to stop, and saves its log.
    while os.read(0, 4096):
        pass
    os.kill(os.getpid(), signal.SIGINT)


def _told() -> list[str]:
    """The arguments that the parent tells."""
    for name in _USED_BY_MOST:
        with contextlib.suppress(ImportError):
            importlib.import_module(name)
    line = sys.stdin.buffer.readline()
    if not line:
        sys.exit(0)
    told = json.loads(line)
    os.environ.update(told["env"])
    return list(told["arguments"])


def main() -> None:
    """Run `inspect` with the arguments given or told."""
    collect_rarely()
    [inspect] = entry_points(group="console_scripts", name="inspect")
    run = inspect.load()
    if len(sys.argv) == 1:
        sys.argv += _told()
    if not os.isatty(0):
        threading.Thread(target=_end_with_parent, daemon=True).start()
    keep_what_is_loaded()
    sys.exit(run())


if __name__ == "__main__":
    main()
