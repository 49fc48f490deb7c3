"""A paper's kit in LaTeX: tables, a paragraph on methods, the logs, and what to cite.

Every text from a log is escaped: a name cannot start a command of LaTeX.
"""

from collections.abc import Iterator, Sequence
from hashlib import file_digest
from importlib.metadata import version
from math import isnan
from pathlib import Path
from string import Template
from typing import Any

from inspect_ai.log import EvalLog

from misstep.plain_text import one_line
from misstep.registry import Citation, citations, sources
from misstep.reports._leaderboard import leaderboard, leaderboard_metrics, metric_name
from misstep.reports._read_runs import read_log
from misstep.reports._run_groups import Benchmark, benchmarks
from misstep.reports._runs import Run
from misstep.reports._text import page_file, percent

_SPECIAL = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    '"': r"\textquotedbl{}",
    "–": "--",
    "…": r"\ldots{}",
    **{sign: f"\\{sign}" for sign in "{}$&%#_"},
}
_MOST_METRICS = 4
_MOST_WAITING, _PLACE_ALL = 8, "\\clearpage\n"
"""LaTeX drops figures if too many of them wait to be placed."""
_SETTINGS = ("temperature", "top_p", "max_tokens", "seed", "reasoning_effort", "reasoning_tokens")


def latex_files(runs: Sequence[Run], reading: str, figures: Sequence[str] = ()) -> dict[str, str]:
    """Return the files of a paper's kit by name: paper, tables, methods, logs, references.

    `figures` are names of PDF files beside them.
    """
    headers = {run.id: read_log(run.location, header_only=True) for run in runs}
    groups = benchmarks(runs)
    used = dict(_citations(runs))
    return {
        "tables.tex": "\n".join(_table(one, number, reading) for number, one in enumerate(groups)),
        "methods.tex": _methods(groups, headers, used, reading),
        "logs.tex": _logs_table(runs, headers),
        "references.bib": "\n".join(_bibliography(used)),
        "paper.tex": Template(page_file("paper.tex")).substitute(
            figures="".join(
                _figure(name) + "\n" + _PLACE_ALL * (number % _MOST_WAITING == 0)
                for number, name in enumerate(figures, 1)
            )
        ),
    }


def latex_text(text: object) -> str:
    """Return text in one line, escaped for LaTeX; characters that its fonts lack become `?`."""
    return "".join(
        _SPECIAL.get(sign, sign if sign.isascii() or "\xa0" < sign <= "\xff" else "?")
        for sign in one_line(text)
    )


def _name(run: str) -> str:
    return latex_text(run.removeprefix("imported/"))


def _interval(row: dict[str, Any], metric: str) -> str:
    value, lower, upper = (row[f"{metric}{end}"] for end in ("", "_lower", "_upper"))
    if isnan(value):
        return "--"
    ends = "" if isnan(lower) else f" {{\\scriptsize [{percent(lower)}, {percent(upper)}]}}"
    return f"{percent(value)}{ends}"


def _table(benchmark: Benchmark, number: int, reading: str) -> str:
    """Return the leaderboard of a benchmark: own runs, then published results."""
    metrics = leaderboard_metrics(benchmark, reading)[:_MOST_METRICS]
    frame = leaderboard(benchmark, reading)
    rows: list[dict[str, Any]] = frame.to_dict("records")

    def line(row: dict[str, Any]) -> str:
        samples = "" if row["published"] else f"{int(row['samples']):,}"
        names = (_name(str(row["run"])), latex_text(_protocol(row)), samples)
        return " & ".join([*names, *(_interval(row, metric) for metric in metrics)]) + r" \\"

    own, others = (
        [line(row) for row in rows if bool(row["published"]) == x] for x in (False, True)
    )
    head = ["run", "protocol", "$n$", *(latex_text(metric_name(metric)) for metric in metrics)]
    body = [*own, r"\midrule" if others else "", *others]
    note = " Results below the line are published ones." if others else ""
    return Template(page_file("table.tex")).substitute(
        columns="llr" + "r" * len(metrics),
        head=" & ".join(head) + r" \\",
        body="\n".join(one for one in body if one),
        caption=f"{latex_text(benchmark.key)}. In percent, with 95\\% intervals.{note}",
        label=f"tab:misstep-{number + 1}",
    )


def _protocol(row: dict[str, Any]) -> str:
    return "recorded" if row["settings"] == "imported" else str(row["settings"])


def _methods(
    groups: Sequence[Benchmark],
    headers: dict[str, EvalLog],
    used: dict[str, Citation],
    reading: str,
) -> str:
    """Return a paragraph: versions, rows with their pins, models with their settings, methods."""
    sentences = [
        f"We used misstep {latex_text(version('misstep'))}~\\cite{{misstep}} on Inspect "
        f"{_versions(headers)}~\\cite{{inspect}}, in the {latex_text(reading)} reading."
    ]
    for group in groups:
        rows = {len(run.scored) for run in group.runs}
        count = f"{min(rows):,}" if len(rows) == 1 else f"{min(rows):,} to {max(rows):,}"
        source = _source(group.runs[0], headers)
        cites = [key for key, one in used.items() if _applies(one, group.eval, source)]
        cite = f"~\\cite{{{','.join(cites)}}}" if cites else ""
        sentences.append(
            f"\\texttt{{{latex_text(group.eval)}}}{cite}, version {latex_text(group.version)}, ran "
            f"on {count} rows of \\texttt{{{latex_text(group.data)}}}{_pin(source)}."
        )
    asked: dict[str, list[str]] = {}
    for run in (run for group in groups for run in group.runs):
        asked.setdefault(_asked(run, headers[run.id]), []).append(_name(run.name))
    for how, names in asked.items():
        sentences.append(f"{', '.join(dict.fromkeys(names))}: {how}.")
    sentences.append(page_file("methods.tex").strip())
    return "\n".join(sentences) + "\n"


def _versions(headers: dict[str, EvalLog]) -> str:
    found = sorted({str(log.eval.packages.get("inspect_ai", "?")) for log in headers.values()})
    return ", ".join(map(latex_text, found))


def _source(run: Run, headers: dict[str, EvalLog]) -> str:
    spec = headers[run.id].eval
    return str(spec.task_args.get("source") or spec.dataset.name or "")


def _pin(name: str) -> str:
    """Return where the rows of a source come from, and their pins."""
    source = sources().get(name)
    if source is None or source.home == "file":
        return ""
    digests = [f"{one.sha256[:12]}" for one in source.files if one.sha256]
    pins = f"commit {source.revision[:12]}" if source.revision else ""
    if digests:
        pins += f"{', ' if pins else ''}sha256 {', '.join(digests)}"
    place = "bundled with misstep" if source.home == "package" else str(source.repository)
    return f" ({latex_text(place)}{f'; {pins}' if pins else ''})"


def _asked(run: Run, log: EvalLog) -> str:
    """Return in words how a model was asked."""
    if run.imported:
        return "recorded outputs, scored by misstep"
    if run.is_baseline:
        return "a baseline that calls no model"
    config = log.plan.config.model_dump(exclude_none=True)
    config |= log.eval.model_generate_config.model_dump(exclude_none=True)
    words = [
        f"{name.replace('_', ' ')} {latex_text(config[name])}"
        for name in _SETTINGS
        if name in config
    ]
    return "; ".join([f"protocol {latex_text(run.protocol)}", *words])


def _logs_table(runs: Sequence[Run], headers: dict[str, EvalLog]) -> str:
    lines = []
    for run in runs:
        log = headers[run.id]
        revision = log.eval.revision.commit if log.eval.revision else "--"
        cells = (run.task, run.created[:10], revision, _digest(run.location))
        lines.append(" & ".join([_name(run.name), *map(latex_text, cells)]) + r" \\")
    return Template(page_file("table.tex")).substitute(
        columns="lllll",
        head=r"run & task & date & commit & sha256 of the log \\",
        body="\n".join(lines),
        caption="The logs behind all numbers.",
        label="tab:misstep-logs",
    )


def _digest(location: str) -> str:
    """Return the start of the sha256 of a log on this machine."""
    path = Path(location.removeprefix("file://"))
    if not path.is_file():
        return "--"
    with path.open("rb") as stream:
        return file_digest(stream, "sha256").hexdigest()[:16]


def _citations(runs: Sequence[Run]) -> Iterator[tuple[str, Citation]]:
    """Yield the papers of the evals and sources of some runs."""
    for key, one in citations().items():
        for run in runs:
            if _applies(one, run.eval, run.data.partition("-")[0]):
                yield key, one
                break


def _applies(citation: Citation, eval_name: str, source: str) -> bool:
    return eval_name in citation.evals or source in citation.sources


def _bibliography(used: dict[str, Citation]) -> Iterator[str]:
    yield Template(page_file("references.bib")).substitute(
        misstep=version("misstep"), inspect=version("inspect-ai")
    )
    for key, one in used.items():
        # Braces keep the capitals of a title.
        title = latex_text(one.title)
        yield (
            f"@misc{{{key},\n  title = {{{{{title}}}}},\n  author = {{{one.author}}},\n"
            f"  year = {{{one.year}}},\n  eprint = {{{one.arxiv}}},\n"
            f"  archivePrefix = {{arXiv}},\n  note = {{arXiv:{one.arxiv}}}\n}}\n"
        )


def _figure(name: str) -> str:
    return (
        "\\begin{figure}[t]\n\\centering\n"
        f"\\includegraphics[width=\\linewidth]{{{name}}}\n"
        f"\\caption{{{latex_text(Path(name).stem.replace('_', ' '))}.}}\n\\end{{figure}}\n"
    )
