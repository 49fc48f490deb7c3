"""The sweep file: which evals, which models, with what settings."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Self

import yaml
from inspect_ai.log import EvalConfig
from inspect_ai.model import GenerateConfig
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, model_validator

from misstep.registry import DataError, did_you_mean, parse_yaml

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


def _named(field: str) -> BeforeValidator:
    return BeforeValidator(lambda value: {field: value} if isinstance(value, str) else value)


def _fields_of(settings: type[BaseModel]) -> BeforeValidator:
    def check(value: object) -> object:
        known = settings.model_fields
        for name in value if isinstance(value, dict) else ():
            if name not in known:
                raise ValueError(f"'{name}' is not a setting.{did_you_mean(str(name), known)}")
        settings.model_validate(value)
        return value

    return BeforeValidator(check)


GenerateSettings = Annotated[dict[str, Any], _fields_of(GenerateConfig)]
EvalSettings = Annotated[dict[str, Any], _fields_of(EvalConfig)]


class SweepEval(_Strict):
    """An eval or variant, and its arguments."""

    eval: str
    """As `inspect eval` takes it: misstep/processbench.sample, or a file."""
    args: dict[str, Any] = {}
    each: dict[str, list[Any]] = {}
    """Several values for some arguments: one run for each combination."""
    limit: Annotated[int, Field(gt=0)] | None = None
    shards: Annotated[int, Field(gt=0)] = 1
    """Into how many parts a run is split, each for one worker."""


class SweepModel(_Strict):
    """A model, its settings, and what a worker needs to run it."""

    model: str
    name: str | None = None
    """A name of its own, if several entries have the same model."""
    base_url: str | None = None
    args: dict[str, Any] = {}
    config: GenerateSettings = {}
    roles: dict[str, Any] = {}
    """Models in other roles, such as `reward`."""
    cpus: Annotated[float, Field(ge=0)] = 1
    gpus: Annotated[float, Field(ge=0)] = 0


class Sweep(_Strict):
    """The content of a sweep file."""

    log_dir: str
    """Where the logs go: a folder, or any address that fsspec reads."""
    evals: Annotated[list[Annotated[SweepEval, _named("eval")]], Field(min_length=1)]
    models: Annotated[list[Annotated[SweepModel, _named("model")]], Field(min_length=1)]
    seeds: list[int] = []
    """Seeds of generation: one run for each."""
    generate_config: GenerateSettings = {}
    eval_config: EvalSettings = {}
    tags: list[str] = []
    pass_env: list[str] = []
    """Names of environment variables that workers elsewhere get from here, such as API keys."""

    @model_validator(mode="after")
    def _check_together(self) -> Self:
        if "limit" in self.eval_config:
            raise ValueError("eval_config.limit: set `limit` for each eval")
        names = [model.name or model.model for model in self.models]
        double = next((name for name in names if names.count(name) > 1), None)
        if double is not None:
            raise ValueError(f"two models are called '{double}'; give one of them another name")
        return self


def read_sweep(path: str) -> Sweep:
    """Read a sweep file."""
    try:
        content = parse_yaml(Path(path).read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise DataError(f"cannot read the sweep file {path}: {error}") from None
    if not isinstance(content, dict):
        raise DataError(f"{path} is not a sweep: it must have evals, models and a log_dir")
    try:
        return Sweep.model_validate(content)
    except ValidationError as error:
        problems = "; ".join(_message(problem) for problem in error.errors())
        raise DataError(f"{path}: {problems}") from None


_FIELDS = {"evals": SweepEval.model_fields, "models": SweepModel.model_fields}


def _message(problem: "ErrorDetails") -> str:
    place = [str(part) for part in problem["loc"]]
    message = problem["msg"].removeprefix("Value error, ")
    if problem["type"] == "extra_forbidden":
        known = Sweep.model_fields if len(place) == 1 else _FIELDS[place[0]]
        message = f"unknown.{did_you_mean(place[-1], known)}"
    return f"{'.'.join(place)}: {message}" if place else message
