"""Runs a program and writes down what it took: python _weigh.py FILE COMMAND…

It is small, for until a program has loaded itself, the memory of who started it counts as its own.
"""

import json
import os
import subprocess
import sys
import time

if __name__ == "__main__":
    _, file, *command = sys.argv
    start = time.perf_counter()
    process = subprocess.Popen(command)
    _, status, usage = os.wait4(process.pid, 0)
    taken = {
        "seconds": time.perf_counter() - start,
        "cpu": usage.ru_utime + usage.ru_stime,
        # Linux counts kilobytes, macOS bytes.
        "megabytes": usage.ru_maxrss / (1e6 if sys.platform == "darwin" else 1e3),
    }
    process.returncode = os.waitstatus_to_exitcode(status)
    with open(file, "w", encoding="utf-8") as stream:
        json.dump({"status": process.returncode, "usage": taken}, stream)
