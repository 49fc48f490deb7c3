"""What an answer is worth: reading verdicts, counting votes, hits, metrics, intervals."""

from misstep.scorers._answer_equality import Comparison, Outcome, compare_answers, compare_texts
from misstep.scorers._answer_metrics import answer_metrics
from misstep.scorers._answers import FOUND, Solved, final_answer
from misstep.scorers._detections import Detection, detection, detections
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
from misstep.scorers._recovery import recovery, recovery_lenient
from misstep.scorers._recovery_metrics import rates_by, recovery_metrics, recovery_outcomes
from misstep.scorers._reducer import vote
from misstep.scorers._scoring import (
    Scoring,
    answer_scoring,
    error_sections_scoring,
    first_error_scoring,
    recovery_scoring,
)
from misstep.scorers._section_metrics import section_metrics
from misstep.scorers._section_replies import (
    Flagged,
    SectionsReading,
    StructuredReply,
    read_sections,
    read_structured,
)
from misstep.scorers._sections import error_sections, error_sections_published
from misstep.scorers._variations import (
    VARIATIONS,
    Reply,
    Turn,
    Variation,
    VariationRecord,
    keep_variations,
)
from misstep.scorers._verdicts import read_verdict
from misstep.scorers._votes import Tally, Vote, read_vote, reasoning_of, tally

__all__ = [
    "FOUND",
    "LEVEL",
    "SEED",
    "VARIATIONS",
    "Comparison",
    "Detection",
    "Estimate",
    "Flagged",
    "Outcome",
    "Reply",
    "Scoring",
    "SectionsReading",
    "Solved",
    "StructuredReply",
    "Tally",
    "Turn",
    "Variation",
    "VariationRecord",
    "Vote",
    "answer_metrics",
    "answer_scoring",
    "compare_answers",
    "compare_texts",
    "detection",
    "detections",
    "error_sections",
    "error_sections_published",
    "error_sections_scoring",
    "f1_draws",
    "final_answer",
    "first_error",
    "first_error_lenient",
    "first_error_metrics",
    "first_error_scoring",
    "from_draws",
    "harmonic_mean",
    "keep_variations",
    "rates_by",
    "read_sections",
    "read_structured",
    "read_verdict",
    "read_vote",
    "reasoning_of",
    "recovery",
    "recovery_lenient",
    "recovery_metrics",
    "recovery_outcomes",
    "recovery_scoring",
    "score_votes",
    "section_metrics",
    "share",
    "tally",
    "unread_output",
    "vote",
    "votes_needed",
]
