"""`misstep power`: how many samples show a difference, and which difference a set can show."""

import click
from rich.console import Console

from misstep.cli._options import json_option, task_args_option
from misstep.cli._output import print_json, print_table
from misstep.registry import MisstepError, task_arguments
from misstep.reports import (
    ALPHA,
    POWER,
    Aim,
    SampleGroup,
    groups_of_dataset,
    groups_of_runs,
    load_task,
    needed_samples,
    percent,
    power_method,
    power_table,
    read_run,
    smallest_gains,
)

_Share = click.FloatRange(0, 1, min_open=True, max_open=True)


@click.command("power")
@click.argument("what", nargs=-1, metavar="[EVAL | LOG [LOG]]")
@click.option("--accuracies", nargs=2, type=_Share, help="Two accuracies to tell apart.")
@click.option("--accuracy", type=_Share, help="Accuracy to improve on. Default: the log's, or 0.5.")
@click.option("--agree", type=_Share, help="Share of samples that both runs have right or wrong.")
@task_args_option
@click.option("--alpha", default=ALPHA, type=_Share, help="Level of the test.")
@click.option("--power", default=POWER, type=_Share, help="Wanted power.")
@json_option
def power_of(
    what: tuple[str, ...],
    accuracies: tuple[float, float] | None,
    accuracy: float | None,
    agree: float | None,
    task_args: tuple[str, ...],
    alpha: float,
    power: float,
    as_json: bool,
) -> None:
    """Print how many samples show a difference.

    Or print the smallest difference that a set of samples can show.

    misstep power --accuracies 0.60 0.65; misstep power processbench.gsm8k --accuracy 0.7;
    misstep power A.eval B.eval
    """
    if not what and not accuracies:
        raise MisstepError(
            "Nothing to compute: give --accuracies A B, an eval, or one or two logs."
        )
    aim = Aim(alpha, power)
    discordance = None if agree is None else 1 - agree
    needed = list(needed_samples(accuracies, aim, discordance)) if accuracies else []
    groups = _groups(what, task_args, accuracy, discordance) if what else []
    gains = list(smallest_gains(groups, aim))
    if as_json:
        print_json({"alpha": alpha, "power": power, "needed": needed, "set": gains})
        return
    console = Console()
    if accuracies:
        first, second = map(percent, accuracies)
        title = f"Samples needed to tell {first} from {second}"
        print_table(console, power_table(title, needed))
    if gains:
        title = f"Smallest gain that {' and '.join(what)} can show, in percentage points"
        print_table(console, power_table(title, gains))
    console.print(f"\n{power_method(aim)}", highlight=False)


def _groups(
    what: tuple[str, ...],
    task_args: tuple[str, ...],
    accuracy: float | None,
    discordance: float | None,
) -> list[SampleGroup]:
    if what[0].endswith((".eval", ".json")):
        if len(what) > 2:
            raise MisstepError(f"{len(what)} logs: give one or two.")
        return groups_of_runs([read_run(log) for log in what], accuracy, discordance)
    if len(what) > 1:
        raise MisstepError(f"{' '.join(what)}: give one eval, or one or two logs.")
    task = load_task(what[0], task_arguments(task_args))
    facts = [(sample.id, sample.metadata or {}) for sample in task.dataset]
    samples = [(bool(own.get("has_error")), str(own.get("cluster") or id)) for id, own in facts]
    return groups_of_dataset(samples, accuracy, discordance)
