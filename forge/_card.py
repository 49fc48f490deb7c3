"""The card of a built set: what it is, how it was made, and what was checked."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from misstep.forge._checks import AUTOMATIC
from misstep.forge._files import DATA
from misstep.forge._offline import OFFLINE
from misstep.forge._record import Example
from misstep.registry import corpora

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

Given a problem and a worked solution, find the index of the first wrong step, or -1. The solutions
come from {source}; {who} changed one late step of each into a logical error of a named type, and
rewrote every step after it. {count} examples: {wrong} with an error, {untouched} left untouched
(label -1).

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
| `id`, `problem`, `subset` | of the source; the subset is the source's own part |
| `steps`, `label` | the solution as shown to a critic; its first wrong step, from 0, or -1 |
| `final_answer_correct` | whether the solution ends with the right answer |
| `generator` | who injected the error |
| `error_type` | its type; empty where there is none |
| `original_steps`, `answer` | the solution as it was, and the right answer |
| `final_answer` | where the modified solution arrives |
| `late_fraction` | the part of the solution, from its end, in which the error had to be |
| `rationale`, `what_changed`, `why_incorrect` | the injector's own account |
| `detection_difficulty` | the same: why the error is hard to see |
| `checks` | the checks that the example passed |
"""


def card(examples: Sequence[Example], settings: Mapping[str, Any], rejects: Counter[str]) -> str:
    """The card as Markdown with the head that the Hugging Face hub reads.

    Args:
        examples: The accepted examples.
        settings: Of the build.
        rejects: How many samples were rejected, by reason.
    """
    source = str(settings["source"])
    corpus = corpora().get(source)
    untouched = sum(one.untouched for one in examples)
    head = _HEAD.format(
        licence=corpus.licence.lower() if corpus else "other",
        data=DATA,
        source=f"`{corpus.repository if corpus else source}`",
        who=_who(str(settings["injector"])),
        count=len(examples),
        wrong=len(examples) - untouched,
        untouched=untouched,
    )
    types = Counter(str(one.error_type) for one in examples if not one.untouched)
    parts = [
        head,
        _table("type of error", types),
        "## Checks\n\nEvery example with an error passed, automatically: "
        + ", ".join(f"`{check}`" for check in AUTOMATIC)
        + (", and `confirmed` by a second model." if settings.get("reviewer") else ".")
        + " No person has read them all; what no rule sees may still be wrong.",
        _table("rejected for", rejects),
        "## Fields\n" + _FIELDS,
        "## Settings\n\n" + "\n".join(f"- {name}: `{value}`" for name, value in settings.items()),
    ]
    return "\n".join(part for part in parts if part) + "\n"


def _who(injector: str) -> str:
    rules = injector.startswith(f"{OFFLINE}/")
    return "the offline injector (rules, no model)" if rules else f"`{injector}`"


def _table(title: str, counts: Counter[str]) -> str:
    if not counts:
        return ""
    rows = [f"| {name} | {count} |" for name, count in sorted(counts.items())]
    return "\n".join([f"| {title} | examples |", "| --- | ---: |", *rows, ""])
