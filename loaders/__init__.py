"""Where rows come from, and how they become samples."""

from misstep.loaders._corpus import corpus_rows
from misstep.loaders._error_sections import error_sections_dataset
from misstep.loaders._fetch import fetch
from misstep.loaders._files import RawRow
from misstep.loaders._first_error import (
    check_file,
    first_error_dataset,
    load_rows,
    sample_of,
)
from misstep.loaders._places import mirror
from misstep.loaders._procedural import LazyDataset, procedural_dataset
from misstep.loaders._results import recorded_datasets
from misstep.loaders._rows import BadRow, Row, check_rows
from misstep.loaders._streaming import stream_rows
from misstep.loaders._summary import Summary, summary_of
from misstep.loaders._writing import write_files

__all__ = [
    "BadRow",
    "LazyDataset",
    "RawRow",
    "Row",
    "Summary",
    "check_file",
    "check_rows",
    "corpus_rows",
    "error_sections_dataset",
    "fetch",
    "first_error_dataset",
    "load_rows",
    "mirror",
    "procedural_dataset",
    "recorded_datasets",
    "sample_of",
    "stream_rows",
    "summary_of",
    "write_files",
]
