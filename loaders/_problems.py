"""Problems with known answers as samples: published sets, the user's own, or generated ones."""

from collections.abc import Iterator, Sequence
from pathlib import PurePosixPath
from typing import Any

from inspect_ai.dataset import MemoryDataset, Sample
from pydantic import BaseModel, ConfigDict

from misstep.generator import solutions
from misstep.loaders._files import file_format
from misstep.loaders._rows import (
    Answer,
    Id,
    Name,
    NonEmpty,
    all_good,
    id_text,
    named,
    validate_rows,
)
from misstep.loaders._sources import source_files
from misstep.registry import DataError, RowKind
from misstep.samples import GroupMetadata, problem_cluster

SAMPLE = "sample"
"""The source of generated problems: no download, and no model has seen them in training."""
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
"""The generator's families whose answers are numbers."""

_NEEDED: tuple[RowKind, ...] = ("problem",)


class ProblemRow(BaseModel):
    """A problem and its answer."""

    model_config = ConfigDict(extra="allow", strict=True)

    id: Id
    problem: NonEmpty = named("problem", "question")
    answer: Answer = named("final_answer", "answer")
    subset: Name | None = None
    cluster: Id | None = None


def problems_dataset(source: str | Sequence[str], accept: str | None = None) -> MemoryDataset:
    """Return problems as samples: the problem is the input, its answer the target."""
    names = source.split(",") if isinstance(source, str) else list(source)
    samples: dict[str, Sample] = {}
    for name in (name.strip() for name in names):
        for sample in _generated() if name == SAMPLE else _read(name, accept):
            if str(sample.id) in samples:
                raise DataError(f"{name}: the id {sample.id!r} is used twice.")
            samples[str(sample.id)] = sample
    return MemoryDataset(list(samples.values()), name=",".join(_set_name(n.strip()) for n in names))


def _set_name(source: str) -> str:
    return PurePosixPath(source).stem if file_format(source) else source


def _read(source: str, accept: str | None) -> Iterator[Sample]:
    name = _set_name(source)

    def read(number: int, content: dict[str, Any]) -> ProblemRow:
        # Some sets have both `answer` and `final_answer`, one of them empty.
        known = {key: value for key, value in content.items() if value is not None}
        id = id_text(known.pop("id" if "id" in known else "unique_id", number - 1))
        numbered = isinstance(id, str) and id.isdigit()
        return ProblemRow.model_validate(known | {"id": f"{name}-{id}" if numbered else id})

    for file in source_files(source, _NEEDED, accept=accept, more=[SAMPLE]):
        for problem in all_good(*validate_rows(file.rows, read), file.address, _NEEDED):
            extra: dict[str, Any] = problem.model_extra or {}
            kept = {key: x for key, x in extra.items() if key not in ("question", "solution")}
            group = GroupMetadata(
                subset=problem.subset or name,
                cluster=problem.cluster or problem_cluster(problem.problem),
            )
            yield Sample(
                id=problem.id,
                input=problem.problem,
                target=problem.answer,
                metadata={**kept, **group.model_dump()},
            )


def _generated() -> Iterator[Sample]:
    for solution in solutions(0, SAMPLES, steps="4-6", families=FAMILIES, difficulty=1):
        yield Sample(
            id=solution.id,
            input=solution.problem,
            target=solution.answer,
            metadata={
                "family": solution.family,
                **GroupMetadata(
                    subset=SAMPLE, cluster=problem_cluster(solution.problem)
                ).model_dump(),
            },
        )
