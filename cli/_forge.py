"""`misstep forge`: sets of worked solutions with an injected error."""

import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from rich.console import Console, ConsoleOptions, RenderResult
from rich.live import Live
from rich.table import Table

from misstep.cli._options import (
    cost_config_option,
    count_option,
    json_option,
    log_option,
    output_option,
    show_option,
)
from misstep.cli._output import new_table, print_json, print_lines, records_table, shown
from misstep.forge import (
    AUTOMATIC_CHECKS,
    LATE_FRACTION,
    MIN_STEPS,
    OFFLINE,
    Audit,
    BuildResult,
    BuildSettings,
    CallSettings,
    InjectionResult,
    SolutionCounts,
    analyse,
    audit,
    build_set,
    push_to_hub,
    read_error_types,
    source_rows,
)
from misstep.loaders import write_files
from misstep.registry import MisstepError
from misstep.reports import (
    FORGE_REPORT_EXAMPLES,
    forge_report_markdown,
    forge_report_page,
    read_forge_report,
    run_critic,
    save_chart,
    step_counts_chart,
)
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
    count_option("--votes", 3, 1, "Number of votes of the blind review of each solution."),
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


@click.group()
def forge() -> None:
    """Build, check and show sets of solutions with an injected error."""


@forge.command()
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


@forge.command()
@corpus_option
@min_steps_option
@output_option("FILE", "Draw the steps by source to this file: .svg, .png, .html or .json.")
@json_option
def analyze(source: str, min_steps: int, output: Path | None, as_json: bool) -> None:
    """Print the structure, lengths and steps of worked solutions, by source.

    Rows are streamed: memory does not grow with their number.
    """
    analysis = analyse(source_rows(source, BuildSettings(min_steps=min_steps)), min_steps)
    if output:
        save_chart(step_counts_chart(analysis, min_steps), output)
    groups = {**dict(sorted(analysis.sources.items())), "all": analysis.everything}
    sources = [_group_record(name, group, min_steps) for name, group in groups.items()]
    counts = {"split_by": analysis.everything.structures, "left_out": analysis.everything.left_out}
    if as_json:
        print_json({"min_steps": min_steps, "sources": sources, **counts})
        return
    console = Console()
    console.print(records_table(sources))
    for heading, counted in counts.items():
        records = [{heading: str(name), "rows": count} for name, count in counted.most_common()]
        if records:
            console.print(records_table(records))
    if output:
        print_lines(console, [output])


@forge.command()
@click.argument("file")
@click.option("--details", is_flag=True, help="Print every failure of every example.")
@json_option
def check(file: str, details: bool, as_json: bool) -> None:
    """Run all quality checks on the examples of FILE, from here or from elsewhere.

    FILE is JSON, JSONL, CSV or Parquet. The exit code is 1 if an example fails.
    """
    result = audit(file)
    failed = len(result.failures) + len({problem.number for problem in result.bad})
    total = failed + len(result.examples) - len(result.failures)
    failures = [
        {"example": name, "check": one.stage, "reason": one.reason, "detail": one.detail}
        for name, found in result.failures.items()
        for one in found
    ]
    if as_json:
        print_json(
            {
                "examples": total,
                "passed": total - failed,
                "by_check": {name: result.by_check[name] for name in AUTOMATIC_CHECKS},
                "bad_rows": list(map(str, result.bad)),
                "failures": failures,
            }
        )
    else:
        console = Console()
        print_lines(console, result.bad)
        if details:
            lines = ("{example}: {check}: {reason}: {detail}".format(**one) for one in failures)
            print_lines(console, lines)
        console.print(_failures_table(result))
        console.print(
            f"{total - failed} of {total} examples pass every check.",
            style="bold green" if result.passed else "bold red",
        )
    if not result.passed:
        sys.exit(1)


@forge.command()
@click.argument("folder", type=click.Path(file_okay=False, path_type=Path))
@log_option("Log of a critic that ran on the set. Repeatable.")
@show_option(FORGE_REPORT_EXAMPLES, "examples side by side")
def report(folder: Path, logs: tuple[str, ...], show: int) -> None:
    """Write report.md and report.html on the set in FOLDER.

    The report has the types and positions of the errors, the reasons for rejects, and original and
    modified steps side by side with the changed text marked. With logs of critics it has the share
    of errors that they found, by type and position. The page needs no network.
    """
    content = read_forge_report(folder, logs)
    contents = {
        folder / "report.md": forge_report_markdown(content, show).encode(),
        folder / "report.html": forge_report_page(content, show).encode(),
    }
    write_files(contents, "Make the folder writable.")
    for path in contents:
        click.echo(str(path))


@forge.command()
@build_command
@click.option("--critic", default="critique", help="Critic that runs on the set, as in the eval.")
@click.option("--critic-model", help="Model of the critic. Default: the injecting model.")
def make(
    critic: str,
    critic_model: str | None,
    **settings: Any,  # noqa: ANN401
) -> None:
    """Make a set with all its parts: analysis, build, review, card, critic, report.

    The folder gets steps.svg (the analysis of the source), the built set with its card, the log of
    one critic, and report.md and report.html, which say which types of error the critic finds
    least, and where.

    Resumable: rerun the same command after a kill. No answer is paid for twice.
    """
    context = click.get_current_context()
    folder: Path = settings["output"]
    context.invoke(build, as_json=False, **settings)
    chart = folder / "steps.svg"
    if not chart.is_file():
        source, min_steps = settings["source"], settings["min_steps"]
        limits = BuildSettings(min_steps=min_steps, num_examples=settings["num_examples"])
        save_chart(
            step_counts_chart(analyse(source_rows(source, limits), min_steps), min_steps), chart
        )
        click.echo(str(chart))
    log = run_critic(
        folder,
        critic,
        critic_model or settings["model"],
        settings["model_base_url"] if critic_model is None else None,
        settings["max_connections"],
    )
    click.echo(log)
    context.invoke(report, folder=folder, logs=(log,), show=FORGE_REPORT_EXAMPLES)
    for sentence in read_forge_report(folder, [log]).findings:
        click.echo(sentence)


def _failures_table(result: Audit) -> Table:
    table = new_table("check", "reason", "examples", words=2)
    for name in AUTOMATIC_CHECKS:
        table.add_row(name, "", f"{result.by_check[name]:,}", style="bold")
        for (check_name, reason), count in result.by_reason.most_common():
            if check_name == name:
                table.add_row("", shown(reason), f"{count:,}")
    return table


def _group_record(name: str, group: SolutionCounts, min_steps: int) -> dict[str, Any]:
    return {
        "source": name,
        "rows": group.rows,
        "usable": group.usable,
        "long_enough": sum(n for steps, n in group.steps.items() if steps >= min_steps),
        "median_steps": group.median_steps,
        "most_steps": max(group.steps, default=0),
        "mean_characters": group.mean_characters,
    }
