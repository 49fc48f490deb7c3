"""Where rows come from, and how they become samples."""

from misstep.loaders._error_sections import error_sections_dataset
from misstep.loaders._fetch import fetch
from misstep.loaders._first_error import check_file, first_error_dataset, load_rows
from misstep.loaders._places import mirror
from misstep.loaders._procedural import LazyDataset, procedural_dataset
from misstep.loaders._results import recorded_datasets
from misstep.loaders._row_stream import RowStream, streamed
from misstep.loaders._rows import BadRow, Row, check_rows
from misstep.loaders._summary import Summary, summary_of
from misstep.loaders._writing import write_files

__all__ = [
    "BadRow",
    "LazyDataset",
    "Row",
    "RowStream",
    "Summary",
    "check_file",
    "check_rows",
    "error_sections_dataset",
    "fetch",
    "first_error_dataset",
    "load_rows",
    "mirror",
    "procedural_dataset",
    "recorded_datasets",
    "streamed",
    "summary_of",
    "write_files",
]
