"""Reads the shell commands in pages and docstrings."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
BLOCK = re.compile(r"^```bash\n(.*?)^```", re.MULTILINE | re.DOTALL)


def commands(page: Path) -> Iterator[str]:
    """Yield the commands of a page or of a module's docstring, as lines without comments."""
    text = page.read_text(encoding="utf-8")
    if page.suffix == ".py":
        lines = (ast.get_docstring(ast.parse(text)) or "").replace("\n    ", " ").splitlines()
        yield from (line for line in lines if line.startswith(("inspect eval ", "misstep ")))
        return
    for block in BLOCK.findall(text):
        for line in block.replace("\\\n", " ").splitlines():
            if command := re.sub(r"(^|\s+)# .*", "", line).strip():
                yield command
