"""`misstep forge build`: a set from a corpus, with its progress."""

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from rich.console import Console, ConsoleOptions, RenderResult
from rich.live import Live

from misstep.cli._options import cost_config_option, count_option, json_option, output_option
from misstep.cli._output import print_json, print_lines, records_table
from misstep.forge import (
    LATE_FRACTION,
    MIN_STEPS,
    OFFLINE,
    BuildResult,
    BuildSettings,
    CallSettings,
    InjectionResult,
    build_set,
    push_to_hub,
    read_error_types,
    source_rows,
)
from misstep.registry import MisstepError
from misstep.runs import freeze_loaded_objects

if TYPE_CHECKING:
    from inspect_ai.model import Model

_PROGRESS_LINES = 20
"""How many lines of progress are printed if the output is not a terminal."""

corpus_option = click.option(
    "--source",
    default="numinamath",
    help="A registered corpus; a JSON, JSONL, CSV or Parquet file of problem and solution; "
    "or `offline`: generated solutions for the offline injector.",
)
min_steps_option = count_option(
    "--min-steps", MIN_STEPS, 2, "Use only solutions of at least N steps."
)


def build_command(function: Callable[..., None]) -> Callable[..., None]:
    """Add the options of a build to a command."""
    for option in reversed(_OPTIONS):
        function = option(function)
    return function


_OPTIONS: tuple[Callable[[Callable[..., None]], Callable[..., None]], ...] = (
    corpus_option,
    count_option("--num-examples", 1000, 1, "Draw N solutions from the source."),
    click.option("--model", required=True, help="Model that injects errors, in Inspect's syntax."),
    click.option("--reviewer", help="Model of the blind review. Default: the injecting model."),
    count_option("--votes", 3, 1, "Votes of the blind review of each original and each error."),
    click.option(
        "--no-review", is_flag=True, help="Build without a review. Labels are unconfirmed."
    ),
    output_option(
        "FOLDER",
        "Folder of the build. The same command with the same folder resumes it.",
        required=True,
    ),
    min_steps_option,
    click.option(
        "--injection-rate",
        default=0.7,
        type=click.FloatRange(0, 1),
        help="Share of solutions that get an error. The others stay as they are, with label -1.",
    ),
    click.option(
        "--late-fraction",
        default=LATE_FRACTION,
        type=click.FloatRange(0, 1, min_open=True),
        help="Part of a solution, counted from its end, in which the step of the error is drawn. "
        "0.5 is recommended: guessing the position then finds few errors.",
    ),
    click.option(
        "--temperature",
        default=0.7,
        type=click.FloatRange(min=0),
        help="Temperature of the injecting model.",
    ),
    click.option("--seed", default=42, help="Seed of the draw and of the injecting model."),
    click.option(
        "--error-types",
        metavar="TYPE[=WEIGHT],...",
        help="Use only these error types. With weights (a=2,b=1) a type is drawn for each "
        "solution; without weights the model chooses.",
    ),
    count_option("--max-tokens", 8192, 1, "Maximum tokens of one completion."),
    count_option(
        "--max-attempts", 3, 1, "Maximum attempts; each new one says what was wrong before."
    ),
    count_option("--max-connections", 32, 1, "Maximum number of concurrent calls."),
    count_option("--max-retries", 8, 0, "Maximum retries of a failed call."),
    count_option("--timeout", None, 1, "Maximum seconds of one call."),
    click.option("--model-base-url", help="Base URL of the injecting model."),
    cost_config_option,
    click.option(
        "--push-to-hub",
        "repository",
        metavar="OWNER/NAME",
        help="Upload to this data set of the hub.",
    ),
)


@click.command()
@build_command
@json_option
def build(
    source: str,
    num_examples: int,
    model: str,
    reviewer: str | None,
    votes: int,
    no_review: bool,
    output: Path,
    error_types: str | None,
    max_connections: int,
    max_retries: int,
    timeout: int | None,
    model_base_url: str | None,
    model_cost_config: Path | None,
    repository: str | None,
    as_json: bool,
    **settings: Any,  # noqa: ANN401
) -> None:
    """Build a set of worked solutions with an injected late error.

    Solutions whose error passes every check are written; the reasons of rejects are counted. A
    blind review, on by default, confirms that the original has no error and that the modified
    solution has its first error where it is declared.

    Resumable: rerun the same command after a kill. No answer is paid for twice.
    """
    # Rules cannot review: their labels are right by construction.
    rules = model.startswith(f"{OFFLINE}/")
    build_settings = BuildSettings(
        num_examples=num_examples,
        error_types=read_error_types(error_types),
        votes=0 if no_review or (rules and reviewer is None) else votes,
        **settings,
    )
    costs = None if model_cost_config is None else str(model_cost_config)
    calls = CallSettings(max_connections, timeout, max_retries, costs)
    injector = _find_model(model, model_base_url)
    reviewing = _find_model(reviewer) if reviewer else None
    console = Console(quiet=as_json)
    progress = Progress(num_examples, console)
    rows = source_rows(source, build_settings)
    freeze_loaded_objects()
    with Live(progress, console=console, refresh_per_second=2, transient=True):
        built = build_set(
            source, rows, build_settings, injector, reviewing, output, calls, progress.add
        )
    console.print(progress)
    record = _build_record(built)
    if as_json:
        print_json(record | {"rejects": built.rejects} | progress.usage)
    else:
        print_lines(
            console, (f"{name.replace('_', ' ')}: {value}" for name, value in record.items())
        )
    failed = sum(count for name, count in built.rejects.items() if name.startswith("call: "))
    if failed:
        console.print(
            f"The calls for {failed:,} solutions failed. Rerun the same command to repeat them.",
            style="yellow",
        )
    if not built.examples:
        raise MisstepError(
            f"{output}: no example was accepted. The reasons are in {output / 'rejects.jsonl'}."
        )
    if repository:
        print_lines(console, [f"Uploaded: {push_to_hub(output, repository)}"])


def _find_model(name: str, base_url: str | None = None) -> "Model":
    from inspect_ai.model import get_model

    try:
        return get_model(name, base_url=base_url, memoize=False)
    except ValueError as problem:
        raise MisstepError(f"{name}: not a model ({problem})") from None


def _build_record(built: BuildResult) -> dict[str, Any]:
    return {
        "folder": str(built.folder),
        "log": built.log,
        "rows": built.draw.rows,
        "usable": built.draw.usable,
        "drawn": len(built.draw.chosen),
        "accepted": len(built.examples),
        "without_error": sum(one.untouched for one in built.examples),
        "rejected": len(built.draw.chosen) - len(built.examples),
    }


class Progress:
    """Progress of a build: accepted and rejected solutions, tokens and cost so far."""

    def __init__(self, wanted: int, console: Console) -> None:
        self._wanted = wanted
        self._console = console
        self._accepted = self._done = 0
        self.usage: dict[str, Any] = {"calls": 0, "input_tokens": 0, "output_tokens": 0}
        self.usage["cost"] = None
        self._rejects: Counter[str] = Counter()

    def add(self, result: InjectionResult) -> None:
        """Count a result."""
        self._done += 1
        self._accepted += result.example is not None
        self._rejects.update({reject.name for reject in result.rejects})
        for name, total in self.usage.items():
            value = getattr(result.spent, name)
            self.usage[name] = total if value is None else (total or 0) + value
        every = max(1, self._wanted // _PROGRESS_LINES)
        if not self._console.is_terminal and self._done % every == 0:
            self._console.print(self._line(), highlight=False)

    def _line(self) -> str:
        calls, tokens_in, tokens_out, cost = self.usage.values()
        return (
            f"{self._done:,} of {self._wanted:,}: {self._accepted:,} accepted, "
            f"{self._done - self._accepted:,} rejected; {calls:,} calls, {tokens_in:,} tokens in, "
            f"{tokens_out:,} out, {'cost unknown' if cost is None else f'${cost:.2f}'}"
        )

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        yield self._line()
        if self._rejects:
            reasons = self._rejects.most_common()
            yield records_table([{"rejected for": name, "solutions": n} for name, n in reasons])
