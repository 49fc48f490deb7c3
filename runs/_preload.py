"""Everything that workers need loaded. The fork server imports this before it forks them."""

import importlib
from contextlib import suppress
from importlib.metadata import entry_points

from misstep.runs._workers import collect_rarely, freeze_loaded_objects

collect_rarely()

[_command] = entry_points(group="console_scripts", name="inspect")
inspect_command = _command.load()
"""Inspect's command line."""

# Inspect loads these at the start of a run: the evals, the agent protocol, the client library.
for _name in ("misstep.registry.entry_point", "acp", "openai"):
    with suppress(ImportError):
        importlib.import_module(_name)

from inspect_ai.model import get_model_info  # noqa: E402 (after the collector is set)

# Reads Inspect's list of models, which takes a third of a second.
get_model_info("openai/gpt-4o")
freeze_loaded_objects()
