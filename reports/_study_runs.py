"""The runs of the study: baselines, the embedded model and others on the same generated rows."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from misstep.registry import MisstepError
from misstep.reports._study_page import CriticRun

if TYPE_CHECKING:
    from inspect_ai.log import EvalLog

TASK = "misstep/procedural"
BASELINES = ("no_error", "last_step", "uniform", "label_distribution")
EMBEDDED = "embedded/smollm2"
EMBEDDED_CRITIC = "stepwise"
"""The embedded model cannot write a critique; asked step by step, it answers with one word."""


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
) -> "list[EvalLog]":
    """Return the logs of finished runs, in order; those of earlier commands are used again."""
    from inspect_ai import eval_set
    from inspect_ai.util import registry_create

    try:
        tasks = [registry_create("task", TASK, **own) for own in arguments]
    except TypeError as problem:
        raise MisstepError(f"-T: {problem}. `misstep study --help` names some.") from None
    # The folder may hold logs of other studies: runs are told apart by their arguments.
    success, logs = eval_set(
        tasks,
        model=model,
        log_dir=log_dir,
        log_dir_allow_dirty=True,
        retry_attempts=0,
        retry_immediate=False,
        **options,
    )
    for log in logs:
        if not success or log.results is None:
            raise MisstepError(
                f"{model}: a run ended with the status {log.status!r}. Its log is {log.location}. "
                "Rerun the same command to resume it."
            )
    by_critic = {log.eval.task_args["critic"]: log for log in logs}
    return [by_critic[own["critic"]] for own in arguments]
