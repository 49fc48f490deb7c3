"""Everything that workers need loaded. The fork server imports this before it forks them."""

import importlib
from contextlib import suppress
from importlib.metadata import entry_points

from misstep.runs._workers import collect_rarely, freeze_loaded_objects

collect_rarely()

[_command] = entry_points(group="console_scripts", name="inspect")
inspect_command = _command.load()
"""Inspect's command line."""

# A run imports these: evals, agent protocol, client library, check for notebooks, metrics.
for _name in ("misstep.registry.entry_point", "acp", "openai", "IPython", "numpy.random"):
    with suppress(ImportError):
        importlib.import_module(_name)

# Reads Inspect's list of models, which takes a third of a second.
importlib.import_module("inspect_ai.model").get_model_info("openai/gpt-4o")
freeze_loaded_objects()
