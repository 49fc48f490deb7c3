"""`misstep forge build`: a set from a corpus, shown as it grows."""

from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.live import Live
from rich.markup import escape
from rich.table import Table

from misstep.cli._forge_options import min_steps_option, source_option
from misstep.cli._forge_progress import Progress
from misstep.forge import (
    LATE_FRACTION,
    Built,
    Calls,
    Order,
    build_set,
    push_to_hub,
    read_mix,
    source_rows,
)
from misstep.registry import MisstepError, printable
from misstep.runs import keep_what_is_loaded

_SHARE = click.FloatRange(0, 1)


@click.command()
@source_option
@click.option("--num-examples", default=1000, show_default=True, type=click.IntRange(min=1))
@click.option("--model", required=True, help="Who injects, as Inspect names models.")
@click.option("--reviewer", help="A second model that confirms each error.")
@click.option(
    "-o",
    "--output",
    required=True,
    type=click.Path(file_okay=False, path_type=Path),
    help="The folder of the build. The same command with the same folder goes on with it.",
)
@min_steps_option
@click.option(
    "--injection-rate",
    default=1.0,
    show_default=True,
    type=_SHARE,
    help="The share of solutions that get an error; the rest is left untouched, label -1.",
)
@click.option(
    "--late-fraction",
    default=LATE_FRACTION,
    show_default=True,
    type=click.FloatRange(0, 1, min_open=True),
    help="The part of a solution, from its end, in which the error is.",
)
@click.option("--temperature", default=0.7, show_default=True, type=click.FloatRange(min=0))
@click.option("--seed", default=42, show_default=True, help="Of the draw and of the injector.")
@click.option(
    "--error-types",
    help="Only these, with commas. With weights, a=2,b=1, one is drawn for each solution; "
    "without, the injector chooses.",
)
@click.option("--max-tokens", default=8192, show_default=True, type=click.IntRange(min=1))
@click.option(
    "--max-attempts",
    default=3,
    show_default=True,
    type=click.IntRange(min=1),
    help="How often a solution is asked for, each time with what was wrong before.",
)
@click.option("--max-connections", default=32, show_default=True, type=click.IntRange(min=1))
@click.option("--max-retries", default=8, show_default=True, type=click.IntRange(min=0))
@click.option("--timeout", type=click.IntRange(min=1), help="Seconds that one call may take.")
@click.option("--model-base-url", help="Where the injector answers.")
@click.option("--model-cost-config", help="A YAML or JSON file of prices, as Inspect takes it.")
@click.option("--push-to-hub", "repository", help="Upload to this data set of the hub, owner/name.")
def build(
    source: str,
    num_examples: int,
    model: str,
    reviewer: str | None,
    output: Path,
    error_types: str | None,
    max_connections: int,
    max_retries: int,
    timeout: int | None,
    model_base_url: str | None,
    model_cost_config: str | None,
    repository: str | None,
    **settings: Any,  # noqa: ANN401
) -> None:
    """Build a set of worked solutions with an injected late error.

    So many solutions are drawn; those whose error passes every check are written, and the reasons
    of the others are counted. Kill it at any moment: the same command goes on, and pays no answer
    twice.
    """
    from inspect_ai.model import get_model

    order = Order(
        num_examples=num_examples,
        error_types=read_mix(error_types),
        reviewed=reviewer is not None,
        **settings,
    )
    calls = Calls(max_connections, timeout, max_retries, model_cost_config)
    injector = get_model(model, base_url=model_base_url, memoize=False)
    reviewing = get_model(reviewer, memoize=False) if reviewer else None
    console = Console()
    progress = Progress(num_examples, console)
    rows = source_rows(source, order)
    keep_what_is_loaded()
    with Live(progress, console=console, refresh_per_second=2, transient=True):
        built = build_set(source, rows, order, injector, reviewing, output, calls, progress.add)
    console.print(progress)
    _tell(console, built)
    failed = sum(count for name, count in built.rejects.items() if name.startswith("call: "))
    if failed:
        console.print(
            f"The calls for {failed:,} solutions failed; the same command makes them again.",
            style="yellow",
        )
    if not built.examples:
        raise MisstepError(f"{output}: not one example was accepted; rejects.jsonl tells why.")
    if repository:
        console.print(f"Uploaded: {push_to_hub(output, repository)}", highlight=False)


def _tell(console: Console, built: Built) -> None:
    drawn = built.drawn
    untouched = sum(one.untouched for one in built.examples)
    table = Table(box=None, show_header=False, pad_edge=False)
    table.add_row("rows", f"{drawn.rows:,}, of which {drawn.usable:,} can be used")
    table.add_row("drawn", f"{len(drawn.chosen):,}")
    table.add_row("accepted", f"{len(built.examples):,}, of which {untouched:,} untouched")
    table.add_row("log", escape(printable(built.log)))
    console.print(table, highlight=False)
    for name in ("adversarial.jsonl", "adversarial.parquet", "rejects.jsonl", "README.md"):
        console.print(str(built.folder / name), highlight=False, soft_wrap=True)
