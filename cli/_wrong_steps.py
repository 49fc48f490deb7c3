"""Wrong steps, named by a critic or reviewed by people: `misstep find` and `misstep review`."""

import sys
from dataclasses import asdict
from pathlib import Path

import click
from rich.console import Console

from misstep.boxes import without_last_box
from misstep.cli._options import (
    count_option,
    json_option,
    log_dir_option,
    max_size_option,
    output_option,
)
from misstep.cli._output import new_table, print_json, print_lines, shown, write_output
from misstep.loaders import write_files
from misstep.registry import MisstepError
from misstep.reports import (
    Agreement,
    DecisionFile,
    ReviewServer,
    RunEstimate,
    agreements,
    check_model,
    default_review_file,
    find_estimate,
    find_folder,
    find_page,
    find_task,
    found_steps,
    left_out_lines,
    review_counts,
    review_items,
    review_lines,
    run_find,
    trust_lines,
)

_WIDTH = 160
"""Characters of a reason in the table."""


@click.command("find")
@click.argument("log", metavar="LOG")
@click.option("--model", help="The critic, a model by its name in Inspect.")
@click.option("--all", "everything", is_flag=True, help="Judge all samples, not only failed ones.")
@click.option(
    "--critic", default="critique", help="Critic: critique, labels, stepwise, or file.py@solver."
)
@count_option("--votes", 1, 1, "Number of votes that decide a critique.")
@count_option("--context", None, 1, "The critic's context in tokens.")
@count_option(
    "--tool-result-chars", None, 1, "Cut the middle out of tool results of over N characters."
)
@output_option("FILE", "Also write a page with the steps and reasons to this file.")
@click.option("--price", "price_only", is_flag=True, help="Print the estimated price and stop.")
@log_dir_option()
@json_option
@max_size_option
def find_errors(
    log: str,
    model: str | None,
    everything: bool,
    critic: str,
    votes: int,
    context: int | None,
    tool_result_chars: int | None,
    output: Path | None,
    price_only: bool,
    log_dir: str,
    as_json: bool,
) -> None:
    """Name the first wrong step of each failed sample in LOG, with the reason.

    LOG is an Inspect log, or a JSONL file whose rows have `messages`. The price is printed before
    the run. Resumable: rerun the same command.
    """
    critic_model = check_model(model)
    arguments = {
        "chosen": "all" if everything else "failed",
        "critic": critic,
        "votes": votes,
        "context": context,
        "tool_result_chars": tool_result_chars,
    }
    console = Console(stderr=as_json)
    task = find_task(log, **arguments)
    left_out = dict((task.metadata or {}).get("left_out", {}))
    need = find_estimate(task, critic_model, critic)
    print_lines(console, [_need(len(task.dataset), need), *left_out_lines(left_out)])
    if price_only:
        return
    folder = f"{log_dir.rstrip('/')}/find/{find_folder(log, critic_model, arguments)}"
    try:
        done = run_find(task, critic_model, folder, display="none" if as_json else None)
    except KeyboardInterrupt:
        click.echo("Interrupted. Finished samples are kept: rerun the same command.", err=True)
        sys.exit(130)
    found, location = found_steps(done), done.location.removeprefix("file://")
    notes = list(trust_lines(critic_model, critic, log_dir))
    if output is not None:
        write_output({output: find_page(done, notes).encode()}, "FILE")
    if as_json:
        samples = [asdict(one) for one in found]
        print_json({"log": location, "trust": notes, "left_out": left_out, "samples": samples})
        return
    table = new_table("sample", "verdict", "reason", words=3)
    for one in found:
        last = one.steps - 1
        verdict = one.verdict if one.step is None else f"step {one.step} (of 0 to {last})"
        reason = _end_of(one.reason) if one.verdict in ("error", "none") else one.reason[:_WIDTH]
        table.add_row(shown(one.id), verdict, shown(" ".join(reason.split())))
    console.print(table)
    print_lines(console, ["", *notes, "", f"Log: {location}"])
    if output is not None:
        print_lines(console, [f"Page: {output}"])


def _end_of(reason: str) -> str:
    """Return the end of a critique, where it says what is wrong, without the box."""
    text = " ".join(without_last_box(reason).split())
    return text if len(text) <= _WIDTH else f"…{text[-_WIDTH:].partition(' ')[2]}"


def _need(transcripts: int, need: RunEstimate | None) -> str:
    if need is None:
        return f"{transcripts:,} transcripts. The calls of your own solver are not known before."
    price = "unknown price" if need.price is None else f"about ${need.price:,.2f}"
    return (
        f"{transcripts:,} transcripts, at most {need.calls:,} calls, about "
        f"{need.prompt_tokens:,} prompt tokens and {need.completion_tokens:,} completion tokens: "
        f"{price}."
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
@click.option(
    "--port", default=0, type=click.IntRange(0, 65535), metavar="N", help="Port. 0: any free one."
)
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
