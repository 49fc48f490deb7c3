"""What an answer is worth: reading verdicts, counting votes, hits, metrics, intervals."""

from misstep.scorers._first_error import first_error, first_error_lenient, subset_column
from misstep.scorers._metrics import first_error_metrics
from misstep.scorers._verdicts import Reading, Unread, Verdict, read_verdict
from misstep.scorers._votes import Tally, Vote, read_vote, tally

__all__ = [
    "Reading",
    "Tally",
    "Unread",
    "Verdict",
    "Vote",
    "first_error",
    "first_error_lenient",
    "first_error_metrics",
    "read_verdict",
    "read_vote",
    "subset_column",
    "tally",
]
