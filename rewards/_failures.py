"""What of a failed call may be passed over, and what may not."""

from inspect_ai.util import LimitExceededError

from misstep._inspect_private import PrerequisiteError, TerminateSampleError

_NOT_OURS = (PrerequisiteError, LimitExceededError, TerminateSampleError)
"""A user's mistake, a limit that was reached, an end that was asked for: these end the sample."""


def failure_of(error: Exception) -> str:
    """A failed call in words; what must not be passed over is raised again."""
    if isinstance(error, _NOT_OURS):
        raise error
    return f"the call failed: {type(error).__name__}: {' '.join(str(error).split())[:300]}"
