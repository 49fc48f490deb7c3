"""What an answer is worth: reading verdicts, counting votes, hits, metrics, intervals."""

from misstep.scorers._first_error import (
    first_error,
    first_error_lenient,
    score_votes,
    unread_output,
)
from misstep.scorers._lead import votes_needed
from misstep.scorers._metrics import first_error_metrics
from misstep.scorers._reducer import vote
from misstep.scorers._scoring import first_error_scoring
from misstep.scorers._verdicts import READINGS, Reading, Unread, Verdict, read_verdict
from misstep.scorers._votes import Tally, Vote, read_vote, tally

__all__ = [
    "READINGS",
    "Reading",
    "Tally",
    "Unread",
    "Verdict",
    "Vote",
    "first_error",
    "first_error_lenient",
    "first_error_metrics",
    "first_error_scoring",
    "read_verdict",
    "read_vote",
    "score_votes",
    "tally",
    "unread_output",
    "vote",
    "votes_needed",
]
