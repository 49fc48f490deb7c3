"""Reads the shell commands in Markdown pages."""

import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
BLOCK = re.compile(r"^```bash\n(.*?)^```", re.MULTILINE | re.DOTALL)


def commands(page: Path) -> Iterator[str]:
    """Yield the commands of a page's `bash` blocks, each as one line without its comment."""
    for block in BLOCK.findall(page.read_text(encoding="utf-8")):
        for line in block.replace("\\\n", " ").splitlines():
            if command := re.sub(r"(^|\s+)# .*", "", line).strip():
                yield command
