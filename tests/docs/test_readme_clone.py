"""The README's commands work in a clone."""

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
        ran = shell.run_readme(r"pip install|make |misstep demo", clone=True)
    assert "inspect eval evals/processbench.py --model openai/gpt-4o-mini" in ran
