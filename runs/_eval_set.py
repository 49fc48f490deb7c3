"""A whole run as an eval set of Inspect, which resumes it and repeats it if it fails."""

import sys
from typing import Any

from inspect_ai import Epochs, eval_set
from inspect_ai.log import EvalConfig
from inspect_ai.model import GenerateConfig, Model, get_model
from inspect_ai.util import TokenLimit

from misstep._inspect_private import PrerequisiteError
from misstep.runs._command import EvalCommand

_ATTEMPTS = 3
"""How often a run that failed is repeated."""


def run_eval_set(command: EvalCommand, log_dir: str) -> None:
    """Start or resume a command of a sweep, and exit with a status."""
    try:
        success = _succeeds(command, log_dir)
    except PrerequisiteError as error:
        # A mistake of the user: the message says all.
        sys.exit(f"{command.eval}: {error}")
    sys.exit(0 if success else 1)


def _succeeds(command: EvalCommand, log_dir: str) -> bool:
    config = command.config
    model = config["model"]
    start, stop = command.limit or (0, None)
    success, _ = eval_set(
        command.eval,
        log_dir,
        task_args=command.task_args,
        model=model["model"],
        model_base_url=model.get("base_url"),
        model_args=model.get("args", {}),
        model_roles={
            role: [_model(**one) for one in entry] if isinstance(entry, list) else _model(**entry)
            for role, entry in config.get("model_roles", {}).items()
        },
        # Samples that are generated while the eval runs have no range.
        limit=stop if start == 0 else command.limit,
        tags=config.get("tags"),
        retry_attempts=_ATTEMPTS,
        # Logs of an older version of the task may be there. They are not resumed.
        log_dir_allow_dirty=True,
        display="log",
        **{"score_display": False, **_eval_settings(config.get("eval_config", {}))},
        # As in a run configuration of Inspect, general settings override those of a model.
        **{**model.get("config", {}), **config.get("generate_config", {})},
    )
    return success


def _model(
    model: str,
    base_url: str | None = None,
    config: dict[str, Any] | None = None,
    args: dict[str, Any] | None = None,
) -> Model:
    settings = GenerateConfig.model_validate(config or {})
    return get_model(model, base_url=base_url, config=settings, memoize=False, **(args or {}))


def _eval_settings(config: dict[str, Any]) -> dict[str, Any]:
    """Return settings as arguments of `eval_set`, which takes some of them together."""
    checked = EvalConfig.model_validate(config)
    settings = {name: getattr(checked, name) for name in config}
    reducers = settings.pop("epochs_reducer", None)
    if reducers is not None:
        settings["epochs"] = Epochs(checked.epochs or 1, reducers)
    kind = settings.pop("token_limit_type", None)
    if kind is not None and checked.token_limit is not None:
        settings["token_limit"] = TokenLimit(tokens=checked.token_limit, type=kind)
    return settings
