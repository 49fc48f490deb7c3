"""The report as Markdown."""

import re
from collections.abc import Iterator, Sequence

from misstep.forge._findings import Findings
from misstep.forge._marked import Pair, pairs
from misstep.forge._record import Example


def markdown(findings: Findings, most: int) -> str:
    """The report as Markdown, the examples side by side as lists of their changed steps.

    Args:
        findings: What it tells.
        most: How many examples are shown.
    """
    return "\n".join(_lines(findings, most)) + "\n"


def _lines(findings: Findings, most: int) -> Iterator[str]:
    wrong, total = len(findings.wrong), len(findings.examples)
    yield f"# {_plain(findings.name)}: worked solutions with an injected error\n"
    yield (
        f"{total:,} examples: {wrong:,} with an error, {total - wrong:,} untouched; "
        f"{findings.rejected:,} solutions were rejected.\n"
    )
    yield from _table(("type of error", "errors"), list(findings.types.items()))
    yield from _table(("third of the solution", "errors"), list(findings.thirds.items()))
    if findings.reasons:
        yield from _table(("rejected for", "solutions"), findings.reasons.most_common())
    if findings.rates:
        yield from _table(
            ("critic", "errors", "number", "found, %", "95% interval"),
            [
                (
                    x.critic,
                    x.group,
                    x.total,
                    f"{100 * x.value:.1f}",
                    f"{100 * x.lower:.1f} to {100 * x.upper:.1f}",
                )
                for x in findings.rates
            ],
        )
    yield "## Examples\n"
    for example in findings.wrong[:most]:
        yield from _example(example)


def _table(head: Sequence[str], rows: Sequence[Sequence[object]]) -> Iterator[str]:
    yield f"| {' | '.join(head)} |"
    yield "|" + " --- |" * len(head)
    for row in rows:
        yield f"| {' | '.join(_plain(str(cell)) for cell in row)} |"
    yield ""


def _example(example: Example) -> Iterator[str]:
    yield f"### {_plain(example.id)}\n"
    yield _fenced(example.problem)
    kind = _plain(str(example.error_type))
    yield f"\nStep {example.label}, {kind}. The right answer and the final answer:"
    yield _fenced(f"{example.answer}\n{example.final_answer}")
    for name, text in (
        ("What changed", example.what_changed),
        ("Why it is wrong", example.why_incorrect),
        ("Why it is hard to see", example.detection_difficulty),
    ):
        if text:
            yield f"\n{name}:"
            yield _fenced(text)
    for pair in pairs(example):
        if pair.changed:
            yield from _changed(pair, example.label)
    yield ""


def _changed(pair: Pair, label: int) -> Iterator[str]:
    yield f"\nStep {pair.index}{', the error' if pair.index == label else ''}:"
    before = [f"- {line}" for line in (pair.original or "").splitlines()]
    after = [f"+ {line}" for line in (pair.modified or "").splitlines()]
    yield _fenced("\n".join([*before, *after]), "diff")


def _plain(text: str) -> str:
    """A text in a line or a cell, as it is."""
    return re.sub(r"([\\`*_{}\[\]<>#|])", r"\\\1", " ".join(text.split()))


def _fenced(text: str, kind: str = "text") -> str:
    """Text as it is, in a fence longer than any run of backticks in it."""
    longest = max((len(run) for run in re.findall("`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}{kind}\n{text}\n{fence}"
