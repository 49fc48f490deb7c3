"""What an answer is worth: reading verdicts, counting votes, hits, metrics, intervals."""

from misstep.scorers._first_error import (
    first_error,
    first_error_lenient,
    score_votes,
    unread_output,
)
from misstep.scorers._intervals import (
    LEVEL,
    SEED,
    Estimate,
    f1_draws,
    from_draws,
    harmonic_mean,
    share,
)
from misstep.scorers._lead import votes_needed
from misstep.scorers._metrics import first_error_metrics
from misstep.scorers._reducer import vote
from misstep.scorers._scoring import Scoring, error_sections_scoring, first_error_scoring
from misstep.scorers._section_metrics import section_metrics
from misstep.scorers._section_replies import (
    Flagged,
    SectionsReading,
    StructuredReply,
    read_sections,
    read_structured,
)
from misstep.scorers._sections import error_sections, error_sections_published
from misstep.scorers._verdicts import READINGS, Reading, Unread, Verdict, read_verdict
from misstep.scorers._votes import Tally, Vote, read_vote, reasoning_of, tally

__all__ = [
    "LEVEL",
    "READINGS",
    "SEED",
    "Estimate",
    "Flagged",
    "Reading",
    "Scoring",
    "SectionsReading",
    "StructuredReply",
    "Tally",
    "Unread",
    "Verdict",
    "Vote",
    "error_sections",
    "error_sections_published",
    "error_sections_scoring",
    "f1_draws",
    "first_error",
    "first_error_lenient",
    "first_error_metrics",
    "first_error_scoring",
    "from_draws",
    "harmonic_mean",
    "read_sections",
    "read_structured",
    "read_verdict",
    "read_vote",
    "reasoning_of",
    "score_votes",
    "section_metrics",
    "share",
    "tally",
    "unread_output",
    "vote",
    "votes_needed",
]
