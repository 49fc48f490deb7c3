"""Runs commands of `inspect` and `misstep` in one new process, which saves all starts but one."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

_PROGRAM = r"""
import glob, json, os, sys
from importlib.metadata import entry_points

environment = dict(os.environ)
for folder, words, added in json.loads(sys.stdin.read()):
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment | added)
    program, *words = words
    sys.argv = [program, *(path for word in words for path in sorted(glob.glob(word)) or [word])]
    [script] = entry_points(group="console_scripts", name=program)
    status = 0
    try:
        script.load()()
    except SystemExit as end:
        status = end.code
        if isinstance(status, str):
            print(status, file=sys.stderr)
            status = 1
    except BaseException:
        sys.excepthook(*sys.exc_info())
        status = 1
    sys.stdout.flush()
    sys.stderr.flush()
    os.write(1, b"\n\x1e%d\n" % (status or 0))
"""


@dataclass(frozen=True)
class Command:
    """A command: its words, patterns of files among them, and what is added to its environment."""

    words: Sequence[str | Path]
    folder: Path
    env: Mapping[str, str]


@dataclass(frozen=True)
class Ended:
    """How a command ended."""

    status: int
    output: str
    """What it wrote to its output and to its error output."""


def run_in_one_process(
    commands: Sequence[Command], env: Mapping[str, str] | None = None, python: str | None = None
) -> list[Ended]:
    """Run commands one after the other in one new process, and return how each ended.

    Args:
        commands: The commands.
        env: The environment of the process; the one of this process if it is None.
        python: The interpreter.
    """
    listed = [[str(one.folder), [*map(str, one.words)], dict(one.env)] for one in commands]
    done = subprocess.run(
        [python or sys.executable, "-c", _PROGRAM],
        input=json.dumps(listed),
        env=os.environ if env is None else env,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    found = re.findall(r"(.*?)\n\x1e(-?\d+)\n", done.stdout, re.DOTALL)
    assert len(found) == len(commands), done.stdout
    return [Ended(int(status), output) for output, status in found]
