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
