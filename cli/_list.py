"""What there is to run, and what it takes: `misstep list`, `configs`, `data` and `estimate`."""

import shlex
import sys
from dataclasses import asdict
from pathlib import Path

import click
from rich.console import Console
from rich.padding import Padding
from rich.table import Table

from misstep.cli._options import (
    cost_config_option,
    count_option,
    json_option,
    limit_option,
    log_option,
    max_size_option,
    task_args_option,
)
from misstep.cli._output import new_table, print_json, print_lines, shown
from misstep.loaders import Summary, check_file, fetch, fetch_wording, mirror, summary_of
from misstep.registry import MisstepError, sources, task_arguments
from misstep.reports import (
    RunEstimate,
    comparable_runs,
    dollars,
    estimate_eval,
    estimate_notes,
    eval_sizes,
    measured_completion,
)


@click.command("list")
@click.option("--sources", "of_sources", is_flag=True, help="Print the sources of rows instead.")
@json_option
def list_evals(of_sources: bool, as_json: bool) -> None:
    """Print every eval and variant with its size (default settings).

    With --sources, print every source of rows, and what pin of its files is not known.
    """
    if of_sources:
        _list_sources(as_json)
        return
    sizes = list(eval_sizes())
    if as_json:
        print_json(
            [
                {"eval": name, "description": text, **(size.model_dump() if size else {})}
                for name, text, size in sizes
            ]
        )
        return
    table = new_table("eval", "samples", "tokens")
    for name, description, size in sizes:
        numbers = (f"{size.samples:,}", _tokens(size.tokens)) if size else ()
        table.add_row(f"[bold]{shown(name)}[/bold]", *numbers)
        table.add_row(Padding(shown(description), (0, 0, 0, 2)))
    console = Console()
    console.print(table, highlight=False)
    console.print("\nRun one: inspect eval misstep/<eval> --model <model>", highlight=False)
    lacking = ", ".join(name for name, source in sources().items() if source.lacks)
    console.print(
        f"Sources that lack a revision or a sha256 (misstep list --sources): {shown(lacking)}",
        style="dim",
        highlight=False,
    )


def _list_sources(as_json: bool) -> None:
    records = [
        {
            "source": name,
            "description": source.description,
            "rows": sum(file.rows for file in source.files),
            "revision": source.revision,
            "lacks": source.lacks,
        }
        for name, source in sources().items()
    ]
    if as_json:
        print_json(records)
        return
    table = new_table("source", "rows")
    for record in records:
        table.add_row(f"[bold]{shown(record['source'])}[/bold]", f"{record['rows']:,}")
        table.add_row(Padding(shown(record["description"]), (0, 0, 0, 2)))
        pins = record["lacks"] or "pinned by revision and sha256"
        table.add_row(
            Padding(shown(pins), (0, 0, 0, 2)), style="yellow" if record["lacks"] else "dim"
        )
    Console().print(table, highlight=False)


def _tokens(count: int) -> str:
    """Return an estimated number of tokens, rounded."""
    return f"~{count / 1e6:.1f}M" if count >= 1e6 else f"~{count / 1e3:.0f}k"


@click.command("configs")
@click.argument("name", required=False)
@json_option
def configs(name: str | None, as_json: bool) -> None:
    """List the run configurations, or print the path of the one with this NAME.

    A run configuration has the task arguments and the sampling settings of a published result:

    inspect eval --run-config $(misstep configs NAME) --model MODEL

    Your own ones are the files runs/*.yaml in your registry (MISSTEP_REGISTRY, or
    ~/.config/misstep).
    """
    from misstep.registry import find_run_config, run_configs

    if name is not None:
        click.echo(find_run_config(name).path)
        return
    known = run_configs()
    if as_json:
        print_json(
            [
                {"name": key, "description": config.description, "path": str(config.path)}
                for key, config in known.items()
            ]
        )
        return
    table = new_table("run configuration")
    for key, config in known.items():
        table.add_row(f"[bold]{shown(key)}[/bold]")
        table.add_row(Padding(shown(config.description), (0, 0, 0, 2)))
    console = Console()
    console.print(table, highlight=False)
    console.print(
        "\nRun one: inspect eval --run-config $(misstep configs NAME) --model <model>",
        highlight=False,
        soft_wrap=True,
    )


_MOST_WARNINGS = 20
_BAR = 30
"""Width of the bar of a label that all rows have."""


@click.group()
def data() -> None:
    """Check your own file, or download a registered source."""


@data.command()
@click.argument("file")
@json_option
@max_size_option
def check(file: str, as_json: bool) -> None:
    """List every problem of every bad row of FILE, or summarise FILE if it has none.

    FILE is JSON, JSONL, CSV or Parquet: a local path, or any address that fsspec can read. The
    exit code is 1 if a row is bad.
    """
    rows, bad = check_file(file)
    summary = None if bad else summary_of(rows)
    if as_json:
        problems = [str(problem) for problem in bad]
        print_json({"rows": len(rows), "problems": problems, "summary": summary})
    else:
        console = Console()
        print_lines(console, bad)
        if summary is None:
            console.print(f"{len(bad)} problems; {len(rows)} rows are good.", style="bold red")
        else:
            _print_summary(console, summary)
            print_lines(
                console,
                [f"Run it: inspect eval misstep/processbench -T source={shlex.quote(file)} …"],
            )
    if bad:
        sys.exit(1)


@data.command("fetch")
@click.argument("source")
@click.option("--wording", is_flag=True, help="Save the published prompts instead of the rows.")
def fetch_source(source: str, wording: bool) -> None:
    """Save SOURCE in the offline mirror, and check it.

    The mirror is the folder that MISSTEP_DATA names, or a folder in your cache folder. Resumable:
    rerun the same command after a broken download.
    """
    for path in fetch_wording(source) if wording else fetch(source):
        click.echo(f"{path}  checked")
    click.echo(f"The offline mirror is {mirror()}. Set MISSTEP_DATA to it on other machines.")


def _print_summary(console: Console, summary: Summary) -> None:
    table = Table(box=None, show_header=False, pad_edge=False)
    table.add_column(style="bold", no_wrap=True)
    table.add_column(overflow="fold")
    table.add_row("rows", f"{summary.rows:,}")
    table.add_row("with an error", f"{summary.errors:,} ({summary.errors / summary.rows:.1%})")
    for name, spread in (("steps", summary.steps), ("characters", summary.characters)):
        table.add_row(
            name,
            f"{spread.least:,} to {spread.greatest:,}, median {spread.median:,.0f}, "
            f"mean {spread.mean:,.1f}",
        )
    for subset, count in summary.subsets.items():
        table.add_row("subset", f"{shown(subset)} ({count:,})")
    for label, count in summary.labels.items():
        table.add_row(
            "no error" if label < 0 else f"first error at {label}",
            f"{count:>5,} {'▇' * round(_BAR * count / summary.rows)}",
        )
    console.print(table, highlight=False)
    places = summary.control_characters[:_MOST_WARNINGS]
    print_lines(
        console, (f"Warning: {place}: a lost backslash?" for place in places), style="yellow"
    )


@click.command("estimate")
@click.argument("eval_name", metavar="EVAL")
@click.option("--model", required=True, help="Model, in the syntax of `inspect eval --model`.")
@task_args_option
@limit_option
@count_option(
    "--completion", None, 1, "Tokens of one completion. Default: what the registry assumes."
)
@log_option("Use the mean length of completions in this log or folder of logs. Repeatable.")
@click.option(
    "--like",
    metavar="LOG",
    help="Take completions as long as the mean in this log, of any eval and model.",
)
@click.option(
    "--model-role",
    "roles",
    multiple=True,
    metavar="ROLE[=MODEL]",
    help="Role of another model that the task calls. Repeatable.",
)
@cost_config_option
@json_option
def estimate_run(
    eval_name: str,
    model: str,
    task_args: tuple[str, ...],
    limit: tuple[int, int] | None,
    completion: int | None,
    logs: tuple[str, ...],
    like: str | None,
    roles: tuple[str, ...],
    model_cost_config: Path | None,
    as_json: bool,
) -> None:
    """Print the samples, calls, tokens and price of a run of EVAL.

    No model is called. A dry run sends the task's own samples through its solver with a model that
    only counts, so the prompts are those of the real run.
    """
    if like and (completion or logs):
        raise MisstepError("--like sets the length of completions, as --completion and --log do.")
    completion = measured_completion(like) if like else completion
    arguments = task_arguments(task_args)
    runs = comparable_runs(logs, eval_name, model, arguments) if logs else []
    names = [role.partition("=")[0] for role in roles]
    result = estimate_eval(
        eval_name, arguments, model, limit, names, completion, runs, model_cost_config
    )
    notes = list(estimate_notes(arguments, result))
    if logs and not runs:
        notes.append("None of the logs is a run of this eval and model with the same arguments.")
    if as_json:
        print_json(asdict(result) | {"tokens": result.tokens, "notes": notes})
    else:
        _print(Console(), result, notes)


def _print(console: Console, result: RunEstimate, notes: list[str]) -> None:
    table = Table(box=None, show_header=False, pad_edge=False)
    table.add_column(style="bold", no_wrap=True)
    table.add_column(justify="right", no_wrap=True)
    table.add_column(overflow="fold")
    table.add_row("samples", f"{result.samples:,}", "")
    table.add_row("calls", f"{result.calls:,}", f"{result.completions:,} completions")
    about = "" if result.prompt_exact else "~"
    table.add_row("prompt tokens", f"{about}{result.prompt_tokens:,}", shown(result.prompt_rule))
    table.add_row(
        "completion tokens", f"~{result.completion_tokens:,}", shown(result.completion_rule)
    )
    table.add_row("tokens", f"~{result.tokens:,}", "")
    source = result.price_source or "no price is known: --model-cost-config FILE"
    price = f"~{dollars(result.price)}" if result.price_source else "?"
    table.add_row("price", price, shown(source))
    print_lines(console, [f"{result.task} with {result.model}"])
    console.print(table, highlight=False)
    print_lines(console, notes, style="yellow")
