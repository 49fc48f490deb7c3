"""The files of a built set: data, dataset card, and upload to the Hugging Face hub."""

import io
import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from misstep.forge._checks import AUTOMATIC_CHECKS
from misstep.forge._example import Example
from misstep.forge._offline import OFFLINE
from misstep.registry import MisstepError, corpora

DATA_NAME = "adversarial"
"""The name of the data files without suffix."""

_LISTS = ("steps", "original_steps", "checks")
_NUMBERS = {"label": "int64", "late_fraction": "float64", "final_answer_correct": "bool_"}


def data_files(folder: Path, examples: Iterable[Example]) -> dict[Path, bytes]:
    """Return the contents of the data files. Rows are sorted by id."""
    rows = [example.row() for example in sorted(examples, key=lambda example: example.id)]
    return {
        folder / f"{DATA_NAME}.jsonl": json_lines(rows),
        folder / f"{DATA_NAME}.parquet": _parquet(rows),
    }


def json_lines(rows: Iterable[Mapping[str, Any]]) -> bytes:
    """Return rows as JSON Lines."""
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows).encode()


def _parquet(rows: list[dict[str, Any]]) -> bytes:
    import pyarrow
    import pyarrow.parquet

    # The types are explicit: in a set without errors, some columns hold only null.
    fields = []
    for name, about in Example.model_fields.items():
        if about.exclude:
            continue
        kind = pyarrow.list_(pyarrow.string()) if name in _LISTS else pyarrow.string()
        if name in _NUMBERS:
            kind = getattr(pyarrow, _NUMBERS[name])()
        fields.append(pyarrow.field(name, kind))
    stream = io.BytesIO()
    table = pyarrow.Table.from_pylist(rows, schema=pyarrow.schema(fields))
    pyarrow.parquet.write_table(table, stream)
    return stream.getvalue()


_HEAD = """---
license: {licence}
task_categories:
- text-generation
tags:
- process-supervision
- error-detection
- mathematics
configs:
- config_name: default
  data_files:
  - split: test
    path: {data}.parquet
---

# Worked solutions with an injected late error

The task: given a problem and a worked solution, find the index of the first wrong step, or -1 if
there is none. The solutions come from {source}. {injector} changed one late step of a solution
into a logical error of a named type, and rewrote all later steps. The set has {count} examples:
{wrong} with an error and {untouched} untouched (label -1).

```python
from datasets import load_dataset

rows = load_dataset("json", data_files="{data}.jsonl", split="train")
```

```bash
inspect eval misstep/adversarial_numinamath -T source={data}.jsonl --model openai/gpt-4o-mini
misstep forge check {data}.jsonl
```
"""

_FIELDS = """
| field | meaning |
| --- | --- |
| `id`, `problem`, `subset` | from the source; the subset is a part of the source |
| `steps`, `label` | the solution that a critic sees; the index of its first wrong step, or -1 |
| `final_answer_correct` | whether the final answer is right |
| `generator` | the model that injected the error |
| `error_type` | the type of the error; empty if there is none |
| `original_steps`, `answer` | the original solution and the right answer |
| `final_answer` | the final answer of the modified solution |
| `late_fraction` | the part of the solution, from its end, that gets the error |
| `rationale`, `what_changed`, `why_incorrect` | explanations by the injector |
| `detection_difficulty` | explanation by the injector: why the error is hard to see |
| `checks` | the checks that the example passed |
"""


def dataset_card(
    examples: Sequence[Example], settings: Mapping[str, Any], rejects: Counter[str]
) -> str:
    """Return the card as Markdown with the header that the Hugging Face hub reads.

    Args:
        examples: The accepted examples.
        settings: The settings of the build.
        rejects: The number of rejected samples by reason.
    """
    source = str(settings["source"])
    corpus = corpora().get(source)
    injector = str(settings["injector"])
    untouched = sum(example.untouched for example in examples)
    head = _HEAD.format(
        licence=corpus.licence.lower() if corpus else "other",
        data=DATA_NAME,
        source=f"`{corpus.repository if corpus else source}`",
        injector="The offline injector (rules, no model)"
        if injector.startswith(f"{OFFLINE}/")
        else f"`{injector}`",
        count=len(examples),
        wrong=len(examples) - untouched,
        untouched=untouched,
    )
    types = Counter(str(one.error_type) for one in examples if not one.untouched)
    parts = [
        head,
        _table("type of error", types),
        "## Checks\n\nEvery example with an error passed these automatic checks: "
        + ", ".join(f"`{check}`" for check in AUTOMATIC_CHECKS)
        + (", and `confirmed` by a second model." if settings.get("reviewer") else ".")
        + " No person has read all examples. Errors that no check detects are possible.",
        _table("rejected for", rejects),
        "## Fields\n" + _FIELDS,
        "## Settings\n\n" + "\n".join(f"- {name}: `{value}`" for name, value in settings.items()),
    ]
    return "\n".join(part for part in parts if part) + "\n"


def _table(title: str, counts: Counter[str]) -> str:
    if not counts:
        return ""
    rows = [f"| {name} | {count} |" for name, count in sorted(counts.items())]
    return "\n".join([f"| {title} | examples |", "| --- | ---: |", *rows, ""])


def push_to_hub(folder: Path, repository: str) -> str:
    """Upload the data and the card of a build, without logs and answers. Return the address.

    Args:
        folder: The folder of the build.
        repository: `owner/name`. A new repository is private.

    Raises:
        MisstepError: The build is not finished, or the upload failed.
    """
    from huggingface_hub import HfApi
    from huggingface_hub.errors import HfHubHTTPError, HFValidationError

    names = [f"{DATA_NAME}.jsonl", f"{DATA_NAME}.parquet", "README.md"]
    missing = [name for name in names if not (folder / name).is_file()]
    if missing:
        raise MisstepError(f"{folder}: not a finished build; missing: {', '.join(missing)}.")
    hub = HfApi()
    try:
        hub.create_repo(repository, repo_type="dataset", private=True, exist_ok=True)
        done = hub.upload_folder(
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
    return str(done)
