"""Workers: processes that run Inspect.

They come from the fork server of `multiprocessing`. It loads Inspect once, so that a worker starts
at once. This module loads nothing large: the fork server can start before Inspect is loaded here.
"""

import atexit
import gc
import multiprocessing
import os
import signal
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from multiprocessing import forkserver
from typing import Any

from misstep.scratch import scratch_folder

_PRELOADED = "misstep.runs._preload"
# Elsewhere it is not safe to fork a process that has loaded large libraries.
_START_METHOD = "forkserver" if sys.platform == "linux" else "spawn"
_OUTPUT_BYTES = 2_000
"""How much of the end of a worker's output is returned."""
MISTAKE = 64
"""The exit status of a worker that a mistake of the user stopped. Its output ends with the
message."""
_KEEP_STACKS = "glibc.pthread.stack_cache_size=268435456"
"""Keep the stacks of threads that ended. Inspect compresses each sample in twelve new threads."""


def start_fork_server() -> None:
    """Start the process that loads Inspect for all workers, if it does not run yet."""
    if _START_METHOD == "forkserver":
        _processes().set_forkserver_preload([_PRELOADED])
        # The C library reads it when a process starts.
        os.environ.setdefault("GLIBC_TUNABLES", _KEEP_STACKS)
        forkserver.ensure_running()


def run_in_worker(
    function: Callable[..., None], *arguments: object, env: Mapping[str, str] | None = None
) -> tuple[int, str]:
    """Call a function in a process of its own; return the exit status and the end of the output.

    Several threads may do so at once. If this process ends, for any reason, the worker is
    interrupted: Inspect stops and saves its log. `env` is added to the environment.
    """
    start_fork_server()
    with scratch_folder() as folder:
        output = folder / "output"
        output.touch()
        environment = {**os.environ, **(env or {})}
        process = _processes().Process(
            target=_work, args=(function, arguments, environment, str(output))
        )
        process.start()
        process.join()
        end = output.read_bytes()[-_OUTPUT_BYTES:].decode(errors="replace").strip()
        return process.exitcode or 0, end


def run_command(arguments: Sequence[str]) -> None:
    """Run Inspect's command in this process."""
    import_module(_PRELOADED).run_inspect(arguments)


def collect_rarely() -> None:
    """Run the garbage collector rarely: loading modules makes many objects and no garbage."""
    gc.set_threshold(50_000, 50, 50)


def freeze_loaded_objects() -> None:
    """Exempt everything that is loaded from garbage collection, which saves 14% of a run."""
    # No collection comes first: to find the little garbage costs more than to keep it.
    gc.freeze()
    collect_rarely()


def _processes() -> Any:  # noqa: ANN401 (the stubs know no context of a variable name)
    return multiprocessing.get_context(_START_METHOD)


def _work(
    function: Callable[..., None], arguments: Sequence[object], env: Mapping[str, str], output: str
) -> None:
    # The fork server has the environment and the signals of the time when it started.
    os.environ.clear()
    os.environ.update(env)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    with open(output, "ab") as stream:
        os.dup2(stream.fileno(), 1)
        os.dup2(stream.fileno(), 2)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    try:
        # Raises here what the fork server passed over.
        preloaded = import_module(_PRELOADED)
        try:
            function(*arguments)
        except preloaded.PrerequisiteError as mistake:
            print(preloaded.without_markup(str(mistake.message)), flush=True)
            sys.exit(MISTAKE)
    finally:
        # Servers that providers started are stopped here. Python before 3.14 does not do so in
        # processes of `multiprocessing`.
        atexit._run_exitfuncs()


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        # Inspect stops and saves its log.
        os.kill(os.getpid(), signal.SIGINT)
