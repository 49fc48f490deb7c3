"""Find the first wrong steps of your own agents: run a critic, list and mark what it names."""

import json
from collections.abc import Iterator
from contextvars import copy_context
from dataclasses import dataclass
from hashlib import sha256
from html import escape
from importlib.resources import files
from pathlib import Path
from typing import Any

from inspect_ai import Task
from inspect_ai.log import EvalLog, list_eval_logs, read_eval_log
from inspect_ai.util import registry_create

from misstep.boxes import without_last_box
from misstep.plain_text import one_line, printable
from misstep.registry import MisstepError
from misstep.reports._estimate import RunEstimate, estimate, price_with_source
from misstep.reports._text import file_name, percent

_REPLY_TOKENS = 300
"""Tokens of a critique, a round number for a model without long reasoning."""
_MOST_LEFT_OUT = 5
_LABELLED = ("agent_process", "who_and_when")


@dataclass(frozen=True)
class FoundStep:
    """What the critic says of one transcript."""

    id: str
    steps: int
    verdict: str
    """`error`, `none`, `unread`, or `failed` if a call failed."""
    step: int | None
    message: int | None
    """The place of the step among the messages."""
    message_id: str | None
    reason: str


def find_task(log: str, **arguments: Any) -> Task:  # noqa: ANN401
    """Return the task that looks for first errors in a log."""
    import misstep.registry.entry_point  # noqa: F401 (it registers all tasks)

    task: Task = registry_create("task", "misstep/first_errors", log=log, **arguments)
    return task


def find_estimate(task: Task, model: str, critic: str) -> RunEstimate | None:
    """Return what a run needs at most; None for a user's own solver, whose calls are unknown.

    It counts the calls of a dry run in which no step is wrong: all windows, and all steps.
    """
    return (
        None
        if "@" in critic
        else estimate(task, model, _REPLY_TOKENS, price=price_with_source(model))
    )


def find_folder(log: str, model: str, arguments: dict[str, Any]) -> str:
    """Return the name of the folder of a run. The same command has the same folder."""
    key = json.dumps([str(Path(log).absolute()), model, arguments], sort_keys=True)
    return f"{file_name(Path(log).stem)}-{sha256(key.encode()).hexdigest()[:8]}"


def run_find(task: Task, model: Any, folder: str, display: str | None = None) -> EvalLog:  # noqa: ANN401
    """Run a critic. A run that was interrupted is resumed: finished samples are kept.

    Raises:
        KeyboardInterrupt: The user interrupted the run.
    """
    from inspect_ai import eval_set

    # An eval set leaves its model in the context of its caller.
    _, logs = copy_context().run(
        eval_set,
        [task],
        log_dir=folder,
        model=model,
        retry_attempts=1,
        retry_wait=1,
        retry_connections=1.0,
        fail_on_error=False,
        display=display,  # type: ignore[arg-type]
    )
    # Inspect ends an interrupted set of evals without an error, and with no log.
    if not logs or logs[0].status == "cancelled":
        raise KeyboardInterrupt
    return read_eval_log(logs[0].location)


def found_steps(log: EvalLog) -> list[FoundStep]:
    """Return what the critic says of each transcript, in the order of the samples."""
    return [_found(sample) for sample in log.samples or []]


def left_out_lines(left_out: dict[str, str]) -> Iterator[str]:
    """Yield how many transcripts are left out, and the first of them with the reasons."""
    if left_out:
        yield f"{len(left_out):,} left out, because they cannot be judged:"
    for name, reason in list(left_out.items())[:_MOST_LEFT_OUT]:
        yield f"  {one_line(name)}: {one_line(reason)}"
    if len(left_out) > _MOST_LEFT_OUT:
        yield f"  and {len(left_out) - _MOST_LEFT_OUT:,} more: --json"


def _found(sample: Any) -> FoundStep:  # noqa: ANN401
    score = (sample.scores or {}).get("named_step")
    steps = sample.metadata["n_steps"]
    if score is None:
        reason = sample.error.message if sample.error else "no score"
        return FoundStep(str(sample.id), steps, "failed", None, None, None, reason)
    step = int(score.answer) if score.value == "error" else None
    return FoundStep(
        id=str(sample.id),
        steps=steps,
        verdict=str(score.value),
        step=step,
        message=None if step is None else sample.metadata["message_index"][step],
        message_id=None if step is None else sample.metadata["message_ids"][step],
        reason=score.explanation or "",
    )


def trust_lines(model: str, critic: str, log_dir: str) -> Iterator[str]:
    """Yield what this critic scored on labelled transcripts, or how to find out."""
    known = False
    for info in list_eval_logs(log_dir) if Path(log_dir).is_dir() else []:
        if not any(name.replace("_", "-") in info.name for name in _LABELLED):
            continue
        log = read_eval_log(info, header_only=True)
        asked = (log.eval.task_args or {}).get("critic")
        if (
            log.status != "success"
            or log.results is None
            or log.eval.model != model
            or asked != critic
        ):
            continue
        for score in log.results.scores:
            metrics = {name: metric.value for name, metric in score.metrics.items()}
            if score.name == "first_error" and "f1_score" in metrics:
                known = True
                yield (
                    f"On {log.eval.dataset.name} ({log.results.completed_samples} labelled "
                    f"transcripts) this critic has F1 {percent(metrics['f1_score'])}: it finds "
                    f"{percent(metrics['error_accuracy'])}% of the first errors exactly, and "
                    f"clears {percent(metrics['correct_accuracy'])}% of those without an error."
                )
            if score.name == "attribution":
                known = True
                yield (
                    f"On {log.eval.dataset.name} ({log.results.completed_samples} failures) it "
                    f"names the right step in {percent(metrics['step_accuracy'])}%."
                )
    if not known:
        yield (
            f"How far can this be trusted? No log in {log_dir} shows how {model} does on labelled "
            f"transcripts. To find out: inspect eval misstep/agent_process -T critic={critic} "
            f"--model {model} (or misstep/agent_process.sample, which needs no download)."
        )


def find_page(log: EvalLog, notes: list[str]) -> str:
    """Return a page with every transcript, the first wrong step marked. It needs no network."""
    parts = []
    pairs = zip(found_steps(log), log.samples or [], strict=True)
    for number, (found, sample) in enumerate(pairs):
        verdict = {"error": f"step {found.step} is wrong", "none": "no wrong step"}.get(
            found.verdict, f"no verdict ({found.verdict})"
        )
        body = [f'<p class="reason">{_text(without_last_box(found.reason))}</p>']
        place = f"wrong-{number}"
        if found.step is not None:
            body.append(f'<p><a href="#{place}">Go to step {found.step}</a></p>')
        for i, step in enumerate(sample.metadata["steps"]):
            body.append(_step(i, step, place if i == found.step else ""))
        parts.append(
            f"<details{' open' if found.verdict == 'error' else ''}><summary>{_text(found.id)}: "
            f'<span class="{found.verdict}">{verdict}</span></summary>{"".join(body)}</details>'
        )
    style = (files("misstep.reports") / "page/find.css").read_text(encoding="utf-8")
    lines = "".join(f"<p>{_text(note)}</p>" for note in notes)
    title = f"First errors: {_text(log.eval.dataset.name or '')}"
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        '<meta http-equiv="Content-Security-Policy" content="default-src \'none\'; '
        "style-src 'unsafe-inline'\">"
        f"<title>{title}</title><style>{style}</style></head><body><h1>{title}</h1>"
        f"<p>Critic: {_text(log.eval.model)}</p>{lines}{''.join(parts)}</body></html>\n"
    )


def _step(index: int, text: str, wrong: str) -> str:
    """Return a step as HTML. The evidence before it is shown apart, since it is never the error.

    Args:
        index: The place of the step.
        text: Its text with the evidence.
        wrong: The anchor of the first wrong step; empty for other steps.
    """
    evidence, head, own = text.partition(f"[step {index}] ")
    seen = f'<pre class="evidence">{_text(evidence.rstrip())}</pre>' if evidence.strip() else ""
    begin = f'<section class="wrong" id="{wrong}">' if wrong else '<section class="step">'
    mark = " – first wrong step" if wrong else ""
    return (
        f"{seen}{begin}<h3>Step {index}{mark}</h3><pre>{_text(own if head else text)}</pre>"
        "</section>"
    )


def _text(text: str) -> str:
    return escape(printable(text))


def check_model(model: str | None) -> str:
    """Return the name of the critic, or raise an error if there is none."""
    if not model:
        raise MisstepError("Name the critic: --model openai/gpt-4o-mini.")
    return model
