"""The samples of a benchmark for the report page: every step, and what each run said about it.

The page holds them compressed, in parts that a browser unpacks one at a time: an index of all
samples, the solutions in chunks of a few samples, and the words of each run in larger chunks.
"""

import gzip
import json
from base64 import b64encode
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import isnan
from typing import Any

from pydantic_core import PydanticSerializationError, to_json

from misstep.log_files import read_sample_objects
from misstep.plain_text import one_line
from misstep.reports._read_runs import are_large, in_processes, no_garbage_collection
from misstep.reports._runs import Run, protocols, run_labels
from misstep.reports._samples import SampleRecord, ScoreRecord
from misstep.reports._step_rewards import StepFeatures, step_features
from misstep.reports._text import formula_mathml, formulas_and_text, is_formula
from misstep.stores import CriticVerdict, SearchRecord

SOLUTIONS_A_CHUNK, WORDS_A_CHUNK = 25, 100
MOST_CHARACTERS = 18_000_000
"""Characters of all words on a page. With many runs, each reply is cut to its share."""
LONGEST_STEP, LONGEST_WORDS, SHORTEST_WORDS = 20_000, 20_000, 200
"""Characters of a step, and of the words of a run about one sample."""
_RENDERED = 2_000
"""Formulas in replies are rendered if each reply may have at least this many characters."""
_EXCERPT = 140
_LEVEL = 5
"""The level of compression: higher ones take twice as long for three percent."""

_CODES = {
    "exact": "e",
    "right": "r",
    "early": "a",
    "late": "l",
    "missed": "m",
    "false_alarm": "f",
    "out_of_range": "o",
    "unread": "u",
    "not_recorded": "n",
}
"""Findings in the index. Also: h and w for hits and misses without a step, p for a part of a hit,
x for a sample that ended in an error, and a space for a sample that the run does not have."""

Pieces = list[str | list[str]]
"""A text: strings, and formulas as pairs of LaTeX and MathML."""


@dataclass(frozen=True)
class Microscope:
    """The samples of one benchmark as compressed parts of a page, by their names."""

    samples: int
    parts: dict[str, str] = field(default_factory=dict)
    """Base64 of gzip of JSON."""
    features: dict[str, StepFeatures] = field(default_factory=dict)
    """The lengths and styles of the steps of each sample."""


@dataclass(frozen=True)
class _Texts:
    """The texts in a run's log that the records of its samples lack."""

    solutions: dict[str, dict[str, Any]]
    """The problem and the steps, for the samples that were asked for."""
    own: dict[str, dict[str, Any]]
    """Steps that only this run has, such as those of a search, and the threshold of its rewards."""
    words: list[str]
    """The words about all samples, in compressed chunks."""
    features: dict[str, StepFeatures]


def start_microscope(runs: Sequence[Run], reading: str = "strict") -> Callable[[], Microscope]:
    """Begin to read the texts of all samples; the result waits for them and returns the samples."""
    order: dict[str, SampleRecord] = {}
    first: list[list[str]] = []
    for run in runs:
        new = [sample for sample in run.samples if sample.id not in order]
        order |= {sample.id: sample for sample in new}
        first.append([sample.id for sample in new])
    replies = sum(len(run.samples) for run in runs)
    share = max(SHORTEST_WORDS, min(LONGEST_WORDS, MOST_CHARACTERS // max(1, replies)))
    ids = list(order)
    jobs = [(run.location, (ids, set(new), share)) for run, new in zip(runs, first, strict=True)]
    texts = in_processes(_read_texts, jobs, are_large(run.location for run in runs))
    return lambda: _microscope(runs, order, list(texts), reading)


def _microscope(
    runs: Sequence[Run], order: Mapping[str, SampleRecord], texts: Sequence[_Texts], reading: str
) -> Microscope:
    ids = list(order)
    solutions = {id: found for one in texts for id, found in one.solutions.items()}
    parts = {"index": _packed(_index(runs, order, texts, reading))}
    for number, start in enumerate(range(0, len(ids), SOLUTIONS_A_CHUNK)):
        chunk = ids[start : start + SOLUTIONS_A_CHUNK]
        content = [_solution(order[id], solutions.get(id, {}), runs, texts) for id in chunk]
        parts[f"solutions-{number}"] = _packed(content)
    for place, one in enumerate(texts):
        parts |= {f"words-{place}-{i}": chunk for i, chunk in enumerate(one.words) if chunk}
    features = {id: found for one in texts for id, found in one.features.items()}
    return Microscope(len(ids), parts, features)


def _packed(content: Any) -> str:  # noqa: ANN401
    try:
        text = to_json(content, inf_nan_mode="null")
    except PydanticSerializationError:  # half of a character, which JSON cannot hold
        text = json.dumps(content, ensure_ascii=False).encode(errors="replace")
    return b64encode(gzip.compress(text, _LEVEL, mtime=0)).decode()


@no_garbage_collection()
def _read_texts(job: tuple[str, tuple[list[str], set[str], int]]) -> _Texts:
    """Read the texts of a log: solutions that no earlier log has, and the words of its critic."""
    location, (ids, wanted, share) = job
    solutions: dict[str, dict[str, Any]] = {}
    own: dict[str, dict[str, Any]] = {}
    words: dict[str, list[Pieces]] = {}
    features: dict[str, StepFeatures] = {}
    for sample in read_sample_objects(location):
        id = str(sample.get("id"))
        if id in words:
            continue  # a later epoch
        metadata, store = sample.get("metadata") or {}, sample.get("store") or {}
        if id in wanted:
            features[id] = step_features(_steps(metadata))
            solutions[id] = {
                "problem": _pieces(_problem(sample.get("input"), metadata)),
                "steps": [_pieces(step) for step in _steps(metadata)],
                "gold": _gold(metadata),
            }
        if found := _own(store):
            own[id] = found
        words[id] = _words(sample, store, share)
    chunks = []
    for start in range(0, len(ids), WORDS_A_CHUNK):
        chunk = [words.get(id, []) for id in ids[start : start + WORDS_A_CHUNK]]
        chunks.append(_packed(chunk) if any(chunk) else "")
    return _Texts(solutions, own, chunks, features)


def _problem(given: object, metadata: Mapping[str, Any]) -> str:
    if isinstance(given, str):
        return given
    if isinstance(metadata.get("question"), str):
        return str(metadata["question"])
    messages = given if isinstance(given, list) else []
    contents = [one.get("content") for one in messages if isinstance(one, dict)]
    return "\n\n".join(one for one in contents if isinstance(one, str))


def _steps(metadata: Mapping[str, Any]) -> list[str]:
    """The steps of a solution; for error recovery, those up to the mistake."""
    steps = metadata.get("steps")
    if not isinstance(steps, list) and "incorrect_step" in metadata:
        steps = [*metadata.get("correct_steps", []), metadata["incorrect_step"]]
    return [str(step)[:LONGEST_STEP] for step in steps] if isinstance(steps, list) else []


def _gold(metadata: Mapping[str, Any]) -> list[int | None]:
    """The label of each step: -1 wrong, 0 neutral, 1 right, None if nobody labelled it."""
    count = len(_steps(metadata))
    if isinstance(labels := metadata.get("step_labels"), list):
        return [one if isinstance(one, int) else None for one in labels][:count]
    for name, base in (("wrong_steps", 0), ("gold_sections", 1)):
        if isinstance(wrong := metadata.get(name), list):
            return [-1 if step + base in wrong else 1 for step in range(count)]
    label = metadata.get("label", count - 1 if "incorrect_step" in metadata else None)
    if not isinstance(label, int):
        return []
    if label < 0:
        return [1] * count
    return [1 if step < label else -1 if step == label else None for step in range(count)]


def _own(store: Mapping[str, Any]) -> dict[str, Any]:
    """What only this run has: the solution that a search found, and the threshold of rewards."""
    found: dict[str, Any] = {}
    threshold = store.get(f"{CriticVerdict.__name__}:threshold")
    if isinstance(threshold, int | float):
        found["threshold"] = threshold
    result = store.get(f"{SearchRecord.__name__}:result")
    if isinstance(result, dict) and isinstance(result.get("steps"), list):
        found["steps"] = [_pieces(str(step)[:LONGEST_STEP]) for step in result["steps"]]
        rewards = store.get(f"{SearchRecord.__name__}:rewards")
        found["rewards"] = rewards if isinstance(rewards, list) else []
    return found


def _words(sample: Mapping[str, Any], store: Mapping[str, Any], share: int) -> list[Pieces]:
    """What the critic wrote, one text for each vote. Long texts keep their ends."""
    reason = store.get(f"{CriticVerdict.__name__}:reason")
    output = sample.get("output") or {}
    texts = [_message_text(choice) for choice in output.get("choices") or []]
    if isinstance(reason, str) and reason.strip():
        texts = [reason, *(text for text in texts if text != reason)]
    texts = [text for text in texts if text.strip()]
    most = max(SHORTEST_WORDS, share // max(1, len(texts)))
    texts = [text if len(text) <= most else f"…{text[-most:]}" for text in texts]
    # To convert the formulas of a large report would take longer than all the rest.
    return [_pieces(text) if share >= _RENDERED else [text] for text in texts]


def _message_text(choice: object) -> str:
    content = (choice.get("message") or {}).get("content") if isinstance(choice, dict) else None
    if isinstance(content, str):
        return content
    parts = [one for one in content or [] if isinstance(one, dict)]
    return "\n\n".join(str(one.get("text") or one.get("reasoning") or "") for one in parts)


def _pieces(text: str) -> Pieces:
    """Return a text with its formulas as MathML."""
    if "$" not in text and "\\" not in text:
        return [text] if text else []
    pieces: Pieces = []
    for piece in formulas_and_text(text):
        mathml = formula_mathml(piece) if is_formula(piece) else None
        pieces.append(piece if mathml is None else [piece, mathml])
    return pieces


def _index(
    runs: Sequence[Run], order: Mapping[str, SampleRecord], texts: Sequence[_Texts], reading: str
) -> dict[str, Any]:
    """An index of all samples: what the list and its filters need."""
    labels, asked = run_labels(runs), protocols(runs)
    subsets = list(dict.fromkeys(sample.facets.get("subset", "") for sample in order.values()))
    columns: list[dict[str, Any]] = []
    for run, text in zip(runs, texts, strict=True):
        thresholds = (one["threshold"] for one in text.own.values() if "threshold" in one)
        threshold = next(thresholds, run.traits.get("threshold"))
        scorer = run.scorer(reading)
        cells = [_cell(run, run.by_id.get(id), scorer, threshold) for id in order]
        columns.append(
            {
                "name": labels[run.id],
                "protocol": asked[run.id] or run.protocol,
                "file": run.file,
                "threshold": threshold,
                "words": any(text.words),
                "findings": "".join(cell[0] for cell in cells),
                "answers": [cell[1] for cell in cells],
                "drops": "".join(cell[2] for cell in cells),
            }
        )
    samples = order.values()
    return {
        "runs": columns,
        "ids": list(order),
        "subsets": subsets,
        "subset": [subsets.index(sample.facets.get("subset", "")) for sample in samples],
        "label": [sample.label for sample in samples],
        "target": [sample.target[:80] for sample in samples],
        "steps": [sample.n_steps for sample in samples],
        "text": [_excerpt(sample.text) for sample in samples],
        "sizes": {"solutions": SOLUTIONS_A_CHUNK, "words": WORDS_A_CHUNK},
    }


def _excerpt(text: str) -> str:
    line = one_line(text)
    return line if len(line) <= _EXCERPT else f"{line[:_EXCERPT].rpartition(' ')[0]} …"


def _cell(
    run: Run, sample: SampleRecord | None, scorer: str, threshold: float | None
) -> tuple[str, int | str | None, str]:
    """The finding, the answer, and whether a reward before the label is below the threshold."""
    if sample is None:
        return " ", None, "0"
    score = sample.scores.get(scorer)
    if score is None:
        return "x", None, "0"
    verdict = _verdict(run, sample, score)
    answer: int | str | None = score.answer[:60] if score.answer else None
    if verdict is not None and verdict.predicted is not None:
        answer = verdict.predicted
    if verdict is not None and sample.label is not None:
        code = _CODES[sample.finding(verdict)]
    elif score.unread:
        code = "u"
    else:
        code = "w" if isnan(score.hit) or score.hit <= 0 else "h" if score.hit >= 1 else "p"
    limit = 0.5 if threshold is None else threshold
    before = _rewards(sample)[: max(0, sample.label or 0)]
    return code, answer, str(int(any(one is not None and one < limit for one in before)))


def _verdict(run: Run, sample: SampleRecord, score: ScoreRecord) -> ScoreRecord | None:
    """The score that names the first wrong step, if there is one."""
    if sample.label is None:
        return None
    if run.kind == "first_error":
        return score
    return sample.scores.get("first_error", score if score.answer else None)


def _rewards(sample: SampleRecord) -> tuple[float | None, ...]:
    return next((one.rewards for one in sample.scores.values() if one.rewards), ())


def _solution(
    sample: SampleRecord, found: Mapping[str, Any], runs: Sequence[Run], texts: Sequence[_Texts]
) -> dict[str, Any]:
    """A sample with what each run said about its steps."""
    said: dict[str, dict[str, Any]] = {}
    for place, (run, text) in enumerate(zip(runs, texts, strict=True)):
        record = run.by_id.get(sample.id)
        if record is None:
            continue
        own = dict(text.own.get(sample.id, {}))
        scores = record.scores.values()
        details = {
            "rewards": [None if one is None else round(one, 4) for one in _rewards(record)]
            or own.get("rewards"),
            "votes": next((one.votes for one in scores if one.votes), None),
            "labels": next((list(one.labels) for one in scores if one.labels), None),
            "steps": own.get("steps"),
            "error": record.error,
        }
        said[str(place)] = {name: value for name, value in details.items() if value}
    return {
        "problem": found.get("problem", []),
        "steps": found.get("steps", []),
        "gold": found.get("gold", []),
        "facets": sample.facets,
        "said": {place: details for place, details in said.items() if details},
    }


def page_parts(number: int, found: Microscope) -> Iterator[tuple[str, str]]:
    """Yield the id of each part on the page, and the part."""
    for name, content in found.parts.items():
        yield f"samples-{number}-{name}", content
