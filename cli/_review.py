"""`misstep review`: a page on which people review labels."""

from pathlib import Path

import click
from rich.console import Console

from misstep.cli._options import json_option
from misstep.cli._output import new_table, print_json, print_lines, shown
from misstep.loaders import write_files
from misstep.registry import MisstepError
from misstep.reports import (
    Agreement,
    DecisionFile,
    ReviewServer,
    agreements,
    default_review_file,
    review_counts,
    review_items,
    review_lines,
)


@click.command("review")
@click.argument("sources", nargs=-1, required=True, metavar="FOLDER|FILE|LOG...")
@click.option("--blind", is_flag=True, help="Hide labels, originals and critics from annotators.")
@click.option("--adjudicate", is_flag=True, help="Decide the items that annotators disagree on.")
@click.option("--agreement", is_flag=True, help="Print progress and agreement, and serve no page.")
@click.option(
    "--export",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Write the reviewed rows as JSONL, and serve no page.",
)
@click.option(
    "--decisions",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="File of the decisions. Default: reviews.jsonl in FOLDER, or FILE.reviews.jsonl here.",
)
@click.option("--port", default=0, type=click.IntRange(0, 65535), help="Port. 0: any free one.")
@click.option("--open/--no-open", "browse", default=True, help="Open the page in the browser.")
@json_option
def review(
    sources: tuple[str, ...],
    blind: bool,
    adjudicate: bool,
    agreement: bool,
    export: Path | None,
    decisions: Path | None,
    port: int,
    browse: bool,
    as_json: bool,
) -> None:
    """Review labels on a page of this machine, by keyboard.

    Items are those of a folder of `misstep forge build`, of a file of first-error rows, or of logs
    of critics. Rows where several critics agree against the label come first. Each decision is on
    disk when its key is released: stop at any time, and rerun the command to resume.

    Several people review the same items under their names. With --blind they see no label. Then
    --agreement prints Cohen's kappa and Krippendorff's alpha, --adjudicate shows disagreements, and
    --export writes ProcessBench's rows with the final labels and who decided them.
    """
    items = review_items(sources)
    kept = DecisionFile(decisions or default_review_file(sources))
    console = Console(quiet=as_json)
    if export:
        rows = review_lines(items, kept)
        if not rows:
            raise MisstepError(f"{export}: no reviewed row to write. Review items first.")
        write_files({export: rows}, "Choose a writable file.")
    if agreement or export or as_json:
        counts = review_counts(items, kept)
        found = agreements(kept)
        if as_json:
            print_json({**counts, "agreement": [_record(one) for one in found]})
            return
        print_lines(
            console, (f"{name.replace('_', ' ')}: {value}" for name, value in counts.items())
        )
        table = new_table("agreement", "items", "same", "value", "95% interval", words=1)
        for one in found:
            value = one.estimate
            interval = f"{value.lower:.3f} to {value.upper:.3f}"
            same = f"{one.same:,}"
            table.add_row(shown(one.name), f"{one.items:,}", same, f"{value.value:.3f}", interval)
        if found:
            console.print(table)
        if export:
            print_lines(console, [export])
        return
    server = ReviewServer(items, kept, port, blind, adjudicate)
    click.echo(f"{len(items):,} items. Open this address, and stop with Ctrl-C:\n{server.address}")
    if browse:
        click.launch(server.address)
    try:
        server.serve_forever(poll_interval=0.2)
    except KeyboardInterrupt:
        pass
    finally:
        server.server_close()


def _record(one: Agreement) -> dict[str, object]:
    value = one.estimate
    return {
        "name": one.name,
        "items": one.items,
        "same": one.same,
        "value": value.value,
        "lower": value.lower,
        "upper": value.upper,
    }
