"""Questions of statistics: `misstep compare`, `power`, `threshold`, `best-of-n` and `calibrate`."""

from pathlib import Path
from typing import Literal, get_args

import click
from rich.console import Console

from misstep.cli._options import (
    count_option,
    json_option,
    max_size_option,
    output_option,
    reading_option,
    show_option,
    task_args_option,
)
from misstep.cli._output import (
    print_json,
    print_lines,
    print_table,
    records_table,
    shown,
    write_output,
)
from misstep.loaders import recorded_solutions
from misstep.plain_text import printable
from misstep.registry import MisstepError, task_arguments
from misstep.reports import (
    ALPHA,
    CROSS_VALIDATION,
    POWER,
    RESAMPLES,
    Aim,
    Comparison,
    Draws,
    SampleGroup,
    TunedThreshold,
    ability_on,
    best_of_n,
    best_of_n_chart,
    best_of_n_notes,
    best_of_n_records,
    best_of_n_tables,
    calibrate,
    calibration_records,
    chart_bytes,
    compare,
    comparison_json,
    comparison_markdown,
    comparison_method,
    comparison_notes,
    contrast_tables,
    critic_records,
    csv_text,
    differing_table,
    file_name,
    groups_of_dataset,
    groups_of_runs,
    json_text,
    judge_solutions,
    label_conflicts,
    load_task,
    needed_samples,
    percent,
    power_method,
    power_table,
    rank_agreement,
    read_run,
    responses_of,
    reward_rows,
    row_records,
    run_lines,
    short_set,
    smallest_gains,
    some_ids,
    threshold_charts,
    threshold_method,
    threshold_records,
    tune_threshold,
)


@click.command("compare")
@click.argument("logs", nargs=-1, required=True, metavar="LOG LOG...")
@reading_option("strict", "lenient", "published")
@click.option("--common", is_flag=True, help="Compare only the samples that all logs have.")
@click.option(
    "--margin",
    type=click.FloatRange(0, 1, min_open=True),
    help="Test whether the second run of a pair is worse by less than this, e.g. 0.02.",
)
@click.option("--metric", help="Test only this metric. Default: all; of more than 4 runs, F1.")
@count_option("--resamples", RESAMPLES, 100, "Number of resamples and of permutations.")
@show_option(20, "samples on which the runs differ")
@click.option("--markdown", is_flag=True, help="Print Markdown, not a table.")
@json_option
@max_size_option
def compare_runs(
    logs: tuple[str, ...],
    reading: str,
    common: bool,
    margin: float | None,
    metric: str | None,
    resamples: int,
    show: int,
    markdown: bool,
    as_json: bool,
) -> None:
    """Compare runs on the same samples, in pairs.

    LOGs are finished logs of one eval, version and data. Accuracies are compared by McNemar's exact
    test, F1 and samples in clusters by a paired permutation test.
    """
    runs = [read_run(log) for log in logs]
    comparison = compare(runs, reading, common, resamples, margin, metric)
    if as_json:
        print_json(comparison_json(comparison))
    elif markdown:
        click.echo(comparison_markdown(comparison, show), nl=False)
    else:
        _print(Console(), comparison, show)


def _print(console: Console, comparison: Comparison, show: int) -> None:
    print_lines(console, run_lines(comparison))
    for table in contrast_tables(comparison):
        console.print()
        print_table(console, table)
    console.print()
    console.print(shown(comparison_method(comparison)), highlight=False)
    for note in comparison_notes(comparison):
        console.print(f"\n{shown(note)}", style="yellow", highlight=False)
    count = len(comparison.differing)
    if count and show:
        console.print()
        print_table(console, differing_table(comparison, show))
    else:
        console.print(f"They differ on {count:,} samples.", highlight=False)


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
@max_size_option
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
        of = what[0]
        if of.endswith((".eval", ".json")):
            of = "this log" if len(what) == 1 else "these logs"
        title = f"Smallest gain that {of} can show, in percentage points"
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


@click.command()
@click.argument("logs", nargs=-1, required=True, metavar="LOG...")
@click.option(
    "--tune",
    default="gsm8k",
    metavar=f"SUBSET|{CROSS_VALIDATION}",
    help="Subset on which the threshold is chosen, or cross-validation within each subset.",
)
@output_option("FOLDER", "Folder for the curves, as charts and as data.")
@json_option
@max_size_option
def threshold(logs: tuple[str, ...], tune: str, output: Path | None, as_json: bool) -> None:
    """Tune the threshold of first-error LOGs that have rewards.

    The threshold with the best F1 on one subset is applied to the others, as the ProcessBench paper
    does with gsm8k. With cross-validation, the threshold of each sample is tuned on other samples
    of its subset. Logs of one model are joined. No model is called.
    """
    tuned = [tune_threshold(model, rows, tune) for model, rows in reward_rows(logs).items()]
    console = Console()
    if as_json:
        print_json([of_model.summary() for of_model in tuned])
    for of_model in tuned:
        if not as_json:
            for table in of_model.tables():
                print_table(console, table)
                console.print()
            for note in of_model.notes():
                console.print(f"{shown(note)}\n", style="yellow", highlight=False)
        if output is not None:
            write_output(_files(output, of_model), "FOLDER")
    if not as_json:
        console.print(threshold_method(), highlight=False)
    if output is not None and not as_json:
        print_lines(console, [f"Curves and data: {output}"])


def _files(folder: Path, tuned: TunedThreshold) -> dict[Path, bytes]:
    name = file_name(tuned.model)
    chart = threshold_charts(tuned.curves, tuned.thresholds, printable(tuned.model))
    return {
        folder / f"{name}_thresholds.csv": csv_text(threshold_records(tuned.curves)).encode(),
        folder / f"{name}_calibration.csv": csv_text(calibration_records(tuned.curves)).encode(),
        folder / f"{name}_summary.json": json_text(tuned.summary()).encode(),
        folder / f"{name}_curves.html": chart_bytes(chart, "html"),
        folder / f"{name}_curves.svg": chart_bytes(chart, "svg"),
    }


@click.command("best-of-n")
@click.argument("files", nargs=-1, required=True, metavar="FILE...")
@click.option(
    "--n", "ns", multiple=True, type=int, help="Solutions to choose from. Default: 1, 2, 4, …"
)
@click.option(
    "--draws",
    type=click.Choice(get_args(Draws)),
    default="all",
    help="Average over all subsets of n solutions, or take the first n of the file.",
)
@output_option("FOLDER", "Folder for the table as CSV and for the chart.")
@json_option
@max_size_option
def best_of_n_table(
    files: tuple[str, ...], ns: tuple[int, ...], draws: Draws, output: Path | None, as_json: bool
) -> None:
    """Choose among recorded solutions by the scores of their steps.

    FILES hold one solution per row: problem_id, problem, target, steps, answer, and scores by
    reward model, one per step. A solution is right if its answer is mathematically equal to the
    target. Recorded labels (correct, is_correct) that differ from this are counted and named.
    """
    judged = judge_solutions(recorded_solutions(files))
    most = len(judged[0].solutions)
    accuracies = best_of_n(
        judged, ns or sorted({*(2**i for i in range(most.bit_length())), most}), draws
    )
    records = best_of_n_records(accuracies)
    conflicts = label_conflicts(judged)
    files_to_write = {}
    if output is not None:
        chart = best_of_n_chart(accuracies, f"Best of n, {len(judged)} problems")
        files_to_write = {
            output / "best_of_n.csv": csv_text(records).encode(),
            output / "best_of_n.html": chart_bytes(chart, "html"),
            output / "best_of_n.svg": chart_bytes(chart, "svg"),
        }
        write_output(files_to_write, "FOLDER")
    if as_json:
        print_json({"problems": len(judged), "accuracies": records, "label_conflicts": conflicts})
        return
    console = Console()
    console.print(f"{len(judged)} problems, {most} solutions of each; accuracy in percent by n")
    for table in best_of_n_tables(accuracies):
        console.print()
        print_table(console, table)
    if conflicts:
        console.print(
            f"{sum(conflicts.values()):,} solutions of {len(conflicts):,} problems have another "
            f"recorded label than the comparison of answers gives: {shown(some_ids([*conflicts]))}",
            style="yellow",
            highlight=False,
        )
    for note in best_of_n_notes(accuracies):
        console.print(shown(note), style="yellow", highlight=False)
    for path in files_to_write:
        print_lines(console, [path])


_SHORT_SET = 200
"""The default size of a short set."""
_FEW_CRITICS = 10
"""Fewer critics give rough difficulties."""


@click.command("calibrate")
@click.argument("logs", nargs=-1, required=True, metavar="LOG LOG...")
@click.option(
    "--item-model",
    type=click.Choice(["rasch", "2pl"]),
    default="rasch",
    help="The model of item response theory.",
)
@count_option("--rows", _SHORT_SET, 1, "Number of rows of the short set.")
@reading_option("strict", "lenient", "published")
@output_option("FOLDER", "Folder for rows.csv, critics.csv and set.txt.")
@json_option
@max_size_option
def calibrate_rows(
    logs: tuple[str, ...],
    item_model: Literal["rasch", "2pl"],
    rows: int,
    reading: str,
    output: Path | None,
    as_json: bool,
) -> None:
    """Fit how difficult rows are and how able critics are, on one scale.

    LOGs are finished logs of several critics on the same rows. The model is Rasch's, or 2PL with a
    discrimination for every row. A short set of rows is chosen that tells most about abilities. The
    command prints whether it ranks the critics as all rows do.

    Run other critics on the set: inspect eval EVAL --sample-id "$(paste -sd, FOLDER/set.txt)"
    """
    found = responses_of([read_run(log) for log in logs], reading)
    fitted = calibrate(found.right, item_model)
    chosen = short_set(fitted, found.groups, min(rows, len(found.rows)))
    critics = critic_records(found, fitted, chosen)
    agreement = rank_agreement(fitted.abilities, ability_on(fitted, found.right, chosen))
    ids = [str(found.rows[place]) for place in sorted(chosen)]
    if output is not None:
        contents = {
            output / "rows.csv": csv_text(row_records(found, fitted, chosen)).encode(),
            output / "critics.csv": csv_text(critics).encode(),
            output / "set.txt": "".join(f"{one}\n" for one in ids).encode(),
        }
        write_output(contents, "FOLDER")
    if as_json:
        print_json(
            {"critics": critics, "rows": len(found.rows), "set": ids, "rank_agreement": agreement}
        )
        return
    console = Console()
    console.print(records_table(critics))
    lines = [
        f"{len(found.rows)} rows, of which {len(chosen)} are in the short set. Kendall's rank "
        f"correlation of the abilities on the set with those on all rows: {agreement:.2f}."
    ]
    if len(logs) < _FEW_CRITICS:
        lines.append(
            f"Difficulties from {len(logs)} critics are rough. Use the logs of {_FEW_CRITICS} "
            "critics or more, of different strength."
        )
    if output is not None:
        lines.append(str(output / "set.txt"))
    print_lines(console, lines)
