"""Run a program and write its time, CPU time and memory: python _weigh.py FILE COMMAND…

This program is small because the memory of the parent counts until the child has loaded itself.
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
