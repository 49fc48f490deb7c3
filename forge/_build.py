"""Building a set: draw solutions, inject errors by an Inspect run, write what was accepted.

Every answer of a model is kept in the build's folder as it arrives, by Inspect's own cache. A build
that was stopped, however hard, is taken up by the same call: what was answered is not asked again.
"""

import json
import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from inspect_ai.log import EvalLog
from inspect_ai.model import Model

from misstep.forge._accepted import example_of, watching
from misstep.forge._card import card
from misstep.forge._files import data_files, lines
from misstep.forge._order import Drawn, Order, draw_solutions, samples_of
from misstep.forge._record import Example
from misstep.forge._result import Result
from misstep.forge._task import injection_task
from misstep.loaders import RawRow, write_files
from misstep.registry import DataError, MisstepError

SETTINGS = "build.json"
ANSWERS = "answers"
LOGS = "logs"
_CURE = "Free some space, or make it writable, and run the same command again: answers are kept."


@dataclass(frozen=True)
class Calls:
    """How the models are called; none of it changes what they answer."""

    max_connections: int = 32
    timeout: int | None = None
    """Seconds that a call may take, after which it is made again."""
    max_retries: int = 8
    model_cost_config: str | None = None


@dataclass
class Built:
    """A finished build."""

    folder: Path
    drawn: Drawn
    examples: list[Example] = field(default_factory=list)
    rejects: Counter[str] = field(default_factory=Counter)
    """Samples by why they were rejected."""
    log: str = ""


def build_set(
    source: str,
    rows: Iterable[RawRow],
    order: Order,
    injector: Model,
    reviewer: Model | None,
    folder: Path,
    calls: Calls,
    watcher: Callable[[Result], None],
) -> Built:
    """Build a set in a folder, or go on with one.

    Args:
        source: What the rows are called.
        rows: The rows of the corpus.
        order: The settings.
        injector: Who injects.
        reviewer: Who confirms, if anybody.
        folder: Where everything goes.
        calls: How the models are called.
        watcher: Is told of every result.

    Raises:
        MisstepError: Nothing could be drawn or written, or the run did not come to its end.
    """
    settings = {"source": source, **asdict(order), "injector": str(injector)}
    settings |= {"reviewer": str(reviewer)} if reviewer else {}
    _claim(folder, settings)
    drawn = draw_solutions(rows, order)
    if not drawn.chosen:
        raise DataError(
            f"{source}: none of {drawn.rows:,} rows can be used ({drawn.left_out}). "
            f"`misstep forge analyze --source {source}` tells more."
        )
    with _answers_kept_in(folder / ANSWERS), watching(watcher):
        log = _run(drawn, order, injector, reviewer, folder, calls)
    built = Built(folder, drawn, log=log.location)
    rejected = list(_read(log, built))
    card_text = card(built.examples, settings, built.rejects)
    files = data_files(folder, built.examples)
    files[folder / "rejects.jsonl"] = lines(sorted(rejected, key=lambda one: str(one["id"])))
    files[folder / "README.md"] = card_text.encode()
    write_files(files, _CURE)
    return built


def _claim(folder: Path, settings: dict[str, Any]) -> None:
    """Make the folder this build's; what cannot be written is known before any call is paid."""
    path = folder / SETTINGS
    content = json.dumps(settings, indent=2, ensure_ascii=False) + "\n"
    if path.is_file():
        before = json.loads(path.read_text(encoding="utf-8"))
        now = json.loads(content)
        changed = sorted(name for name in {*before, *now} if before.get(name) != now.get(name))
        if changed:
            was = ", ".join(f"{name}={before.get(name)!r}" for name in changed)
            raise MisstepError(
                f"{folder}: built with other settings ({was}). Use them to go on with that build, "
                "or name another folder: -o DIR."
            )
    write_files({path: content.encode()}, "Name a folder that can be written: -o DIR.")


@contextmanager
def _answers_kept_in(folder: Path) -> Iterator[None]:
    """Have Inspect keep its answers in a folder."""
    name = "INSPECT_CACHE_DIR"
    before = os.environ.get(name)
    os.environ[name] = str(folder.absolute())
    try:
        yield
    finally:
        if before is None:
            del os.environ[name]
        else:
            os.environ[name] = before


def _run(
    drawn: Drawn,
    order: Order,
    injector: Model,
    reviewer: Model | None,
    folder: Path,
    calls: Calls,
) -> EvalLog:
    from inspect_ai import eval as run

    roles: dict[str, str | Model | list[str | Model]] = {"injector": injector}
    if reviewer is not None:
        roles["reviewer"] = reviewer
    [log] = run(
        injection_task(samples_of(drawn.chosen, order), order),
        model="none",
        model_roles=roles,
        log_dir=str(folder / LOGS),
        display="none",
        log_level="error",
        log_realtime=False,
        log_model_api=False,
        score_display=False,
        ctl_server=False,
        max_connections=calls.max_connections,
        # Samples that wait to be called again must not keep others from the connections.
        max_samples=2 * calls.max_connections,
        max_retries=calls.max_retries,
        attempt_timeout=calls.timeout,
        model_cost_config=calls.model_cost_config,
    )
    if log.status != "success":
        said = log.error.message.strip().splitlines()[-1] if log.error else log.status
        raise MisstepError(
            f"{folder}: the build did not come to its end: {said}\n"
            f"What was answered so far is kept in {folder / ANSWERS}; the same command goes on."
        )
    return log


def _read(log: EvalLog, built: Built) -> Iterator[dict[str, Any]]:
    """Sort the results of a run into examples and rejects."""
    for sample in log.samples or []:
        result = (sample.scores or {})["accepted"].metadata or {}
        if example := example_of(sample):
            built.examples.append(example)
            continue
        rejects = result["rejects"]
        built.rejects.update({f"{one['stage']}: {one['reason']}" for one in rejects})
        yield {
            "id": sample.id,
            "problem": sample.input,
            "rejects": rejects,
            "attempts": result["attempts"],
        }
