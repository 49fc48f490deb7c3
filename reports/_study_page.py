"""The study: its runs, and their results as a Markdown page with charts and data."""

from collections import Counter
from collections.abc import Iterator, Sequence
from contextvars import copy_context
from dataclasses import dataclass
from functools import cached_property
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any

from inspect_ai.log import EvalLog

from misstep.generator import VERSION
from misstep.registry import MisstepError
from misstep.reports._charts import FINDING_COLOURS, chart_bytes, chart_library
from misstep.reports._read_runs import read_run
from misstep.reports._reference import EMBEDDED
from misstep.reports._runs import Run
from misstep.reports._samples import ON_CORRECT, ON_ERRORS, Finding
from misstep.reports._study import (
    DIMENSIONS,
    CriticSample,
    Dimension,
    GroupCount,
    critics_of,
    dependence,
    error_third,
    group_counts,
    judged_samples,
)
from misstep.reports._text import p_text, page_file, percent, with_interval
from misstep.solvers import BASELINES

if TYPE_CHECKING:
    from misstep.reports._charts import Chart

TASK = "misstep/procedural"
EMBEDDED_CRITIC = "stepwise"
"""The embedded model cannot write a critique; asked step by step, it sometimes gives a verdict."""
STUDY_FOLDER = "study"
"""The folder of the charts and the data, next to the page."""

WIDTH, HEIGHT = 720, 260

DATA_ARGUMENTS = (
    *("seed", "n", "steps", "position", "error_types"),
    *("families", "difficulty", "correct_share", "domain"),
)
"""The task arguments that decide which rows are generated."""

FINDING_WORDS: dict[Finding, tuple[str, str]] = {
    "exact": ("finds the first error", "the first error"),
    "early": ("names an earlier step", "an earlier step"),
    "late": ("names a later step", "a later step"),
    "missed": ("says that there is none", "no error"),
    "right": ("says so", "no error"),
    "false_alarm": ("raises a false alarm", "a step"),
    "out_of_range": ("names a step that does not exist", "a step that does not exist"),
    "unread": ("gives no readable verdict", "no readable verdict"),
    "not_recorded": ("has no recorded verdict", "no recorded verdict"),
}
"""The words for a finding in a sentence and in a chart."""

DataRow = dict[str, object]


@dataclass(frozen=True)
class CriticRun:
    """The run of one critic."""

    critic: str
    log: EvalLog

    @cached_property
    def run(self) -> Run:
        """The run with its samples."""
        return read_run(self.log.location)


@dataclass(frozen=True)
class Study:
    """The page of a study, its charts and its data."""

    page: str
    charts: dict[PurePosixPath, bytes]
    metrics: list[DataRow]
    samples: list[DataRow]


def study_runs(
    models: Sequence[str], critic: str, arguments: dict[str, Any], embedded: int, log_dir: str
) -> Iterator[CriticRun]:
    """Yield the study's runs; runs that are already finished are read from their logs.

    The arguments are those of Procedural. The embedded model gets `embedded` samples; 0 skips it.
    """
    if "critic" in arguments:
        raise MisstepError("-T critic: use --critic to choose the critic of the models.")
    baselines = [arguments | {"critic": baseline} for baseline in BASELINES]
    # Inspect's full display takes longer than these runs.
    logs = _finished_logs(baselines, "none/none", log_dir, display="log", log_realtime=False)
    yield from map(CriticRun, BASELINES, logs)
    if embedded:
        asked = arguments | {"critic": EMBEDDED_CRITIC}
        [log] = _finished_logs([asked], EMBEDDED, log_dir, limit=embedded)
        yield CriticRun(f"{EMBEDDED}, {EMBEDDED_CRITIC}", log)
    for model in models:
        [log] = _finished_logs([arguments | {"critic": critic}], model, log_dir)
        yield CriticRun(f"{model}, {critic}", log)


def _finished_logs(
    arguments: Sequence[dict[str, Any]],
    model: str,
    log_dir: str,
    **options: Any,  # noqa: ANN401
) -> list[EvalLog]:
    """Return the logs of finished runs, in order; those of earlier commands are used again."""
    from inspect_ai import eval_set
    from inspect_ai.util import registry_create

    try:
        tasks = [registry_create("task", TASK, **own) for own in arguments]
    except TypeError as problem:
        raise MisstepError(f"-T: {problem}. `misstep study --help` names some.") from None
    # The folder may hold logs of other studies: runs are told apart by their arguments.
    # An eval set leaves its model in the context of its caller.
    success, logs = copy_context().run(
        eval_set,
        tasks,
        model=model,
        log_dir=log_dir,
        log_dir_allow_dirty=True,
        retry_attempts=0,
        retry_immediate=False,
        **options,
    )
    if len(logs) < len(tasks) or any(log.status == "cancelled" for log in logs):
        raise KeyboardInterrupt
    for log in logs:
        if not success or log.results is None:
            raise MisstepError(
                f"{model}: a run ended with the status {log.status!r}. Its log is {log.location}. "
                "Rerun the same command to resume it."
            )
    by_critic = {log.eval.task_args["critic"]: log for log in logs}
    return [by_critic[own["critic"]] for own in arguments]


def build_study(runs: Sequence[CriticRun], command: str) -> Study:
    """Build the study of finished runs on the same generated rows, made by a command."""
    table = [judged for run in runs for judged in judged_samples(run.run, run.critic)]
    counts = {dimension.name: group_counts(table, dimension) for dimension in DIMENSIONS}
    critics = critics_of(table)
    charts = {d.name: detection_chart(counts[d.name], d, critics) for d in DIMENSIONS}
    charts |= {"errors": verdicts_chart(table, True), "correct": verdicts_chart(table, False)}
    spec = runs[0].log.eval
    page = page_file("study.md").format(
        command=command,
        version=VERSION,
        arguments=", ".join(
            f"`{name}={spec.task_args[name]}`"
            for name in DATA_ARGUMENTS
            if spec.task_args.get(name) is not None
        ),
        days=" and ".join(sorted({run.log.eval.created[:10] for run in runs})),
        inspect=spec.packages["inspect_ai"],
        results="\n".join(_result_lines(runs)),
        verdicts="\n".join(f"- {_verdicts_sentence(critic, table)}" for critic in critics),
        plots="\n\n".join(f"![{d.title}]({STUDY_FOLDER}/{d.name}.svg)" for d in DIMENSIONS),
        dependences="\n".join(_dependence_lines(counts, critics)),
        folder=STUDY_FOLDER,
    )
    return Study(
        page=page,
        charts={
            PurePosixPath(STUDY_FOLDER, f"{name}.svg"): chart_bytes(chart, "svg")
            for name, chart in charts.items()
        },
        metrics=[_metric_row(count) for of_dimension in counts.values() for count in of_dimension],
        samples=[_sample_row(judged) for judged in table],
    )


def _result_lines(runs: Sequence[CriticRun]) -> Iterator[str]:
    yield "| critic | rows | error accuracy | correct accuracy | F1 | unparsed | truncated |"
    yield "| --- | ---: | ---: | ---: | ---: | ---: | ---: |"
    for run in runs:
        metrics = run.run.metrics[run.run.scorer()]
        estimates = (
            with_interval(metrics[name], metrics[f"{name}_lower"], metrics[f"{name}_upper"])
            for name in ("error_accuracy", "correct_accuracy", "f1_score")
        )
        shares = (percent(metrics[name]) for name in ("unparsed", "truncated"))
        rows = f"{metrics['total_count']:.0f}"
        yield f"| {' | '.join((run.critic, rows, *estimates, *shares))} |"


def _verdicts_sentence(critic: str, table: Sequence[CriticSample]) -> str:
    own = [one for one in table if one.critic == critic]
    errors = Counter(one.finding for one in own if one.sample.has_error)
    corrects = Counter(one.finding for one in own if not one.sample.has_error)
    return (
        f"**{critic}**, {errors.total()} rows with an error: {_shares(errors, ON_ERRORS)}. "
        f"{corrects.total()} rows without: {_shares(corrects, ON_CORRECT)}. "
        f"{_most_frequent_verdict(own)}"
    )


def _shares(counts: Counter[Finding], findings: Sequence[Finding]) -> str:
    return ", ".join(
        f"{FINDING_WORDS[finding][0]} in {percent(counts[finding] / counts.total())}%"
        for finding in findings
        if counts[finding]
    )


def _most_frequent_verdict(own: Sequence[CriticSample]) -> str:
    verdicts = Counter(one.score.predicted for one in own)
    del verdicts[None]
    if not verdicts:
        return "None of its verdicts could be read."
    [(verdict, count)] = verdicts.most_common(1)
    return f"Its most frequent verdict is {verdict}, in {percent(count / len(own))}% of all rows."


def _dependence_lines(counts: dict[str, list[GroupCount]], critics: Sequence[str]) -> Iterator[str]:
    yield f"| critic | {' | '.join(dimension.name.replace('_', ' ') for dimension in DIMENSIONS)} |"
    yield f"| --- |{' ---: |' * len(DIMENSIONS)}"
    for critic in critics:
        values = (dependence(counts[dimension.name], critic) for dimension in DIMENSIONS)
        yield f"| {critic} | {' | '.join(p_text(value, 3) for value in values)} |"


def _metric_row(count: GroupCount) -> DataRow:
    rate = count.rate
    return {
        "dimension": count.dimension,
        "group": count.group,
        "critic": count.critic,
        "rows": count.rows,
        "rate": rate.value,
        "lower": rate.lower,
        "upper": rate.upper,
        **{f: count.findings[f] for f in dict.fromkeys((*ON_ERRORS, *ON_CORRECT))},
    }


def _sample_row(judged: CriticSample) -> DataRow:
    sample, score = judged.sample, judged.score
    return {
        "critic": judged.critic,
        "id": sample.id,
        "family": sample.facets["family"],
        "length": sample.n_steps,
        "label": sample.label,
        "third": error_third(sample),
        "error_type": sample.facets.get("error_type"),
        "outcome": sample.facets.get("outcome"),
        "dependants": sample.dependants,
        "difficulty": sample.facets.get("difficulty"),
        "distance": sample.facets.get("distance"),
        "verdict": score.predicted,
        "finding": judged.finding,
        "unread": score.unread,
    }


def detection_chart(
    counts: Sequence[GroupCount], dimension: Dimension, critics: Sequence[str]
) -> "Chart":
    """The rates of all critics with their intervals, side by side for every group."""
    alt = chart_library()
    values = [{**_metric_row(count), "group": str(count.group)} for count in counts]
    groups = list(dict.fromkeys(str(count.group) for count in counts))
    # Long names side by side would overlap.
    angle = -20 if max(map(len, groups)) > 10 else 0
    title = "Share of first errors found" if dimension.errors else "Share of false alarms"
    legend = alt.Legend(orient="top", columns=3, labelLimit=400)
    base = alt.Chart(alt.Data(values=values)).encode(
        x=alt.X("group:N", sort=groups, title=dimension.title, axis=alt.Axis(labelAngle=angle)),
        xOffset=alt.XOffset("critic:N", sort=list(critics)),
        color=alt.Color("critic:N", sort=list(critics), title=None, legend=legend),
    )
    points = base.mark_point(filled=True, size=45).encode(
        y=alt.Y("rate:Q", title=title, scale=alt.Scale(domain=[0, 1]), axis=alt.Axis(format="%")),
        tooltip=["critic:N", "group:N", "rate:Q", "lower:Q", "upper:Q", "rows:Q"],
    )
    lines = base.mark_rule().encode(y=alt.Y("lower:Q", title=title), y2="upper:Q")
    chart: Chart = (lines + points).properties(width=WIDTH, height=HEIGHT)
    return chart


def verdicts_chart(table: Sequence[CriticSample], errors: bool) -> "Chart":
    """The verdicts of every critic, as shares of the rows with an error, or without one."""
    alt = chart_library()
    findings = ON_ERRORS if errors else ON_CORRECT
    words = [FINDING_WORDS[finding][1] for finding in findings]
    counts = Counter((one.critic, one.finding) for one in table if one.sample.has_error == errors)
    critics = critics_of(table)
    values = [
        {"critic": critic, "verdict": words[order], "order": order, "rows": counts[critic, finding]}
        for critic in critics
        for order, finding in enumerate(findings)
    ]
    colours = alt.Scale(domain=words, range=[FINDING_COLOURS[finding] for finding in findings])
    legend = alt.Legend(orient="top", columns=6, labelLimit=400)
    kind = "with an error" if errors else "without an error"
    chart: Chart = (
        alt.Chart(alt.Data(values=values), title=f"Rows {kind}: the verdict names")
        .mark_bar()
        .encode(
            y=alt.Y("critic:N", sort=critics, title=None, axis=alt.Axis(labelLimit=300)),
            x=alt.X("rows:Q", stack="normalize", title=None, axis=alt.Axis(format="%")),
            color=alt.Color("verdict:N", title=None, sort=words, scale=colours, legend=legend),
            order="order:Q",
        )
        .properties(width=WIDTH - 130)
    )
    return chart
