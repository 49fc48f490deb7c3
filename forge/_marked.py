"""What changed between two steps, word by word and formula by formula."""

from collections.abc import Iterator
from dataclasses import dataclass
from difflib import SequenceMatcher

from misstep.forge._mathml import formulas_and_words, pieces_html
from misstep.forge._record import Example


@dataclass(frozen=True)
class Pair:
    """A step of the original beside one of the modified solution."""

    index: int
    original: str | None
    modified: str | None

    @property
    def changed(self) -> bool:
        """Whether they differ."""
        return self.original != self.modified


def pairs(example: Example) -> Iterator[Pair]:
    """The steps side by side."""
    steps, original = example.steps, example.original_steps
    for index in range(max(len(steps), len(original))):
        yield Pair(
            index,
            original[index] if index < len(original) else None,
            steps[index] if index < len(steps) else None,
        )


def marked(pair: Pair) -> tuple[str, str]:
    """Both sides as HTML: what is gone in <del>, what is new in <ins>."""
    before = formulas_and_words(pair.original or "")
    after = formulas_and_words(pair.modified or "")
    left, right = "", ""
    matcher = SequenceMatcher(None, before, after, autojunk=False)
    for kind, a, b, c, d in matcher.get_opcodes():
        gone, new = pieces_html(before[a:b]), pieces_html(after[c:d])
        if kind == "equal":
            left, right = left + gone, right + new
        else:
            left += f"<del>{gone}</del>" if gone else ""
            right += f"<ins>{new}</ins>" if new else ""
    return left, right
