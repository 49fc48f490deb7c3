"""A guided search log in the files of the original evaluation: a list of results by data set."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from inspect_ai.log import EvalLog, EvalSample
from inspect_ai.scorer import CORRECT

from misstep.cli._exported import file_name, json_text
from misstep.registry import MisstepError
from misstep.reports import read_log
from misstep.scorers import FOUND
from misstep.solvers import SEARCH

SCORER = "final_answer"
END = "<|im_end|>"
"""What the original appends to a step that ends a solution."""

Record = dict[str, Any]


@dataclass(frozen=True)
class SearchRun:
    """What a finished guided search left, by data set."""

    sets: dict[str, list[EvalSample]]
    failed: int

    def files(self, folder: Path) -> Iterator[tuple[Path, str]]:
        """`<set>/result-0-None.json` for each set, and `results.json` with their accuracies."""
        for name, samples in self.sets.items():
            rows = [_record(sample) for sample in samples]
            yield folder / file_name(name) / "result-0-None.json", json_text(rows)
        yield folder / "results.json", json_text(self.results())

    def results(self) -> Record:
        """The accuracy of each set over all its samples, and their plain average."""
        accuracies = {
            name: sum(_score(sample).value == CORRECT for sample in samples) / len(samples)
            for name, samples in self.sets.items()
        }
        return accuracies | {"average": sum(accuracies.values()) / len(accuracies)}


def read_search(address: str) -> SearchRun:
    """Read a guided search log that can be exported.

    Raises:
        MisstepError: It cannot be read, is not finished, or is of another eval.
    """
    log = read_log(address)
    if log.status != "success":
        raise MisstepError(
            f"{address}: the run's status is {log.status!r}; only a finished one is exported. "
            f"To finish it: inspect eval-retry {address}"
        )
    scored = [sample for sample in log.samples or [] if SCORER in (sample.scores or {})]
    if not scored:
        raise MisstepError(
            f"{address}: not a log of guided search. Its scores are {_names(log)}; wanted is "
            f"{SCORER}."
        )
    sets: dict[str, list[EvalSample]] = {}
    for sample in scored:
        name = sample.metadata.get("subset") or log.eval.dataset.name or "problems"
        sets.setdefault(str(name), []).append(sample)
    return SearchRun(sets, len(log.samples or []) - len(scored))


def _names(log: EvalLog) -> str:
    scores = log.results.scores if log.results else []
    return ", ".join(score.name for score in scores) or "none"


def _score(sample: EvalSample) -> Any:  # noqa: ANN401
    return (sample.scores or {})[SCORER]


def _record(sample: EvalSample) -> Record:
    found = (sample.output.metadata or {})[FOUND]
    history = [_iteration(one) for one in sample.store.get(SEARCH) or [] if "candidates" in one]
    chosen = [one for one in history if one["chosen_step"] is not None]
    steps = [one["chosen_step"] for one in chosen]
    # Of a beam search the path that won is not the first choice of every iteration.
    same = [step.removesuffix(END) for step in steps] == found["steps"]
    return {
        "question": sample.input,
        "iteration_history": chosen,
        "final_steps": steps if same else found["steps"],
        "gt_answer": sample.target,
        "pred_answer": found["answer"],
    }


def _iteration(iteration: Record) -> Record:
    """An iteration as the original words it: candidates that have a reward, and the choice."""
    kept = iteration["kept"][:1]
    known = [i for i, one in enumerate(iteration["candidates"]) if one["reward"] is not None]
    candidates = [iteration["candidates"][i] for i in known]
    shown = [one["step"] + (END if one["final"] else "") for one in candidates]
    place = known.index(kept[0]) if kept else None
    return {
        "iteration_index": iteration["iteration"],
        "candidates_info": [
            {"candidate_step": step, "reward": one["reward"]}
            for step, one in zip(shown, candidates, strict=True)
        ],
        "chosen_step_index": place,
        "chosen_step": None if place is None else shown[place],
    }
