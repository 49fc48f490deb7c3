"""A worker: Inspect's own command, with settings for throughput, that ends when its parent does.

Without arguments it is where workers come from: they are told theirs when Inspect is loaded.
"""

import atexit
import contextlib
import importlib
import json
import os
import signal
import sys
import threading
from importlib.metadata import entry_points

from misstep.runs._garbage import collect_rarely, keep_what_is_loaded
from misstep.runs._nursery import forked
from misstep.runs._spared import spare_work

_USED_BY_MOST = ("misstep.registry.entry_point", "acp", "openai")
"""What Inspect loads at the start of a run: evals, a protocol for agents, the client of models."""


def _end_with_parent() -> None:
    # The parent holds the other end of this and writes no more: it ends when the parent ends,
    # however that came about. Inspect takes the signal as a request to stop, and saves its log.
    while os.read(0, 4096):
        pass
    os.kill(os.getpid(), signal.SIGINT)


def _told() -> list[str]:
    """The arguments that the parent tells."""
    line = sys.stdin.buffer.readline()
    if not line:
        sys.exit(0)
    told = json.loads(line)
    os.environ.update(told["env"])
    return list(told["arguments"])


class _Leaving:
    """The last thing a worker does: to end at once.

    Python would take everything apart that is loaded, which takes half a second.
    """

    status = 1

    def __call__(self) -> None:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(self.status)


def main() -> None:
    """Run `inspect` with the arguments given or told."""
    leaving = _Leaving()
    # The first to be registered is the last to be called.
    atexit.register(leaving)
    try:
        _run_inspect()
    except SystemExit as ended:
        leaving.status = ended.code if isinstance(ended.code, int) else 1
        raise


def _run_inspect() -> None:
    collect_rarely()
    [inspect] = entry_points(group="console_scripts", name="inspect")
    run = inspect.load()
    if len(sys.argv) == 1:
        for name in _USED_BY_MOST:
            with contextlib.suppress(ImportError):
                importlib.import_module(name)
        keep_what_is_loaded()
        forked()
        sys.argv += _told()
    else:
        keep_what_is_loaded()
    if not os.isatty(0):
        threading.Thread(target=_end_with_parent, daemon=True).start()
    spare_work(sys.argv[1:])
    sys.exit(run())


if __name__ == "__main__":
    main()
