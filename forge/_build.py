"""Building a set: draw solutions, inject errors with an Inspect run, write the accepted examples.

A file in the folder of the build keeps every answer. A build that was stopped or killed resumes
with the same command, and no answered call is made again.
"""

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from inspect_ai.log import EvalLog
from inspect_ai.model import Model

from misstep.forge._calls import keep_answers
from misstep.forge._example import Example
from misstep.forge._files import data_files, dataset_card
from misstep.forge._inject import InjectionResult
from misstep.forge._task import (
    BuildSettings,
    SolutionDraw,
    draw_solutions,
    injection_samples,
    injection_task,
    logged_example,
    on_result,
)
from misstep.loaders import RawRow, folder_lock, json_lines, write_files
from misstep.registry import DataError, MisstepError, find_secret

SETTINGS_FILE = "build.json"
ANSWERS_FILE = "answers.jsonl"
LOGS_FOLDER = "logs"
_CURE = "Free some space, or make it writable, and run the same command again: answers are kept."


@dataclass(frozen=True)
class CallSettings:
    """How the models are called. These settings do not change the result."""

    max_connections: int = 32
    timeout: int | None = None
    """Seconds after which a call is repeated."""
    max_retries: int = 8
    model_cost_config: str | None = None


@dataclass
class BuildResult:
    """A finished build."""

    folder: Path
    draw: SolutionDraw
    log: str
    examples: list[Example] = field(default_factory=list)
    rejects: Counter[str] = field(default_factory=Counter)
    """The number of rejected samples by reason."""


def build_set(
    source: str,
    rows: Iterable[RawRow],
    settings: BuildSettings,
    injector: Model,
    reviewer: Model | None,
    folder: Path,
    calls: CallSettings,
    on_each: Callable[[InjectionResult], None],
) -> BuildResult:
    """Build a set in a folder, or resume its build. `on_each` gets the result of each sample.

    Without a reviewer, the injector reviews.
    """
    record = {"source": source, **asdict(settings), "injector": str(injector)}
    if settings.votes:
        reviewer = reviewer or injector
        record |= {"reviewer": str(reviewer)}
    for model in (injector, reviewer):
        if model is not None and (secret := find_secret(model.api.base_url)):
            raise MisstepError(
                f"{model}: logs keep the base URL, and it must not hold a secret: {secret}. "
                "Set keys in the environment, such as OPENAI_API_KEY."
            )
    with folder_lock(folder):
        _claim(folder, record)
        draw = draw_solutions(rows, settings)
        if not draw.chosen:
            raise DataError(
                f"{source}: none of {draw.rows:,} rows can be used ({dict(draw.left_out)}). "
                f"`misstep forge analyze --source {source}` shows why."
            )
        with keep_answers(folder / ANSWERS_FILE), on_result(on_each):
            log = _run(draw, settings, injector, reviewer, folder, calls)
        result = BuildResult(folder, draw, log.location)
        rejected = sorted(_sort_samples(log, result), key=lambda one: str(one["id"]))
        files = data_files(folder, result.examples)
        files[folder / "rejects.jsonl"] = json_lines(rejected).encode()
        files[folder / "README.md"] = dataset_card(result.examples, record, result.rejects).encode()
        write_files(files, _CURE)
        return result


def _claim(folder: Path, record: dict[str, Any]) -> None:
    """Write the settings into the folder before any call is paid, or compare them with it."""
    path = folder / SETTINGS_FILE
    content = json.dumps(record, indent=2, ensure_ascii=False) + "\n"
    if path.is_file():
        before = _earlier_settings(path)
        now = json.loads(content)
        changed = sorted(name for name in {*before, *now} if before.get(name) != now.get(name))
        if changed:
            old = ", ".join(f"{name}={before.get(name)!r}" for name in changed)
            raise MisstepError(
                f"{folder}: built with other settings ({old}). Use the same settings to resume "
                "that build, or choose another folder: -o DIR."
            )
    write_files({path: content.encode()}, "Choose a writable folder: -o DIR.")


def _earlier_settings(path: Path) -> dict[str, Any]:
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as problem:
        content = problem
    if not isinstance(content, dict):
        raise DataError(
            f"{path}: does not hold the settings of a build. Choose another folder: -o DIR."
        )
    return content


def _run(
    draw: SolutionDraw,
    settings: BuildSettings,
    injector: Model,
    reviewer: Model | None,
    folder: Path,
    calls: CallSettings,
) -> EvalLog:
    from inspect_ai import eval as run_task

    roles: dict[str, str | Model | list[str | Model]] = {"injector": injector}
    if reviewer is not None:
        roles["reviewer"] = reviewer
    [log] = run_task(
        injection_task(injection_samples(draw.chosen, settings), settings),
        model="none",
        model_roles=roles,
        log_dir=str(folder / LOGS_FOLDER),
        display="none",
        log_level="error",
        log_realtime=False,
        log_model_api=False,
        score_display=False,
        ctl_server=False,
        max_connections=calls.max_connections,
        # More samples than connections: samples that wait for a retry leave their connection idle.
        max_samples=2 * calls.max_connections,
        max_retries=calls.max_retries,
        attempt_timeout=calls.timeout,
        model_cost_config=calls.model_cost_config,
    )
    if log.status != "success":
        reason = log.error.message.strip().splitlines()[-1] if log.error else log.status
        raise MisstepError(
            f"{folder}: the build failed: {reason}\n"
            f"The answers so far are kept in {folder / ANSWERS_FILE}. Run the same command again "
            "to resume."
        )
    return log


def _sort_samples(log: EvalLog, result: BuildResult) -> Iterator[dict[str, Any]]:
    """Add the examples and reject reasons of a run to the result. Yield the rejected samples."""
    for sample in log.samples or []:
        if example := logged_example(sample):
            result.examples.append(example)
            continue
        record = (sample.scores or {})["accepted"].metadata or {}
        rejects = record["rejects"]
        result.rejects.update({f"{one['stage']}: {one['reason']}" for one in rejects})
        yield {
            "id": sample.id,
            "problem": sample.input,
            "rejects": rejects,
            "attempts": record["attempts"],
        }
