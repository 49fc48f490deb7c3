"""Where workers come from: a process that forks itself when it is asked to.

It has one thread when it does, and no event loop, so that a fork is as good as a process that
loaded everything itself.
"""

import contextlib
import os
import select
import signal
import socket
import sys

_STDIN, _STDOUT, _STDERR = range(3)


def forked() -> None:
    """Fork a process for every pair of files that arrives on the standard input.

    Returns in those processes, with the pair as their standard input and output. The process
    itself tells their status to the first file when they end, and ends with its parent.
    """
    control = socket.socket(fileno=os.dup(_STDIN))
    woken, wake = socket.socketpair()
    wake.setblocking(False)
    signal.set_wakeup_fd(wake.fileno())
    signal.signal(signal.SIGCHLD, lambda *_: None)
    # A key pressed to stop is for the workers, which save their logs, and for the parent.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    running: dict[int, int] = {}
    while True:
        ready, _, _ = select.select([control, woken], [], [])
        if woken in ready:
            woken.recv(4096)
            for process in list(running):
                _tell_end(process, running, os.WNOHANG)
        if control in ready:
            _, files, _, _ = socket.recv_fds(control, 1, 2)
            if not files:
                break
            worker, output = files
            process = os.fork()
            if not process:
                for own in (control, woken, wake):
                    own.close()
                _become_worker(worker, output)
                return
            os.close(output)
            running[process] = worker
    # Each notices by its own standard input that the parent has ended.
    for process in list(running):
        _tell_end(process, running)
    sys.exit(0)


def _tell_end(process: int, running: dict[int, int], options: int = 0) -> None:
    ended, status = os.waitpid(process, options)
    if ended:
        worker = running.pop(process)
        with contextlib.suppress(OSError):
            os.write(worker, str(os.waitstatus_to_exitcode(status)).encode())
        os.close(worker)


def _become_worker(worker: int, output: int) -> None:
    signal.set_wakeup_fd(-1)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    os.dup2(worker, _STDIN)
    os.dup2(output, _STDOUT)
    os.dup2(output, _STDERR)
    os.close(worker)
    os.close(output)
