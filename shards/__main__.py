"""A worker: Inspect's own command, with settings for throughput, that ends when its parent does."""

import os
import signal
import sys
import threading
from importlib.metadata import entry_points

from misstep.shards._garbage import keep_what_is_loaded


def _end_with_parent() -> None:
    # The parent holds the other end of this pipe and never writes: it ends when the parent ends,
    # however that came about. Inspect takes the signal as a request to stop, and saves its log.
    while os.read(0, 4096):
        pass
    os.kill(os.getpid(), signal.SIGINT)


def main() -> None:
    """Run `inspect` with the arguments given."""
    [inspect] = entry_points(group="console_scripts", name="inspect")
    run = inspect.load()
    if not os.isatty(0):
        threading.Thread(target=_end_with_parent, daemon=True).start()
    keep_what_is_loaded()
    sys.exit(run())


if __name__ == "__main__":
    main()
