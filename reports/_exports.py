"""The results of a log in the files that other tools read."""

from collections import defaultdict
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any

from inspect_ai.log import EvalLog, EvalSample
from inspect_ai.model import ChatCompletionChoice
from inspect_ai.scorer import CORRECT, Score

from misstep.loaders import json_lines
from misstep.plain_text import metric_key
from misstep.registry import MisstepError
from misstep.reports._read_runs import read_log, refuse_lost_samples, result_metrics
from misstep.reports._runs import DETECTIONS
from misstep.reports._samples import sample_metrics
from misstep.reports._text import csv_text, file_name, file_names, json_text, to_json
from misstep.scorers import reasoning_of
from misstep.stores import IterationRecord, critic_verdict, search_iterations, search_result

EXPORT_FORMATS = ("deltabench", "processbench", "agentprocessbench", "json", "search")

_METRICS = ("error_accuracy", "correct_accuracy", "f1_score")
_COUNTS = ("error_count", "correct_count", "total_count")
_SUBJECT = ("task_l1", "task_l2", "origin", "error_type")
_NOT_OF_THE_ROW = {"steps", "n_steps", "has_error", "recorded"}
_READ_BY_IMPORT = {"model", "config", "scores", "step_scores", "step_scores_up_to_first_error"}
"""Fields of the rows that `misstep import` would read as results of a run."""
_STOPS = {"truncated": "max_tokens", "refused": "content_filter"}
_SCORERS = {"search": "final_answer", "agentprocessbench": "step_labels"}
"""The scorer that a format needs, if it is not first_error."""
_LOGS = {"search": "guided search", "agentprocessbench": "agent_process"}
_END = "<|im_end|>"
"""The original search appends this to the last step of a solution."""

Row = dict[str, Any]


@dataclass(frozen=True)
class Export:
    """The files of a log, by name in their folder."""

    files: dict[str, str]
    folder: str
    """The default folder, in results/."""
    failed: int
    """Samples without a score, which are left out."""


def export_log(location: str, file_format: str) -> Export:
    """Return the results of a finished log as files."""
    search = file_format == "search"
    scorer = _SCORERS.get(file_format, "first_error")
    log = read_log(location)
    if log.status != "success" or log.results is None:
        raise MisstepError(
            f"{location}: the run's status is {log.status!r}; only finished runs are exported. "
            f"To finish it: inspect eval-retry {location}"
        )
    metrics = result_metrics(log.results)
    if scorer == "first_error" and scorer not in metrics and DETECTIONS in metrics:
        scorer = DETECTIONS
    if scorer not in metrics:
        raise MisstepError(
            f"{location}: not a log of {_LOGS.get(file_format, 'a first-error eval')}. "
            f"Its scores are {', '.join(metrics) or 'none'}; {scorer} is required."
        )
    refuse_lost_samples(log, len(log.samples or []), location)
    samples = [sample for sample in log.samples or [] if scorer in (sample.scores or {})]
    failed = len(log.samples or []) - len(samples)
    if search:
        return Export(_search_files(log, samples), "search", failed)
    if (log.eval.config.epochs or 1) > 1:
        raise MisstepError(
            f"{location}: {log.eval.config.epochs} epochs; only runs of 1 epoch are exported. "
            "Use votes in place of epochs: -T votes=8."
        )
    model = file_name(log.eval.model)
    dataset = file_name(PurePosixPath(log.eval.dataset.name or "data").stem)
    samples.sort(key=lambda sample: str(sample.id))
    if file_format == "agentprocessbench":
        return Export(_judgement_files(samples, model, location), model, failed)
    if file_format == "processbench":
        return Export(_processbench_files(samples, dataset, location), model, failed)
    votes = max((_voting(sample).get("asked", 1) for sample in samples), default=1)
    name = f"{dataset}_{model}_votes{votes}"
    make = _deltabench_files if file_format == "deltabench" else _json_file
    by_id = {str(sample.id): [sample] for sample in samples}
    computed = sample_metrics(by_id, {str(s.id): s.scores or {} for s in samples})
    return Export(make(samples, computed[scorer], name), "processbench", failed)


def _deltabench_files(
    samples: list[EvalSample], metrics: dict[str, float], name: str
) -> dict[str, str]:
    """Return a row for each sample, and the metrics of all rows and by `task_l1`."""
    rows = [_result_row(sample, _SUBJECT, "generated_critique") for sample in samples]
    tasks = sorted({s.metadata["subset"] for s in samples if s.metadata.get("subset")})
    parts = {"Overall": "", **{task: f"{task}_" for task in tasks}}
    table = [{"task_l1": task, **_percent(metrics, part)} for task, part in parts.items()]
    return {f"{name}.jsonl": json_lines(rows), f"{name}.csv": csv_text(table)}


def _processbench_files(samples: list[EvalSample], dataset: str, location: str) -> dict[str, str]:
    """Return the published script's files: for each subset, rows with and without an error."""
    files = defaultdict(list)
    subsets = [str(sample.metadata.get("subset") or dataset) for sample in samples]
    names = file_names(subsets, location)
    for sample, subset in zip(samples, subsets, strict=True):
        kind = "error" if sample.metadata["has_error"] else "correct"
        files[f"{names[subset]}_{kind}.jsonl"].append(_processbench_row(sample))
    return {name: json_lines(rows) for name, rows in files.items()}


def _processbench_row(sample: EvalSample) -> Row:
    critic = critic_verdict(sample.store, sample.output)
    unread = str(critic.unread) if critic is not None else ""
    stops = [_STOPS.get(unread, choice.stop_reason) for choice in sample.output.choices]
    skipped = _NOT_OF_THE_ROW | _READ_BY_IMPORT
    return {
        "id": sample.id,
        "problem": sample.input,
        "steps": sample.metadata["steps"],
        **{name: value for name, value in sample.metadata.items() if name not in skipped},
        "generated_critique": _critiques(sample),
        **({"stop_reasons": stops} if set(stops) != {"stop"} else {}),
        **_verdict(sample),
    }


def _judgement_files(samples: list[EvalSample], model: str, location: str) -> dict[str, str]:
    """Return AgentProcessBench's result files: for each set, a judgement of each trajectory."""
    judge = model.rpartition("_")[2] or model
    files = defaultdict(list)
    sets = [str(sample.metadata.get("subset") or "data") for sample in samples]
    names = file_names(sets, location)
    for sample, name in zip(samples, sets, strict=True):
        files[f"{names[name]}__blind_{judge}.jsonl"].append(_judgement_row(sample, name, judge))
    return {name: json_lines(rows) for name, rows in files.items()}


def _judgement_row(sample: EvalSample, dataset: str, judge: str) -> Row:
    labels = (_score(sample, "step_labels").metadata or {})["labels"]
    failed = all(label is None for label in labels)
    left = critic_verdict(sample.store, sample.output)
    number = str(sample.id).rpartition("-")[2]
    places = sample.metadata["message_index"]
    reason = {} if left is None or left.reason is None else {"final": left.reason}
    return {
        "dataset": dataset,
        **({"total_index": int(number)} if number.isdecimal() else {"record_id": sample.id}),
        "annotator": judge,
        "step_labels": {str(p): label for p, label in zip(places, labels, strict=True)},
        "final_label": (sample.metadata.get("recorded") or {}).get("final_label"),
        "comment": "llm_annotate_failed: no label was read" if failed else "",
        "updated_at": sample.completed_at or "",
        **({"explanations": reason} if reason else {}),
    }


def _json_file(samples: list[EvalSample], metrics: dict[str, float], name: str) -> dict[str, str]:
    """Return results and metrics in the shape of the reproduction guide's script."""
    results = [_result_row(sample, (), "generated_text") for sample in samples]
    return {f"{name}.json": json_text({"results": results, "metrics": _percent(metrics, "")})}


def _result_row(sample: EvalSample, kept: tuple[str, ...], critique: str) -> Row:
    voting, answer = _voting(sample), _score(sample).answer
    single = [] if answer is None else [answer]
    return {
        "id": sample.id,
        **{name: sample.metadata[name] for name in kept if name in sample.metadata},
        "label": sample.metadata["label"],
        **_verdict(sample),
        "votes": voting.get("votes", single),
        "vote_distribution": voting.get("counts", dict.fromkeys(single, 1)),
        critique: _critiques(sample),
    }


def _percent(metrics: dict[str, float], prefix: str) -> Row:
    # An undefined metric is null or empty, never 0.
    percent: Row = to_json(
        {name: metrics[metric_key(f"{prefix}{name}")] * 100 for name in _METRICS}
    )
    return percent | {name: int(metrics[metric_key(f"{prefix}{name}")]) for name in _COUNTS}


def _score(sample: EvalSample, scorer: str = "first_error") -> Score:
    scores = sample.scores or {}
    return scores[scorer if scorer in scores else DETECTIONS]


def _verdict(sample: EvalSample) -> Row:
    score = _score(sample)
    prediction = None if score.answer is None else int(score.answer)
    return {"prediction": prediction, "match": score.value == CORRECT}


def _voting(sample: EvalSample) -> Row:
    return (_score(sample).metadata or {}).get("voting") or {}


def _critiques(sample: EvalSample) -> str | list[str]:
    texts = [_verdict_text(choice) for choice in sample.output.choices]
    return texts[0] if len(texts) == 1 else texts


def _verdict_text(choice: ChatCompletionChoice) -> str:
    """Return the answer. If only the reasoning has a box, the reasoning stands before it."""
    answer, reasoning = choice.message.text, reasoning_of(choice)
    boxed = "\\boxed" in reasoning and "\\boxed" not in answer
    return f"{reasoning}\n\n{answer}" if boxed else answer


def _search_files(log: EvalLog, samples: list[EvalSample]) -> dict[str, str]:
    """Return the original's files: results by data set, and their accuracies with the mean."""
    sets = defaultdict(list)
    for sample in samples:
        name = sample.metadata.get("subset") or log.eval.dataset.name or "problems"
        sets[str(name)].append(sample)
    accuracies = {
        name: sum(_score(one, "final_answer").value == CORRECT for one in own) / len(own)
        for name, own in sets.items()
    }
    average = sum(accuracies.values()) / max(1, len(accuracies))
    names = file_names(sets, log.location)
    return {
        f"{names[name]}/result-0-None.json": json_text([_search_row(one) for one in own])
        for name, own in sets.items()
    } | {"results.json": json_text(accuracies | {"average": average})}


def _search_row(sample: EvalSample) -> Row:
    result = search_result(sample.store, sample.output)
    history = [_iteration(one) for one in search_iterations(sample.store)]
    chosen = [one for one in history if one["chosen_step"] is not None]
    steps = [one["chosen_step"] for one in chosen]
    # In a beam search the best path is not the first choice of every iteration.
    same = [step.removesuffix(_END) for step in steps] == result.steps
    return {
        "question": sample.input,
        "iteration_history": chosen,
        "final_steps": steps if same else result.steps,
        "gt_answer": sample.target,
        "pred_answer": result.answer,
    }


def _iteration(iteration: IterationRecord) -> Row:
    """Return an iteration in the original's format: candidates with a reward, and the choice."""
    known = [i for i, one in enumerate(iteration.candidates) if one.reward is not None]
    candidates = [iteration.candidates[i] for i in known]
    steps = [one.step + (_END if one.final else "") for one in candidates]
    place = known.index(iteration.kept[0]) if iteration.kept else None
    return {
        "iteration_index": iteration.iteration,
        "candidates_info": [
            {"candidate_step": step, "reward": one.reward}
            for step, one in zip(steps, candidates, strict=True)
        ],
        "chosen_step_index": place,
        "chosen_step": None if place is None else steps[place],
    }
