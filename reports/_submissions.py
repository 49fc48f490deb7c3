"""Make a file of results from a log, if the log can be submitted."""

from collections.abc import Mapping, Sequence
from hashlib import file_digest
from pathlib import Path

from inspect_ai.log import EvalLog, EvalSample

from misstep.providers import find_weights
from misstep.registry import MisstepError, evals, sources
from misstep.reports._read_runs import read_log, read_run
from misstep.reports._result_checks import check_setting
from misstep.reports._result_files import (
    JudgedSample,
    ResultFile,
    Setting,
    recomputed,
    rows_digest,
    step_signs,
    stored_metrics,
    unjudged_sample,
)
from misstep.reports._runs import DETECTIONS, WEIGHTS, Run, public_name
from misstep.reports._text import some_ids
from misstep.verdicts import NO_ERROR, Unread

KINDS = ("first_error", "step_validity")
"""The kinds of runs whose scores follow from a label and a verdict."""
_GENERATE = (
    *("temperature", "top_p", "top_k", "max_tokens", "seed", "reasoning_effort"),
    *("reasoning_tokens", "effort", "frequency_penalty", "presence_penalty"),
)
"""Generate options that a file keeps. Others can hold private text."""


def submission(location: str) -> ResultFile:
    """Return the results of a log; raise an error if the log cannot be submitted."""
    run = read_run(location)
    log = read_log(location)
    _refuse_unfit(log, run, location)
    of_steps = ("step_labels", "step_validity")
    scorers = ["first_error", *(name for name in of_steps if name in run.metrics)]
    samples = [_judged(sample, scorers) for sample in log.samples or []]
    settings = _settings(log, location)
    source, of = _source(log, run, settings, location)
    model, weights = public_model(log)
    generate = log.plan.config.model_dump(exclude_none=True)
    generate |= log.eval.model_generate_config.model_dump(exclude_none=True)
    with Path(location.removeprefix("file://")).open("rb") as stream:
        digest = file_digest(stream, "sha256").hexdigest()
    tokens = [sum(one[i] for one in run.usage.values()) for i in (0, 1)]
    return ResultFile(
        eval=run.eval,
        task=run.task,
        version=run.version,
        source=source,
        rows=len(samples),
        of=of,
        rows_sha256=rows_digest(samples),
        model=model,
        weights_sha256=weights,
        imported=run.imported,
        settings=settings,
        generate={name: generate[name] for name in _GENERATE if name in generate},
        tokens=(tokens[0], tokens[1]) if any(tokens) else None,
        created=log.eval.created[:10],
        packages=dict(sorted(log.eval.packages.items())),
        log_sha256=digest,
        metrics=stored_metrics(recomputed(samples, scorers)),
        samples=samples,
    )


def _refuse_unfit(log: EvalLog, run: Run, location: str) -> None:
    """Raise an error if a log is not complete, or not of a kind that a verdict explains."""

    def refuse(why: str) -> None:
        raise MisstepError(f"{location}: {why}")

    if "://" in location.removeprefix("file://"):
        refuse("copy the log to this machine first: its checksum becomes part of the results.")
    if run.kind not in KINDS:
        refuse(f"a run of {run.eval} has no verdict for each sample. Possible: {', '.join(KINDS)}.")
    config = log.eval.config
    if config.limit is not None or config.sample_id is not None:
        refuse("only some of the samples ran. Run the eval without --limit and --sample-id.")
    if run.epochs > 1:
        refuse("the run has several epochs. Use -T votes= for several votes, or one epoch.")
    if failed := [sample.id for sample in run.samples if not sample.scores]:
        refuse(
            f"{len(failed):,} samples have no score ({some_ids(failed)}). To finish them: "
            f"inspect eval-retry {location}"
        )
    expected = log.eval.dataset.samples
    if expected != len(run.samples):
        refuse(f"{len(run.samples):,} of {expected:,} samples are in the log.")
    current = str(evals()[run.eval].version)
    if run.version != current:
        refuse(f"it has version {run.version} of {run.eval}; the present version is {current}.")


def _settings(log: EvalLog, location: str) -> dict[str, Setting]:
    """Return the task arguments of a run, or of the reader of recorded results."""
    given = dict(log.eval.task_args_passed)
    if (log.eval.metadata or {}).get("imported"):
        given = dict(log.plan.steps[0].params)
    for name in ("accept", "exclude_label_errors", "exclude_misfits"):
        if given.get(name):
            raise MisstepError(
                f"{location}: {name}={given[name]} changes the rows. Run without it."
            )
    for name, value in given.items():
        check_setting(name, value, location)
    return given


def _source(
    log: EvalLog, run: Run, settings: Mapping[str, Setting], location: str
) -> tuple[str, int]:
    """Return the pinned source of the rows and how many rows it has."""
    if run.imported:
        name = log.eval.dataset.name or ""
    else:
        name = str(log.eval.task_args.get("source") or "")
    if not name:
        return str(log.eval.dataset.name), len(run.samples)
    if name not in sources() or sources()[name].home == "file":
        raise MisstepError(
            f"{location}: the rows come from {name!r}, which is no pinned source. Possible: "
            f"{', '.join(known for known, one in sources().items() if one.home != 'file')}."
        )
    rows = sum(file.rows for file in sources()[name].files)
    return name, max(rows, len(run.samples)) if run.imported else len(run.samples)


def public_model(log: EvalLog) -> tuple[str, str | None]:
    """Return the name of the model without folders of this machine, and its weights' checksum."""
    service, _, path = log.eval.model.partition("/")
    name = public_name(log.eval.model)
    if service != "embedded":
        return name, None
    if recorded := (log.eval.metadata or {}).get(WEIGHTS):
        return name, str(recorded)
    return name, weights_digest(path)


def weights_digest(model: str) -> str:
    """Return the sha256 of the weights of an embedded model, given by its short name or path."""
    with find_weights(model).open("rb") as stream:
        return file_digest(stream, "sha256").hexdigest()


def _judged(sample: EvalSample, scorers: Sequence[str]) -> JudgedSample:
    scores, metadata = sample.scores or {}, sample.metadata
    first = scores.get("first_error") or scores[DETECTIONS]
    about = first.metadata or {}
    unread = about.get("unread")
    verdict = Unread(unread) if unread else int(first.answer or NO_ERROR)
    gold = judged = None
    if "step_labels" in scorers:
        labels = (scores["step_labels"].metadata or {})["labels"]
        gold, judged = step_signs(metadata["step_labels"]), step_signs(labels)
    elif "step_validity" in scorers:
        known = scores["step_validity"].metadata or {}
        wrong, steps = metadata["wrong_steps"], metadata["steps"]
        gold = step_signs(-1 if i in wrong else 1 for i in range(len(steps)))
        labels = known.get("labels")
        judged = "" if labels is None else step_signs(1 if valid else -1 for valid in labels)
        verdict = Unread(known["unread"]) if "unread" in known else verdict
    row = unjudged_sample(str(sample.id), sample.input, str(sample.target), metadata, gold)
    return row._replace(verdict=verdict, judged=judged)
