"""Everything that workers need loaded. The fork server imports this before it forks them."""

import importlib
import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from importlib.metadata import entry_points

from misstep.runs._workers import collect_rarely, freeze_loaded_objects

collect_rarely()

from misstep._inspect_private import call_in_shared_session  # noqa: E402

[_command] = entry_points(group="console_scripts", name="inspect")
_inspect = _command.load()

# A run imports these: evals, agent protocol, client library, check for notebooks, metrics.
for _name in ("misstep.registry.entry_point", "acp", "openai", "IPython", "numpy.random"):
    with suppress(ImportError):
        importlib.import_module(_name)

# Reads Inspect's list of models, which takes a third of a second.
importlib.import_module("inspect_ai.model").get_model_info("openai/gpt-4o")
freeze_loaded_objects()


def run_inspect(arguments: Sequence[str]) -> None:
    """Run Inspect's command in this process."""
    sys.argv = ["inspect", *arguments]
    for_clients = any(argument.startswith("--acp-server") for argument in arguments)
    if for_clients or "INSPECT_EVAL_ACP_SERVER" in os.environ:
        _inspect()
    else:
        call_in_shared_session(_inspect)
