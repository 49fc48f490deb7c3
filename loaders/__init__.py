"""Where rows come from, and how they become samples."""

from misstep.loaders._corpus import corpus_rows
from misstep.loaders._error_sections import error_sections_dataset
from misstep.loaders._fetch import fetch
from misstep.loaders._files import RawRow
from misstep.loaders._first_error import check_file, first_error_dataset, load_rows, sample_of
from misstep.loaders._places import mirror
from misstep.loaders._problems import PROBLEM_SETS, problems_dataset
from misstep.loaders._procedural import LazyDataset, procedural_dataset
from misstep.loaders._recovery import recovery_dataset
from misstep.loaders._results import recorded_datasets
from misstep.loaders._row_stream import RowStream, streamed
from misstep.loaders._rows import BadRow, Row, check_rows
from misstep.loaders._solutions import (
    RecordedSolution,
    holds_solutions,
    recorded_solutions,
    solution_datasets,
)
from misstep.loaders._streaming import stream_rows
from misstep.loaders._summary import Summary, summary_of
from misstep.loaders._writing import write_files

__all__ = [
    "PROBLEM_SETS",
    "BadRow",
    "LazyDataset",
    "RawRow",
    "RecordedSolution",
    "Row",
    "RowStream",
    "Summary",
    "check_file",
    "check_rows",
    "corpus_rows",
    "error_sections_dataset",
    "fetch",
    "first_error_dataset",
    "holds_solutions",
    "load_rows",
    "mirror",
    "problems_dataset",
    "procedural_dataset",
    "recorded_datasets",
    "recorded_solutions",
    "recovery_dataset",
    "sample_of",
    "solution_datasets",
    "stream_rows",
    "streamed",
    "summary_of",
    "write_files",
]
