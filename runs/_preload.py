"""Everything that workers need loaded. The fork server imports this before it forks them."""

import importlib
import logging
import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from importlib.metadata import entry_points

from misstep.runs._workers import collect_rarely, freeze_loaded_objects

collect_rarely()

from misstep._inspect_private import PrerequisiteError, call_in_shared_session  # noqa: E402
from misstep.plain_text import without_markup as without_markup  # noqa: E402

[_command] = entry_points(group="console_scripts", name="inspect")
_inspect = _command.load()

_USED_BY_RUNS = (
    "misstep.registry.entry_point",
    "acp",
    "openai",
    "anthropic",
    "IPython",
    "numpy.random",
)
"""The evals, the agent protocol, client libraries, the check for notebooks, and metrics."""
for _name in _USED_BY_RUNS:
    with suppress(ImportError):
        importlib.import_module(_name)

# Reads Inspect's list of models, which takes a third of a second.
importlib.import_module("inspect_ai.model").get_model_info("openai/gpt-4o")
freeze_loaded_objects()

_LEVEL_VARIABLES = ("INSPECT_LOG_LEVEL", "INSPECT_TRACE")


def run_inspect(arguments: Sequence[str]) -> None:
    """Run Inspect's command in this process."""
    sys.argv = ["inspect", *arguments]
    if not _wants_debug_messages(arguments):
        # Inspect traces each call into a file, which takes 3% of the CPU time of a run.
        logging.disable(logging.INFO - 1)
    for_clients = any(argument.startswith("--acp-server") for argument in arguments)
    try:
        if for_clients or "INSPECT_EVAL_ACP_SERVER" in os.environ:
            _inspect()
        else:
            call_in_shared_session(_inspect)
    except ValueError as problem:
        if not str(problem).startswith("Model "):
            raise
        # Inspect ends in a traceback if it does not know the provider of a model.
        message = f"{problem} Write provider/name, such as openai/gpt-4o-mini."
        raise PrerequisiteError(message) from None


def _wants_debug_messages(arguments: Sequence[str]) -> bool:
    """Whether the user sets a level of messages."""
    by_option = any(argument.startswith("--log-level") for argument in arguments)
    return by_option or any(name.startswith(_LEVEL_VARIABLES) for name in os.environ)
