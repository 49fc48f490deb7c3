"""The results of a guided search log in the files of the original evaluation."""

from dataclasses import dataclass
from typing import Any

from inspect_ai.log import EvalSample
from inspect_ai.scorer import CORRECT

from misstep.registry import MisstepError
from misstep.reports._runs import read_finished_log
from misstep.reports._text import file_name, json_text
from misstep.samples import IterationRecord, search_iterations, search_result

SCORER = "final_answer"
END = "<|im_end|>"
"""The original appends this to the last step of a solution."""

Record = dict[str, Any]


@dataclass(frozen=True)
class SearchResults:
    """The results of a finished guided search, by data set."""

    sets: dict[str, list[EvalSample]]
    failed: int

    def files(self) -> dict[str, str]:
        """Return `<set>/result-0-None.json` for each set, and `results.json`."""
        files = {
            f"{file_name(name)}/result-0-None.json": json_text([_record(one) for one in samples])
            for name, samples in self.sets.items()
        }
        return files | {"results.json": json_text(self.accuracies())}

    def accuracies(self) -> Record:
        """Return the accuracy of each set over all its samples, and their plain average."""
        accuracies = {
            name: sum(_score(sample).value == CORRECT for sample in samples) / len(samples)
            for name, samples in self.sets.items()
        }
        return accuracies | {"average": sum(accuracies.values()) / len(accuracies)}


def read_search_results(address: str) -> SearchResults:
    """Read a log of guided search for export.

    Raises:
        MisstepError: The log cannot be read, is not finished, or belongs to another eval.
    """
    log = read_finished_log(address, SCORER, "guided search")
    scored = [sample for sample in log.samples or [] if SCORER in (sample.scores or {})]
    if not scored:
        raise MisstepError(f"{address}: no sample has a score.")
    sets: dict[str, list[EvalSample]] = {}
    for sample in scored:
        name = sample.metadata.get("subset") or log.eval.dataset.name or "problems"
        sets.setdefault(str(name), []).append(sample)
    return SearchResults(sets, len(log.samples or []) - len(scored))


def _score(sample: EvalSample) -> Any:  # noqa: ANN401
    return (sample.scores or {})[SCORER]


def _record(sample: EvalSample) -> Record:
    result = search_result(sample.store, sample.output)
    history = [_iteration(one) for one in search_iterations(sample.store)]
    chosen = [one for one in history if one["chosen_step"] is not None]
    steps = [one["chosen_step"] for one in chosen]
    # In a beam search the best path is not the first choice of every iteration.
    same = [step.removesuffix(END) for step in steps] == result.steps
    return {
        "question": sample.input,
        "iteration_history": chosen,
        "final_steps": steps if same else result.steps,
        "gt_answer": sample.target,
        "pred_answer": result.answer,
    }


def _iteration(iteration: IterationRecord) -> Record:
    """Return an iteration in the original's format: candidates with a reward, and the choice."""
    kept = iteration.kept[:1]
    known = [i for i, one in enumerate(iteration.candidates) if one.reward is not None]
    candidates = [iteration.candidates[i] for i in known]
    shown = [one.step + (END if one.final else "") for one in candidates]
    place = known.index(kept[0]) if kept else None
    return {
        "iteration_index": iteration.iteration,
        "candidates_info": [
            {"candidate_step": step, "reward": one.reward}
            for step, one in zip(shown, candidates, strict=True)
        ],
        "chosen_step_index": place,
        "chosen_step": None if place is None else shown[place],
    }
