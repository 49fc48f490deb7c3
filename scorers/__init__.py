"""What an answer is worth: reading verdicts, counting votes, hits, metrics, intervals."""

from misstep.scorers._first_error import (
    first_error,
    first_error_lenient,
    score_votes,
    subset_column,
)
from misstep.scorers._lead import votes_needed
from misstep.scorers._metrics import first_error_metrics
from misstep.scorers._reducer import vote
from misstep.scorers._verdicts import READINGS, Reading, Unread, Verdict, read_verdict
from misstep.scorers._view import FIRST_ERROR_VIEW
from misstep.scorers._votes import Tally, Vote, read_vote, tally

__all__ = [
    "FIRST_ERROR_VIEW",
    "READINGS",
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
    "score_votes",
    "subset_column",
    "tally",
    "vote",
    "votes_needed",
]
