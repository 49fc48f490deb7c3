"""Reading Inspect's logs."""

from inspect_ai.log import EvalLog

from misstep.registry import MisstepError


def read_log(address: str) -> EvalLog:
    """A log with its samples.

    Raises:
        MisstepError: It cannot be read.
    """
    from inspect_ai.log import read_eval_log

    try:
        return read_eval_log(address)
    except Exception as problem:  # Inspect has no error of its own for a file that is no log.
        reason = " ".join(str(problem).split()) or type(problem).__name__
        raise MisstepError(f"{address}: cannot be read as an Inspect log ({reason}).") from None


def read_finished_log(address: str, scorer: str, kind: str) -> EvalLog:
    """Read a finished log with its samples.

    Args:
        address: The log file.
        scorer: A scorer that the log must have.
        kind: What logs with this scorer are called in a message.

    Raises:
        MisstepError: The log cannot be read, is not finished, or has other scores.
    """
    log = read_log(address)
    if log.status != "success" or log.results is None:
        raise MisstepError(
            f"{address}: the run's status is {log.status!r}; only finished runs are exported. "
            f"To finish it: inspect eval-retry {address}"
        )
    names = [score.name for score in log.results.scores]
    if scorer not in names:
        raise MisstepError(
            f"{address}: not a log of {kind}. "
            f"Its scores are {', '.join(names) or 'none'}; {scorer} is required."
        )
    return log
