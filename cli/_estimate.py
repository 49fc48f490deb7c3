"""`misstep estimate`: what a run will take, before it is made."""

from dataclasses import asdict
from pathlib import Path

import click
from rich.console import Console
from rich.table import Table

from misstep.cli._options import (
    cost_config_option,
    count_option,
    json_option,
    limit_option,
    log_option,
    task_args_option,
)
from misstep.cli._output import print_json, print_lines, shown
from misstep.registry import MisstepError, task_arguments
from misstep.reports import (
    RunEstimate,
    comparable_runs,
    dollars,
    estimate_eval,
    estimate_notes,
    measured_completion,
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
