"""Runs that need no key: `misstep demo`, `study` and `reference`."""

import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click
from rich.console import Console

from misstep.cli._options import (
    count_option,
    embedded_option,
    json_option,
    log_dir_option,
    output_option,
    task_args_option,
)
from misstep.cli._output import new_table, print_json, print_lines, shown, value_text, write_output
from misstep.loaders import folder_lock
from misstep.registry import MisstepError, task_arguments
from misstep.reports import (
    EMBEDDED,
    STUDY_FOLDER,
    build_study,
    csv_text,
    import_records,
    planned_runs,
    read_logs,
    reference_runs,
    results_files,
    run_planned,
    study_runs,
)

if TYPE_CHECKING:
    from misstep.reports import Demo

_FOLDER = click.Path(file_okay=False, path_type=Path)
_FILE = click.Path(exists=True, dir_okay=False, path_type=Path)


@click.command()
@log_dir_option("logs/demo")
@output_option("FILE", "File of the report page.", default="logs/demo/report.html")
@count_option("--embedded", 10, 2, "Run the embedded model on N solutions.")
@json_option
def demo(log_dir: str, output: Path, embedded: int, as_json: bool) -> None:
    """Find the first wrong step of worked solutions: baselines, a calculator, a small model.

    SmolLM2-135M runs inside this process. It is far too small to judge mathematics, and a grammar
    makes it answer with an index. The demo takes less than a minute.
    """
    from misstep.reports import Logs, build_report, report_page, run_demo, summary_of_run

    console = Console(quiet=as_json)
    console.print("Where does a worked solution first go wrong?\n", style="bold")
    result = run_demo(log_dir, embedded, lambda text: print_lines(console, [text], style="dim"))
    summaries = [summary_of_run(run) for run in result.runs]
    page = report_page(build_report(Logs(result.runs, [])), log_dir)
    write_output({output: page.encode()}, "FILE")
    if as_json:
        print_json({"runs": summaries, "comparison": result.contrast, "report": str(output)})
        return
    _print_example(console, result)
    table = new_table("critic", "F1", "error accuracy", "correct accuracy")
    for one in summaries:
        table.add_row(shown(one.model), *map(value_text, [one.headline, *one.parts[:2]]))
    console.print(table, highlight=False)
    console.print(
        "In percent, with 95% intervals. F1 is the harmonic mean of both accuracies.\n",
        style="dim",
        highlight=False,
    )
    console.print(shown(_comparison(result)), highlight=False)
    print_lines(
        console,
        [
            "",
            f"The report:        open {output}",
            f"Every reply:       inspect view --log-dir {log_dir}",
            "One run:           misstep show LOG",
            "A model of yours:  inspect eval misstep/processbench.sample --model <model>",
        ],
    )


def _print_example(console: Console, result: "Demo") -> None:
    """Print a solution with its wrong step marked, and what the critics said."""
    console.print()
    console.print(shown(result.problem), highlight=False)
    for number, step in enumerate(result.steps):
        wrong = number == result.example.label
        mark = "wrong → " if wrong else "        "
        text = " ".join(step.split())
        lines = console.render_lines(shown(text), console.options.update_width(68), pad=False)
        for place, line in enumerate(lines):
            head = f"{mark}{number:>2}  " if place == 0 else " " * 12
            words = "".join(segment.text for segment in line)
            style = "bold red" if wrong else ""
            console.print(shown(f"{head}{words}"), style=style, highlight=False)
    said = "; ".join(f"{name}: {_verdict(verdict)}" for name, verdict in result.verdicts())
    console.print(shown(f"\nThe critics said:\n{said}.\n"), highlight=False)


def _verdict(verdict: int | None) -> str:
    if verdict is None:
        return "nothing readable"
    return "no error" if verdict < 0 else f"step {verdict}"


def _comparison(result: "Demo") -> str:
    from misstep.reports import p_text, percent

    one = result.contrast
    calculator, other = result.compared
    real = "The difference is real" if one.p < 0.05 else "The difference may be chance"
    return (
        f"On the {one.samples} solutions that both judged, {calculator.name} has an F1 of "
        f"{percent(one.first_value)} and {other.name} of {percent(one.second_value)}. {real}: "
        f"p = {p_text(one.p)} (paired {one.test})."
    )


_PAGE = "study.md"


@click.command()
@click.option("--model", "models", multiple=True, help="A model to study. Repeatable.")
@click.option("--critic", default="critique", help="How models are asked.")
@task_args_option
@embedded_option(0, "the set")
@log_dir_option("logs/study")
@output_option("FOLDER", f"Folder for {_PAGE} and {STUDY_FOLDER}/.", default=".")
def study(
    models: tuple[str, ...],
    critic: str,
    task_args: tuple[str, ...],
    embedded: int,
    log_dir: str,
    output: Path,
) -> None:
    """Study what first-error detection depends on.

    The study looks at the position and type of the error, the length of the solution, and the
    steps that depend on the error.

    Baselines and every --model judge the same generated solutions. -T gives arguments of
    Procedural: seed, n, steps, position, families, difficulty and others.

    Resumable: the same command skips finished runs. Another --model is added to the results.
    """
    arguments = task_arguments(task_args)
    with folder_lock(log_dir):
        runs = list(study_runs(models, critic, arguments, embedded, log_dir))
    result = build_study(runs, _command(models, critic, task_args, embedded, output))
    folder = output / STUDY_FOLDER
    contents = {output / path: chart for path, chart in result.charts.items()}
    contents[folder / "figures.csv"] = csv_text(result.metrics).encode()
    contents[folder / "samples.csv"] = csv_text(result.samples).encode()
    contents[output / _PAGE] = result.page.encode()
    write_output(contents, "FOLDER")
    click.echo(f"{output / _PAGE}\nView the runs:  inspect view --log-dir {log_dir}")


def _command(
    models: Sequence[str], critic: str, task_args: Sequence[str], embedded: int, output: Path
) -> str:
    """Return the command, without options that do not change the result."""
    words = ["misstep", "study"]
    words += [word for model in models for word in ("--model", model)]
    words += ["--critic", critic] if models else []
    words += [word for argument in task_args for word in ("-T", argument)]
    return shlex.join([*words, "--embedded", str(embedded), "-o", str(output)])


@click.command("reference")
@output_option("FILE", "Markdown file for the page.", default="docs/results.md")
@log_dir_option("logs/reference")
@click.option(
    "--records", type=_FOLDER, metavar="FOLDER", help="Score the known records in FOLDER."
)
@click.option("--baselines", is_flag=True, help="Run the baselines on all bundled sets.")
@click.option("--smollm2", is_flag=True, help="Run SmolLM2 on all bundled sets.")
@click.option("--gguf", type=_FILE, multiple=True, help="Run this model on all bundled sets.")
@count_option("--samples", None, 1, "Run models on N samples of each set only, drawn with a seed.")
@count_option("--max-tokens", 48, 1, "Maximum tokens of one completion of a model.")
def reference(
    output: Path,
    log_dir: str,
    records: Path | None,
    baselines: bool,
    smollm2: bool,
    gguf: tuple[Path, ...],
    samples: int | None,
    max_tokens: int,
) -> None:
    """Write the page of results from logs.

    Recorded outputs of real models are scored and compared with published numbers. Models run in
    this process, with a grammar where the task allows it; the sha256 of their weights is in the
    log. Whatever has a log in the folder is not scored or run again, so the command can be
    repeated. The records and where they come from: registry/records.yaml.
    """
    logs = Path(log_dir)
    if records is not None:
        for name, count in import_records(records, logs / "records"):
            click.echo(f"{name}  {count} logs", err=True)
    models = [*[EMBEDDED] * smollm2, *(f"embedded/{path.resolve()}" for path in gguf)]
    for planned in planned_runs(baselines, models):
        click.echo(f"{planned.eval}  {planned.label}", err=True)
        run_planned(planned, logs / "runs", samples, max_tokens)
    recorded = reference_runs(logs / "records")
    runs = read_logs(logs / "runs").runs if (logs / "runs").is_dir() else []
    if not recorded and not runs:
        raise MisstepError(
            f"{log_dir}: there are no logs. Give records (--records FOLDER), or run something "
            "(--baselines, --smollm2, --gguf FILE)."
        )
    files = results_files(recorded, runs, output)
    write_output(files, "FILE")
    for path in files:
        click.echo(str(path))
