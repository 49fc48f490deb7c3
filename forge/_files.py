"""The files of a built set: data, card with baselines, upload; and the set as samples."""

import io
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

from inspect_ai.dataset import MemoryDataset, Sample

from misstep.arithmetic import false_equations
from misstep.forge._checks import AUTOMATIC_CHECKS
from misstep.forge._example import Example
from misstep.forge._offline import OFFLINE, sample_examples
from misstep.loaders import (
    RowOrder,
    Subsets,
    check_rows,
    first_error_dataset,
    first_error_sample,
    json_lines,
    ordered,
)
from misstep.registry import MisstepError, corpora, fill
from misstep.samples import third_of
from misstep.verdicts import NO_ERROR

DATA_NAME = "adversarial"
"""The name of the data files without suffix."""

_LISTS = {"steps": "string", "original_steps": "string", "checks": "string"}
_LISTS |= {"review_votes": "int64", "original_votes": "int64"}
_NUMBERS = {"label": "int64", "late_fraction": "float64", "final_answer_correct": "bool_"}
_NUMBERS |= {"review_share": "float64"}


def data_files(folder: Path, examples: Iterable[Example]) -> dict[Path, bytes]:
    """Return the contents of the data files. Rows are sorted by id."""
    rows = [example.row() for example in sorted(examples, key=lambda example: example.id)]
    return {
        folder / f"{DATA_NAME}.jsonl": json_lines(rows).encode(),
        folder / f"{DATA_NAME}.parquet": _parquet(rows),
    }


def _parquet(rows: list[dict[str, Any]]) -> bytes:
    import pyarrow
    import pyarrow.parquet

    # The types are explicit: in a set without errors, some columns hold only null.
    fields = []
    for name, about in Example.model_fields.items():
        if about.exclude:
            continue
        kind = getattr(pyarrow, _NUMBERS.get(name) or _LISTS.get(name, "string"))()
        kind = pyarrow.list_(kind) if name in _LISTS else kind
        fields.append(pyarrow.field(name, kind))
    stream = io.BytesIO()
    table = pyarrow.Table.from_pylist(rows, schema=pyarrow.schema(fields))
    pyarrow.parquet.write_table(table, stream)
    return stream.getvalue()


def dataset_card(
    examples: Sequence[Example], settings: Mapping[str, Any], rejects: Counter[str]
) -> str:
    """Return the card as Markdown with the header that the Hugging Face hub reads."""
    source, injector = str(settings["source"]), str(settings["injector"])
    corpus = corpora().get(source)
    offline = injector.startswith(f"{OFFLINE}/")
    types = Counter(str(one.error_type) for one in examples if not one.untouched)
    checks = ", ".join(f"`{check}`" for check in AUTOMATIC_CHECKS)
    values = {
        "licence": corpus.licence.lower() if corpus else "other",
        "source": f"`{corpus.repository if corpus else source}`",
        "injector": "The offline injector (rules, no model)" if offline else f"`{injector}`",
        "count": len(examples),
        "wrong": types.total(),
        "untouched": len(examples) - types.total(),
        "types": _table("type of error", types),
        "checks": checks,
        "review": _review_text(settings),
        "baselines": _baselines_text(examples),
        "rejects": _table("rejected for", rejects),
        "settings": "\n".join(f"- {name}: `{value}`" for name, value in settings.items()),
    }
    template = (files("misstep.forge") / "card.md").read_text(encoding="utf-8")
    return fill(template, {f"{{{name}}}": str(value) for name, value in values.items()})


def _review_text(settings: Mapping[str, Any]) -> str:
    votes = settings.get("votes")
    if votes:
        return (
            f"Blind review: {votes} votes of `{settings.get('reviewer')}` saw only the problem and "
            "the steps. Every original was accepted by a majority, and a majority named exactly "
            "the labelled step of every error. `review_share` is the share of these votes."
        )
    if str(settings["injector"]).startswith(f"{OFFLINE}/"):
        return "No reviewer has seen the examples: the labels follow from the injector's rules."
    return "**The labels are unconfirmed**: no reviewer has seen the examples (`--no-review`)."


def _baselines_text(examples: Sequence[Example]) -> str:
    baselines = prior_baselines(examples)
    lines = [f"| {' | '.join(cells)} |" for cells in (PRIOR_HEADINGS, ("---", "---:", "---:"))]
    lines += [f"| {' | '.join(one.cells)} |" for one in baselines]
    return "\n".join([*lines, *(f"\n{warning}" for warning in prior_warnings(baselines))])


def _table(heading: str, counts: Counter[str]) -> str:
    rows = [f"| {name} | {count} |\n" for name, count in sorted(counts.items())]
    return f"| {heading} | examples |\n| --- | ---: |\n{''.join(rows)}" if rows else ""


def push_to_hub(folder: Path, repository: str) -> str:
    """Upload the data and the card of a build, without logs and answers. Return the address."""
    from huggingface_hub import HfApi
    from huggingface_hub.errors import HfHubHTTPError, HFValidationError

    names = [f"{DATA_NAME}.jsonl", f"{DATA_NAME}.parquet", "README.md"]
    missing = [name for name in names if not (folder / name).is_file()]
    if missing:
        raise MisstepError(f"{folder}: not a finished build; missing: {', '.join(missing)}.")
    hub = HfApi()
    try:
        hub.create_repo(repository, repo_type="dataset", private=True, exist_ok=True)
        uploaded = hub.upload_folder(
            repo_id=repository,
            repo_type="dataset",
            folder_path=folder,
            allow_patterns=names,
            commit_message="Built by misstep forge",
        )
    # Errors of the library, and of a missing network.
    except (HfHubHTTPError, HFValidationError, OSError, RuntimeError) as problem:
        reason = (str(problem).strip() or type(problem).__name__).splitlines()[0]
        raise MisstepError(
            f"{repository}: the upload failed ({reason}). The files are in {folder}. Log in with "
            "`hf auth login` and run the same command again."
        ) from None
    return str(uploaded)


WARN_ABOVE = 0.3
"""A share of errors that a baseline should not find."""


@dataclass(frozen=True)
class PriorBaseline:
    """A rule that reads no solution, and the errors that it finds."""

    name: str
    found: int
    errors: int

    @property
    def share(self) -> float:
        """The share of the errors that the rule finds."""
        return self.found / self.errors if self.errors else 0.0

    @property
    def cells(self) -> tuple[str, str, str]:
        """A table row under PRIOR_HEADINGS."""
        return self.name, f"{self.found:,} of {self.errors:,}", f"{100 * self.share:.1f}"


PRIOR_HEADINGS = ("baseline", "errors found", "%")


def prior_baselines(examples: Iterable[Example]) -> list[PriorBaseline]:
    """Return how many errors simple rules find: fixed positions, and false equations."""
    wrong = [example for example in examples if not example.untouched]
    from_end = Counter(len(example.steps) - example.label for example in wrong)
    best = from_end.most_common(1)[0][0] if from_end else 1
    rules: dict[str, Callable[[Example], int]] = {
        "late_window: always step floor(0.75 n)": lambda one: 3 * len(one.steps) // 4,
        f"the best fixed distance: always step n - {best}": lambda one: len(one.steps) - best,
        "arithmetic: the first step with a false equation": _first_false,
    }
    return [
        PriorBaseline(name, sum(rule(one) == one.label for one in wrong), len(wrong))
        for name, rule in rules.items()
    ]


def _first_false(example: Example) -> int:
    steps = enumerate(example.steps)
    return next((index for index, step in steps if false_equations(step)), -1)


def prior_warnings(baselines: Iterable[PriorBaseline]) -> list[str]:
    """Return a warning for each baseline that finds too many errors."""
    return [
        f"Warning: a baseline that reads no solution finds {100 * one.share:.0f}% of the errors "
        f"({one.name}). A larger late fraction spreads the errors."
        for one in baselines
        if one.share > WARN_ABOVE
    ]


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
