"""The README's commands work in a clone."""

import re
import sys
from pathlib import Path

from tests.docs.commands import ROOT
from tests.docs.readme import Shell
from tests.support.openai_server import OpenAIServer, critic


def test_the_commands_of_the_readme_run_in_a_clone(tmp_path):
    # The folder of a clone, without its logs.
    (tmp_path / "evals").symlink_to(ROOT / "evals")
    with OpenAIServer(critic) as server:
        shell = Shell(tmp_path, Path(sys.executable).parent, server)
        outputs = shell.run_readme(r"pip install|misstep demo")
    assert "inspect eval evals/processbench.py --model openai/gpt-4o-mini" in outputs
    [shown] = [output for command, output in outputs.items() if command.startswith("misstep show")]
    assert_is_shown(shown)


def assert_is_shown(output: str) -> None:
    """Check that the result in the README is what the command prints, without the remarks."""
    [block] = re.findall(r"```text\n(.*?)```", (ROOT / "README.md").read_text("utf-8"), re.DOTALL)
    lines = [line.partition("←")[0].strip() for line in block.splitlines()]
    printed = {line.strip() for line in output.splitlines()}
    assert len(lines) > 5
    assert {line for line in lines if line not in ("", "…")} <= printed
