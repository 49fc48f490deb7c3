"""`misstep power`: how many samples show a difference, how large a difference a set shows."""

from collections.abc import Iterator
from dataclasses import dataclass

import click
from rich.console import Console
from rich.table import Table

from misstep.registry import MisstepError, task_arguments
from misstep.reports import Run, compare, load_task, read_run
from misstep.reports._power import (
    ALPHA,
    EXACT_UP_TO,
    POWER,
    Aim,
    independent_discordance,
    paired_samples,
    smallest_difference,
    smallest_f1_difference,
    unpaired_samples,
)
from misstep.reports._written import UNDEFINED, json_text, percent

_Share = click.FloatRange(0, 1, min_open=True, max_open=True)


@dataclass(frozen=True)
class Part:
    """A part of a set of samples."""

    name: str
    samples: int
    accuracy: float
    discordance: float | None = None
    """The share of samples that just one of two runs has right, where that was seen."""


@click.command("power")
@click.argument("what", nargs=-1, metavar="[EVAL | LOG [LOG]]")
@click.option("--accuracies", nargs=2, type=_Share, help="Two accuracies to tell apart.")
@click.option("--accuracy", type=_Share, help="To improve on; a log's own, or 0.5.")
@click.option("--agree", type=_Share, help="The share of samples that both have right or wrong.")
@click.option("-T", "given", multiple=True, metavar="NAME=VALUE", help="An argument of EVAL.")
@click.option("--alpha", default=ALPHA, show_default=True, type=_Share, help="The test's level.")
@click.option("--power", default=POWER, show_default=True, type=_Share, help="The power wanted.")
@click.option("--format", "form", default="table", type=click.Choice(["table", "json"]))
def power_of(
    what: tuple[str, ...],
    accuracies: tuple[float, float] | None,
    accuracy: float | None,
    agree: float | None,
    given: tuple[str, ...],
    alpha: float,
    power: float,
    form: str,
) -> None:
    """How many samples show a difference of accuracies; how large a difference a set can show.

    misstep power --accuracies 0.60 0.65; misstep power processbench.gsm8k --accuracy 0.7;
    misstep power A.eval B.eval
    """
    if not what and not accuracies:
        raise MisstepError(
            "Nothing to work out: give --accuracies A B, or an eval, or one or two logs."
        )
    aim = Aim(alpha, power)
    discordance = None if agree is None else 1 - agree
    needed = list(_needed(accuracies, aim, discordance)) if accuracies else []
    shown = list(_shown(_parts(what, given, accuracy, discordance), aim)) if what else []
    if form == "json":
        click.echo(json_text({"alpha": alpha, "power": power, "needed": needed, "set": shown}))
        return
    console = Console()
    if accuracies:
        title = f"Samples needed to tell {percent(accuracies[0])} from {percent(accuracies[1])}"
        _print(console, title, needed)
    if shown:
        _print(console, f"The smallest gain that {' and '.join(what)} can show, in points", shown)
    console.print(_method(aim), highlight=False)


def _needed(
    accuracies: tuple[float, float], aim: Aim, discordance: float | None
) -> Iterator[dict[str, object]]:
    first, second = accuracies
    if first == second:
        raise MisstepError(f"--accuracies {first} {second}: there is no difference to see.")
    yield {"design": "different samples, each run", "samples": unpaired_samples(*accuracies, aim)}
    free = independent_discordance(first, second)
    yield {
        "design": f"the same samples, hits independent ({percent(1 - free)} agree)",
        "samples": paired_samples(first, second, aim),
    }
    if discordance is not None:
        yield {
            "design": f"the same samples, {percent(1 - discordance)} agree",
            "samples": paired_samples(first, second, aim, discordance),
        }


def _parts(
    what: tuple[str, ...],
    given: tuple[str, ...],
    accuracy: float | None,
    discordance: float | None,
) -> list[Part]:
    if what[0].endswith((".eval", ".json")):
        if len(what) > 2:
            raise MisstepError(f"{len(what)} logs: one or two are wanted.")
        return list(_parts_of_runs([read_run(log) for log in what], accuracy, discordance))
    if len(what) > 1:
        raise MisstepError(f"{' '.join(what)}: wanted is one eval, or one or two logs.")
    task = load_task(what[0], task_arguments(given))
    errors = [bool((sample.metadata or {}).get("has_error")) for sample in task.dataset]
    counts = {"with an error": sum(errors), "without an error": len(errors) - sum(errors)}
    base = accuracy if accuracy is not None else 0.5
    parts = [Part(name, n, base, discordance) for name, n in counts.items()]
    whole = Part("all", len(errors), base, discordance)
    return [*parts, whole] if 0 < sum(errors) < len(errors) else [whole]


def _parts_of_runs(
    runs: list[Run], accuracy: float | None, discordance: float | None
) -> Iterator[Part]:
    seen: dict[str, float] = {}
    if len(runs) == 2:
        for contrast in compare(runs, common=True).contrasts:
            if contrast.only_first is not None and contrast.only_second is not None:
                differing = contrast.only_first + contrast.only_second
                seen[contrast.figure] = differing / contrast.samples
    run = runs[0]
    scorer = run.scorer()
    names = {"with an error": "error_accuracy", "without an error": "correct_accuracy"}
    if run.kind != "first_error":
        names = {}
    for name, figure in {**names, "all": "accuracy"}.items():
        among = [s for s in run.scored if name == "all" or s.has_error == (name[:5] != "witho")]
        if among:
            own = sum(sample.scores[scorer].hit for sample in among) / len(among)
            share = discordance if discordance is not None else seen.get(figure)
            yield Part(name, len(among), accuracy if accuracy is not None else own, share)


def _shown(parts: list[Part], aim: Aim) -> Iterator[dict[str, object]]:
    for part in parts:
        yield {
            "part": part.name,
            "samples": part.samples,
            "accuracy": part.accuracy,
            "different_samples": smallest_difference(
                part.accuracy, part.samples, aim, paired=False
            ),
            "same_samples": smallest_difference(part.accuracy, part.samples, aim),
            "same_samples_as_seen": None
            if part.discordance is None
            else smallest_difference(part.accuracy, part.samples, aim, part.discordance),
        }
    if len(parts) == 3:
        yield _f1(parts, aim)


def _f1(parts: list[Part], aim: Aim) -> dict[str, object]:
    error, correct, whole = parts
    accuracies, samples = (error.accuracy, correct.accuracy), (error.samples, correct.samples)
    known = (error.discordance, correct.discordance)
    total = error.accuracy + correct.accuracy
    return {
        "part": "F1",
        "samples": whole.samples,
        "accuracy": 2 * error.accuracy * correct.accuracy / total if total else 0.0,
        "different_samples": smallest_f1_difference(accuracies, samples, aim, paired=False),
        "same_samples": smallest_f1_difference(accuracies, samples, aim),
        "same_samples_as_seen": smallest_f1_difference(accuracies, samples, aim, known)  # type: ignore[arg-type]
        if None not in known
        else None,
    }


def _print(console: Console, title: str, rows: list[dict[str, object]]) -> None:
    table = Table(title=title, title_justify="left", header_style="bold")
    kept = [name for name in rows[0] if any(row[name] is not None for row in rows)]
    for name in kept:
        words = name in ("design", "part")
        table.add_column(name.replace("_", " "), justify="left" if words else "right")
    for row in rows:
        table.add_row(*map(_cell, (row[name] for name in kept)))
    console.print(table)


def _cell(value: object) -> str:
    if isinstance(value, float):
        return percent(value)
    return UNDEFINED if value is None else f"{value:,}" if isinstance(value, int) else str(value)


def _method(aim: Aim) -> str:
    return (
        f"Two-sided tests at {aim.alpha:g}, power {aim.power:g}. Different samples: the normal "
        "test of two shares. The same samples: McNemar's exact test, its power summed over all "
        f"outcomes (approximated beyond {EXACT_UP_TO:,} samples). F1: the delta method. Hits are "
        "taken to be independent unless the agreement is given or seen in two logs; runs mostly "
        "agree more, and then show smaller differences."
    )
