"""`misstep find`: where did one's own agents first go wrong?"""

import sys
from dataclasses import asdict
from pathlib import Path

import click
from rich.console import Console

from misstep.boxes import without_last_box
from misstep.cli._options import json_option, log_dir_option, max_size_option
from misstep.cli._output import new_table, print_json, print_lines, shown, write_output
from misstep.reports import (
    RunEstimate,
    check_model,
    find_estimate,
    find_folder,
    find_page,
    find_task,
    found_steps,
    left_out_lines,
    run_find,
    trust_lines,
)

_WIDTH = 160
"""Characters of a reason in the table."""


@click.command("find")
@click.argument("log", metavar="LOG")
@click.option("--model", help="The critic, a model by its name in Inspect.")
@click.option("--all", "everything", is_flag=True, help="Look at all samples, not the failed ones.")
@click.option(
    "--critic", default="critique", help="Critic: critique, labels, stepwise, or file.py@solver."
)
@click.option("--votes", default=1, type=click.IntRange(1), help="Votes that decide a critique.")
@click.option("--context", type=click.IntRange(1), help="The critic's context in tokens.")
@click.option(
    "--tool-result-chars", type=click.IntRange(1), help="Cut the middle out of longer tool results."
)
@click.option(
    "-o", "--output", type=click.Path(path_type=Path), metavar="FILE", help="Write a page."
)
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
