"""Step scores of verifiers on ProcessBench in FoVer's own files.

The files are `processbench_<subset>/<mode>/verification=<model>/test.json`. They name no rows: the
rows are the first ones of the subset after a shuffle with a fixed seed. The recorded labels of all
steps are compared with those of these rows, so that other rows are an error.
"""

import re
from collections.abc import Iterator

from misstep.loaders._files import RawRow, read_object
from misstep.loaders._first_error import FirstErrorRow, load_rows
from misstep.registry import DataError
from misstep.verdicts import NO_ERROR

_PATH = re.compile(r"processbench_(\w+)/[^/]+/verification=([^/]+)/[^/]+\.json$")
_SEED = 68
"""The seed of the published shuffle."""


def holds_verifier_scores(address: str) -> bool:
    """Return whether a file is one of FoVer's, by its path."""
    return _PATH.search(address) is not None


def verifier_records(address: str, source: str) -> Iterator[RawRow]:
    """Yield the step scores in a file as records with the ids of their rows.

    The scores end at the first step that is labelled wrong.
    """
    import numpy as np

    found = _PATH.search(address)
    assert found is not None  # noqa: S101 (the caller asked)
    subset, model = found.groups()
    content = read_object(address)
    scores, labels, count = (
        content.get(name) for name in ("y_pred_step_level", "y_true_step_level", "num_instances")
    )
    if not isinstance(scores, list) or not isinstance(labels, list) or not isinstance(count, int):
        raise DataError(
            f"{address}: FoVer's files have y_pred_step_level, y_true_step_level and num_instances."
        )
    rows = load_rows(source, subset)
    order = np.random.default_rng(_SEED).permutation(len(rows))[:count]
    chosen = [rows[place] for place in order.tolist()]
    expected = [label for row in chosen for label in _labels(row)]
    if labels != expected or len(scores) != len(expected):
        raise DataError(
            f"{address}: {len(scores)} scores whose labels are not those of the {count} rows of "
            f"{subset!r} that FoVer drew. Use the published order of rows in {source!r}."
        )
    start = 0
    for number, row in enumerate(chosen, start=1):
        end = start + len(_labels(row))
        yield number, {"id": row.id, "subset": subset, "model": model, "scores": scores[start:end]}
        start = end


def _labels(row: FirstErrorRow) -> list[bool]:
    """Return whether each step is right, up to the first wrong one."""
    return [True] * len(row.steps) if row.label == NO_ERROR else [True] * row.label + [False]
