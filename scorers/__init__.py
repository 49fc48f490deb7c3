"""What an answer is worth: read verdicts, count votes, score samples, estimate intervals."""

from misstep.scorers._answer_equality import (
    Comparison,
    ComparisonOutcome,
    compare_answers,
    compare_texts,
)
from misstep.scorers._detections import Detection, detection, detections
from misstep.scorers._final_answer import answer_metrics, final_answer
from misstep.scorers._first_error import (
    first_error,
    first_error_lenient,
    score_votes,
    subset_column,
)
from misstep.scorers._first_error_metrics import first_error_metrics
from misstep.scorers._intervals import (
    LEVEL,
    SEED,
    Estimate,
    f1_draws,
    from_draws,
    harmonic_mean,
    share,
)
from misstep.scorers._recovery import recovery, recovery_lenient
from misstep.scorers._recovery_metrics import rates_by, recovery_metrics, recovery_samples
from misstep.scorers._section_metrics import section_metrics
from misstep.scorers._section_replies import (
    Flagged,
    SectionsReading,
    StructuredReply,
    read_sections,
    read_structured,
)
from misstep.scorers._sections import error_sections, error_sections_published
from misstep.scorers._verdicts import read_verdict
from misstep.scorers._votes import (
    Tally,
    Vote,
    read_vote,
    reasoning_of,
    tally,
    vote,
    votes_needed,
)

__all__ = [
    "LEVEL",
    "SEED",
    "Comparison",
    "ComparisonOutcome",
    "Detection",
    "Estimate",
    "Flagged",
    "SectionsReading",
    "StructuredReply",
    "Tally",
    "Vote",
    "answer_metrics",
    "compare_answers",
    "compare_texts",
    "detection",
    "detections",
    "error_sections",
    "error_sections_published",
    "f1_draws",
    "final_answer",
    "first_error",
    "first_error_lenient",
    "first_error_metrics",
    "from_draws",
    "harmonic_mean",
    "rates_by",
    "read_sections",
    "read_structured",
    "read_verdict",
    "read_vote",
    "reasoning_of",
    "recovery",
    "recovery_lenient",
    "recovery_metrics",
    "recovery_samples",
    "score_votes",
    "section_metrics",
    "share",
    "subset_column",
    "tally",
    "vote",
    "votes_needed",
]
