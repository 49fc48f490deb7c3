"""What an answer is worth: read verdicts, count votes, score samples, estimate intervals.

Inspect computes metrics during a run, with few samples or none. Every metric is defined for any
input. It is nan if its set of samples is empty.
"""

from misstep.scorers._attribution import (
    Blame as Blame,
    attribution as attribution,
    attribution_published as attribution_published,
    attribution_table as attribution_table,
    prediction_text as prediction_text,
    published_attribution_table as published_attribution_table,
    read_blame as read_blame,
)
from misstep.scorers._error_location import (
    Detection as Detection,
    detection as detection,
    detection_table as detection_table,
    detections as detections,
    mistake_location as mistake_location,
    named_step as named_step,
)
from misstep.scorers._final_answer import (
    AnswerComparison as AnswerComparison,
    ComparisonOutcome as ComparisonOutcome,
    answer_metrics as answer_metrics,
    answer_table as answer_table,
    compare_answers as compare_answers,
    compare_texts as compare_texts,
    final_answer as final_answer,
)
from misstep.scorers._first_error import (
    first_error as first_error,
    first_error_lenient as first_error_lenient,
    first_error_metrics as first_error_metrics,
    first_error_table as first_error_table,
    score_votes as score_votes,
    subset_column as subset_column,
    unread_shares as unread_shares,
)
from misstep.scorers._intervals import (
    LEVEL as LEVEL,
    SEED as SEED,
    Estimate as Estimate,
    class_estimates as class_estimates,
    f1_estimate as f1_estimate,
    from_draws as from_draws,
    harmonic_mean as harmonic_mean,
    mean_estimate as mean_estimate,
    paired_difference as paired_difference,
    ratio as ratio,
    share as share,
)
from misstep.scorers._marking import (
    marking as marking,
    marking_metrics as marking_metrics,
    marking_published as marking_published,
    marking_table as marking_table,
    needs_grade as needs_grade,
)
from misstep.scorers._published_judging import (
    judged_verdict as judged_verdict,
    meta_reasoning_published as meta_reasoning_published,
    process_judging_published as process_judging_published,
    read_judged_step as read_judged_step,
    read_judged_step_published as read_judged_step_published,
    redundancy_published as redundancy_published,
    reward_meta_reasoning_published as reward_meta_reasoning_published,
)
from misstep.scorers._recovery import (
    answer_in as answer_in,
    recovery as recovery,
    recovery_grades as recovery_grades,
    recovery_lenient as recovery_lenient,
)
from misstep.scorers._recovery_metrics import (
    rates_by as rates_by,
    recovery_metrics as recovery_metrics,
    recovery_samples as recovery_samples,
    recovery_table as recovery_table,
)
from misstep.scorers._sections import (
    Flagged as Flagged,
    SectionsReading as SectionsReading,
    StructuredReply as StructuredReply,
    error_sections as error_sections,
    error_sections_published as error_sections_published,
    read_sections as read_sections,
    read_structured as read_structured,
    section_metrics as section_metrics,
    section_table as section_table,
)
from misstep.scorers._step_labels import (
    StepCounts as StepCounts,
    StepLabels as StepLabels,
    first_wrong_label as first_wrong_label,
    read_reason as read_reason,
    read_step_labels as read_step_labels,
    read_step_labels_published as read_step_labels_published,
    score_labels as score_labels,
    step_counts as step_counts,
    step_label_table as step_label_table,
    step_labels as step_labels,
    step_labels_published as step_labels_published,
)
from misstep.scorers._step_validity import (
    BY_REDUNDANCY as BY_REDUNDANCY,
    PrmScore as PrmScore,
    ValidityScores as ValidityScores,
    first_invalid as first_invalid,
    prm_score_metrics as prm_score_metrics,
    prm_score_samples as prm_score_samples,
    prm_score_table as prm_score_table,
    prm_scores as prm_scores,
    read_step_scores as read_step_scores,
    score_validity as score_validity,
    step_validity as step_validity,
    step_validity_published as step_validity_published,
    validity_of as validity_of,
)
from misstep.scorers._votes import (
    Tally as Tally,
    Vote as Vote,
    read_verdict as read_verdict,
    read_vote as read_vote,
    reasoning_of as reasoning_of,
    tally as tally,
    vote as vote,
    votes_needed as votes_needed,
)
