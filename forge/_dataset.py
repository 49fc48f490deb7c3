"""Built examples as samples for critics."""

from inspect_ai.dataset import MemoryDataset, Sample

from misstep.forge._offline import sample_examples
from misstep.loaders import (
    RowOrder,
    Subsets,
    check_rows,
    first_error_dataset,
    first_error_sample,
    ordered,
)
from misstep.samples import third_of
from misstep.verdicts import NO_ERROR

SAMPLE = "sample"
"""The bundled source: 48 solutions with an error from the offline injector, and 16 without."""

_NOT_LOGGED = (
    "original_steps",
    "rationale",
    "what_changed",
    "detection_difficulty",
    "checks",
    "review_votes",
    "original_votes",
)
"""Fields that critics do not need. They would double the size of the log."""


def adversarial_dataset(
    source: str, subset: Subsets = None, order: RowOrder = "interleaved"
) -> MemoryDataset:
    """Return built examples: the problem as input, the label as target, the steps as metadata."""
    if source == SAMPLE:
        rows, _ = check_rows(enumerate((one.row() for one in sample_examples()), 1))
        samples = [first_error_sample(row) for row in ordered(rows, order)]
    else:
        samples = list(first_error_dataset(source, subset, order=order))
    for sample in samples:
        add_position(sample)
    return MemoryDataset(samples, name=f"adversarial-{SAMPLE}" if source == SAMPLE else source)


def is_injection(sample: Sample) -> bool:
    """Return whether a sample comes from a built set: it keeps the original steps."""
    return bool((sample.metadata or {}).get("original_steps"))


def add_position(sample: Sample) -> None:
    """Add the third of the solution that has the error, and drop what critics do not need."""
    about = sample.metadata or {}
    label, steps = about["label"], about["steps"]
    third = None if label == NO_ERROR else third_of(label, len(steps))
    kept = {name: value for name, value in about.items() if name not in _NOT_LOGGED}
    sample.metadata = {**kept, "position_third": third}
