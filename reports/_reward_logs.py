"""The rewards that runs left in their logs."""

from collections.abc import Iterable

from inspect_ai.log import EvalLog, EvalSample

from misstep.registry import MisstepError
from misstep.reports._logs import read_log
from misstep.reports._threshold_curve import RewardRow

SCORER = "first_error"
ALL = "all"
"""The subset of rows that name none."""


def reward_rows(addresses: Iterable[str]) -> dict[str, list[RewardRow]]:
    """The rewards of first-error runs, by model.

    Logs of one model are taken together, such as one for each subset.

    Raises:
        MisstepError: A log cannot be read, is of another kind, holds no rewards, or has a sample
            that another log has, too.
    """
    rows: dict[str, dict[tuple[str, str], RewardRow]] = {}
    for address in addresses:
        log = read_log(address)
        found = _rows(log, address)
        of_model = rows.setdefault(log.eval.model, {})
        for row in found:
            if (row.subset, row.id) in of_model:
                raise MisstepError(
                    f"{address}: the sample {row.id!r} of {log.eval.model} is in another log, too. "
                    "Name each run once; of several epochs, run one."
                )
            of_model[row.subset, row.id] = row
    return {model: list(found.values()) for model, found in rows.items()}


def _rows(log: EvalLog, address: str) -> list[RewardRow]:
    scored = [sample for sample in log.samples or [] if SCORER in (sample.scores or {})]
    rows = [_row(sample) for sample in scored]
    if not any(row.rewards for row in rows):
        raise MisstepError(
            f"{address}: holds no rewards. Run with -T critic=reward, or with -T critic=stepwise "
            "--logprobs --top-logprobs 20, or import step scores."
        )
    return rows


def _row(sample: EvalSample) -> RewardRow:
    score = (sample.scores or {})[SCORER]
    return RewardRow(
        id=str(sample.id),
        subset=str(sample.metadata.get("subset") or ALL),
        label=int(sample.metadata["label"]),
        rewards=(score.metadata or {}).get("rewards") or [],
    )
