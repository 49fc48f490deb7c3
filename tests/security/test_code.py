"""What the code must never do, whatever it is given."""

import ast
import tomllib
from pathlib import Path

import pytest

from tests.conftest import ROOT

ROOMS = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]["package-dir"]
MODULES = sorted({path for room in ROOMS.values() for path in (ROOT / room).glob("*.py")})
FORBIDDEN_CALLS = {"eval", "exec", "compile", "__import__"}
RUNS_ITS_OWN_PROGRAMS = ROOT / "generator" / "families" / "_code_traces.py"
"""It executes programs whose text it has just made from numbers, to learn their values."""
FORBIDDEN_MODULES = {"pickle", "marshal", "shelve", "dill", "cloudpickle"}
UNSAFE_YAML = {"load", "load_all", "unsafe_load", "full_load"}


def test_the_rooms_are_found():
    assert len(MODULES) > 100


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(Path(path).relative_to(ROOT)))
def test_no_text_becomes_code(path):
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Call):
            function = node.func
            if isinstance(function, ast.Name) and path != RUNS_ITS_OWN_PROGRAMS:
                assert function.id not in FORBIDDEN_CALLS, f"line {node.lineno}"
            if isinstance(function, ast.Attribute) and isinstance(function.value, ast.Name):
                called = (function.value.id, function.attr)
                assert not (called[0] == "yaml" and called[1] in UNSAFE_YAML), f"line {node.lineno}"
                assert called != ("os", "system"), f"line {node.lineno}"
            assert not any(
                argument.arg == "shell" and getattr(argument.value, "value", False)
                for argument in node.keywords
            ), f"line {node.lineno}"
        imported = (
            [alias.name for alias in node.names]
            if isinstance(node, ast.Import)
            else [node.module or ""]
            if isinstance(node, ast.ImportFrom)
            else []
        )
        assert not FORBIDDEN_MODULES & {name.partition(".")[0] for name in imported}


def test_every_dependency_is_pinned_with_a_hash_and_no_index_is_named():
    lines = (ROOT / "requirements.lock").read_text().splitlines()
    entries = [i for i, line in enumerate(lines) if line and line[0] not in " #"]
    assert entries
    for start in entries:
        assert "==" in lines[start], lines[start]
        assert "--hash=sha256:" in lines[start + 1], lines[start]
    assert not [line for line in lines if "index-url" in line or "://" in line]
