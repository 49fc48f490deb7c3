"""The README's commands work in a clone."""

import glob
import re
import shlex
import sys
from contextlib import chdir
from pathlib import Path

from click.testing import CliRunner

from misstep.cli._main import cli
from tests.docs.commands import ROOT
from tests.docs.readme import Shell
from tests.support.openai_server import OpenAIServer, critic


class CloneShell(Shell):
    """A shell in a clone. It runs `misstep` in this process, which saves its start."""

    def run(self, command: str) -> str:
        """Run a command, which must succeed."""
        if not command.startswith("misstep "):
            return super().run(command)
        words = shlex.split(self.changed(command))[1:]
        with chdir(self.folder):
            words = [path for word in words for path in sorted(glob.glob(word)) or [word]]
            done = CliRunner().invoke(cli, words, env=self.env)
        assert done.exit_code == 0, f"{command}\n{done.output}"
        return done.output


def test_the_commands_of_the_readme_run_in_a_clone(tmp_path):
    # The folder of a clone, without its logs.
    (tmp_path / "evals").symlink_to(ROOT / "evals")
    with OpenAIServer(critic) as server:
        shell = CloneShell(tmp_path, Path(sys.executable).parent, server)
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
