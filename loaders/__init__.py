"""Where rows come from, and how they become samples."""

from misstep.loaders._agents import (
    attribution_dataset,
    has_step_labels,
    holds_judgements,
    judgement_datasets,
    trajectory_dataset,
)
from misstep.loaders._files import RawRow, folder_lock, json_lines, read_rows, write_files
from misstep.loaders._first_error import (
    FirstErrorRow,
    RowOrder,
    Subsets,
    check_file,
    check_rows,
    error_sections_dataset,
    first_error_dataset,
    first_error_sample,
    load_rows,
    marked_dataset,
    ordered,
    step_validity_dataset,
)
from misstep.loaders._formats import PRMBENCH_GROUPS
from misstep.loaders._problems import problems_dataset
from misstep.loaders._procedural import LazyDataset, RowStream, procedural_dataset, streamed
from misstep.loaders._recorded import (
    RecordedRun,
    RecordedSolutionRow,
    holds_solutions,
    holds_verifier_scores,
    recorded_runs,
    recorded_solutions,
    solution_datasets,
)
from misstep.loaders._recovery import MistakeRows, recovery_dataset, recovery_prompts
from misstep.loaders._rows import BadRow, Id, Name, validate_rows
from misstep.loaders._sources import corpus_rows, fetch, mirror
from misstep.loaders._summary import Summary, summary_of
from misstep.loaders._transcripts import Chosen, transcript_dataset
from misstep.loaders._wording import PublishedWording, Template, fetch_wording, published_wording
