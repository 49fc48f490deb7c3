"""Run a program and write down what it took: python _weigh.py FILE COMMAND…

It is small: until a program has loaded itself, the memory of its parent counts as its own.
"""

import ctypes
import json
import os
import subprocess
import sys
import time

ADOPT_ORPHANS = 36
"""PR_SET_CHILD_SUBREAPER of Linux: processes whose parent ends become children of this one."""

if __name__ == "__main__":
    _, file, *command = sys.argv
    if sys.platform == "linux":
        # The fork server ends after the program that started it. Its workers count through it.
        ctypes.CDLL(None).prctl(ADOPT_ORPHANS, 1)
    start = time.perf_counter()
    process = subprocess.Popen(command)
    _, status, usage = os.wait4(process.pid, 0)
    seconds = time.perf_counter() - start
    usages = [usage]
    while True:
        try:
            usages.append(os.wait4(-1, 0)[2])
        except ChildProcessError:
            break
    taken = {
        "seconds": seconds,
        "cpu": sum(usage.ru_utime + usage.ru_stime for usage in usages),
        # Linux counts kilobytes, macOS bytes.
        "megabytes": max(usage.ru_maxrss for usage in usages)
        / (1e6 if sys.platform == "darwin" else 1e3),
    }
    process.returncode = os.waitstatus_to_exitcode(status)
    with open(file, "w", encoding="utf-8") as stream:
        json.dump({"status": process.returncode, "usage": taken}, stream)
