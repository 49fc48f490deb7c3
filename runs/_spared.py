"""What a worker is spared: work of Inspect that serves nobody here.

Inspect has no settings for these; a version without them would only be as slow as it is elsewhere.
"""

import os
from collections.abc import Sequence
from contextlib import suppress
from functools import partial

import yaml

_ATTACHING = "--acp-server"
_ATTACHING_BY_DEFAULT = "INSPECT_EVAL_ACP_SERVER"


def spare_work(arguments: Sequence[str]) -> None:
    """Spare a worker with these arguments what it can do without."""
    _spare_threads()
    _spare_yaml()
    wanted = any(argument.partition("=")[0] == _ATTACHING for argument in arguments)
    if not wanted and _ATTACHING_BY_DEFAULT not in os.environ:
        _spare_sessions()


def _spare_threads() -> None:
    # Each sample is packed with twelve new threads, which takes ten times as long as packing its
    # few kilobytes, and a twelfth of a run.
    with suppress(ImportError):
        from inspect_ai._util import zipfile

        zipfile._ZSTD_THREADS = 0


def _spare_yaml() -> None:
    # The list of models is read before the first call: a third of a second in Python.
    if yaml.__with_libyaml__:
        yaml.safe_load = partial(yaml.load, Loader=yaml.CSafeLoader)


def _spare_sessions() -> None:
    # Each sample is a session that editors and other clients of agents could attach to, with every
    # event put into their words: a fourteenth of a run. Inside of a session there is no other.
    with suppress(ImportError, AttributeError):
        from inspect_ai.agent._acp import transport

        transport._acp_live_active.set(True)
