"""What the garbage collector need not look through."""

import gc


def collect_rarely() -> None:
    """Collect after many objects only: while modules are loaded there is nothing to collect."""
    gc.set_threshold(50_000, 50, 50)


def keep_what_is_loaded() -> None:
    """Leave alone what is loaded by now: looking through it again is a seventh of a run."""
    # Not collected before: what little garbage there is costs less to keep than to look for.
    gc.freeze()
    collect_rarely()
