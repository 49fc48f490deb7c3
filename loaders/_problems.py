"""Problems with known answers as samples: published sets, the user's own, or generated ones."""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import PurePosixPath
from typing import Annotated, Any

from inspect_ai.dataset import MemoryDataset, Sample
from pydantic import AliasChoices, BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from misstep.generator import solutions
from misstep.loaders._fields import NonEmpty, id_text
from misstep.loaders._files import parse_rows, read_file, suffix
from misstep.loaders._places import check_pin, find_file
from misstep.loaders._rows import explain
from misstep.registry import DataError, UnknownNameError, sources

SAMPLE = "sample"
"""Generated problems: nothing to download, and nothing that can have leaked."""
SAMPLES = 64
FAMILIES = (
    "counting",
    "fractions",
    "kinematics",
    "linear_equations",
    "percentages",
    "sequences",
    "stoichiometry",
    "word_problems",
)
"""Those whose answers are numbers."""

PROBLEM_SETS = ("math500", "amc23", "aime24", "aime25", "minerva", "olympiadbench", "gsm8k")
_GSM8K_MARK = "####"
"""Before the answer that ends a solution of GSM8K."""


def answer_text(value: object) -> object:
    """An answer as text, whatever a file holds: numbers, lists, or a solution of GSM8K."""
    if isinstance(value, list) and value:
        return ", ".join(str(answer_text(part)) for part in value)
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    if isinstance(value, int | float) and not isinstance(value, bool):
        return str(value)
    if isinstance(value, str) and _GSM8K_MARK in value:
        return value.rpartition(_GSM8K_MARK)[2].strip().replace(",", "")
    return value


class Problem(BaseModel):
    """A problem and its answer."""

    model_config = ConfigDict(extra="allow", strict=True)

    id: Annotated[NonEmpty | None, BeforeValidator(id_text)] = Field(
        default=None, validation_alias=AliasChoices("id", "unique_id")
    )
    problem: NonEmpty = Field(validation_alias=AliasChoices("problem", "question"))
    answer: Annotated[NonEmpty, BeforeValidator(answer_text)] = Field(
        validation_alias=AliasChoices("final_answer", "answer")
    )
    subset: NonEmpty | None = None


def problems_dataset(source: str | Sequence[str], accept: str | None = None) -> MemoryDataset:
    """Problems as samples: the problem as input, its answer as target, its set as `subset`.

    Args:
        source: One or several of PROBLEM_SETS, `sample`, or the user's own files, which hold
            `problem` and `answer`.
        accept: The sha256 of a changed copy of a registered set.

    Raises:
        DataError: Rows that are missing, changed or malformed.
        UnknownNameError: An unknown set.
    """
    names = source.split(",") if isinstance(source, str) else list(source)
    samples: dict[str, Sample] = {}
    for name in (name.strip() for name in names):
        for sample in _samples(name, accept):
            if str(sample.id) in samples:
                raise DataError(f"{name}: the id {sample.id!r} stands twice.")
            samples[str(sample.id)] = sample
    return MemoryDataset(list(samples.values()), name=",".join(_set_name(n.strip()) for n in names))


def _samples(name: str, accept: str | None) -> Iterable[Sample]:
    if name == SAMPLE:
        return _generated()
    if name in PROBLEM_SETS:
        source = sources()[name]
        [file] = source.files
        path = find_file(name, source, file, accept)
        content = path.read_bytes()
        check_pin(content, file, str(path), accept)
        return _read(content, str(path), name)
    if suffix(name):
        return _read(read_file(name), name, _set_name(name))
    raise UnknownNameError("set of problems (nor is it a file)", name, [SAMPLE, *PROBLEM_SETS])


def _set_name(name: str) -> str:
    return PurePosixPath(name).stem if suffix(name) else name


def _read(content: bytes, address: str, name: str) -> Iterator[Sample]:
    empty = True
    for number, raw in parse_rows(content, address):
        empty = False
        problem = _problem(raw, f"{address}: row {number}")
        numbered = problem.id is None or problem.id.isdigit()
        id = f"{name}-{number - 1 if problem.id is None else problem.id}"
        yield _sample(problem, id if numbered else str(problem.id), name)
    if empty:
        raise DataError(f"{address}: holds no rows.")


def _problem(raw: object, where: str) -> Problem:
    if not isinstance(raw, dict):
        raise DataError(f"{where}: a {type(raw).__name__}, not an object.")
    # GSM8K's rows have a question and an answer, others both names for one of them.
    known = {key: value for key, value in raw.items() if value is not None}
    try:
        return Problem.model_validate(known)
    except ValidationError as problem:
        field, account = explain(problem.errors(include_url=False)[0])
        raise DataError(f"{where}: {field}: {account}") from None


def _sample(problem: Problem, id: str, name: str) -> Sample:
    extra: dict[str, Any] = problem.model_extra or {}
    kept = {key: value for key, value in extra.items() if key not in ("question", "solution")}
    return Sample(
        id=id,
        input=problem.problem,
        target=problem.answer,
        metadata={**kept, "subset": problem.subset or name},
    )


def _generated() -> Iterator[Sample]:
    for solution in solutions(0, SAMPLES, steps="4-6", families=FAMILIES, difficulty=1):
        yield Sample(
            id=solution.id,
            input=solution.problem,
            target=solution.answer,
            metadata={"subset": SAMPLE, "family": solution.family},
        )
