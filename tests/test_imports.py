"""The import statements of every module follow the design: packages build on lower ones only."""

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]

# A package may import itself and everything in the lines above it.
LAYERS = (
    ("misstep",),
    ("registry",),
    ("generator",),
    ("loaders",),
    ("providers",),
    ("rewards",),
    ("scorers",),
    ("solvers",),
    ("forge",),
    ("evals",),
    ("runs", "reports"),
    ("cli",),
)
LEVELS = {package: level for level, layer in enumerate(LAYERS) for package in layer}

# These put the parts together: what Inspect registers, the names of `import misstep`, and scanners.
MAY_IMPORT_ALL = {"registry/entry_point.py", "misstep/__init__.py", "misstep/scanners.py"}

INSPECT_PRIVATE = "misstep/_inspect_private.py"


class Import(NamedTuple):
    """One imported name of misstep."""

    module: str
    """The importing module, a path under the root."""
    line: int
    package: str
    """The package that the name is imported from."""
    path: tuple[str, ...]
    """What is imported from that package: modules and names."""

    def __str__(self) -> str:
        return f"{self.module}:{self.line} imports {'.'.join((self.package, *self.path))}"


@cache
def modules() -> tuple[Path, ...]:
    """Return the modules of all packages."""
    packages = (ROOT / package for package in LEVELS)
    return tuple(path for package in packages for path in sorted(package.rglob("*.py")))


def names_imported(path: Path) -> Iterator[tuple[int, str]]:
    """Yield the line and the full dotted name of everything that a module imports."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}:{node.lineno}: imports are absolute"
            yield from ((node.lineno, f"{node.module}.{alias.name}") for alias in node.names)


@cache
def imports() -> tuple[Import, ...]:
    """Return every import of a name of misstep, in all packages."""
    found = []
    for path in modules():
        for line, name in names_imported(path):
            root, *rest = name.split(".")
            if root == "misstep" and rest:
                inside = rest[0] in LEVELS and rest[0] != "misstep"
                package, *names = rest if inside else ["misstep", *rest]
                module = path.relative_to(ROOT).as_posix()
                found.append(Import(module, line, package, tuple(names)))
    return tuple(found)


def package_of(module: str) -> str:
    return module.split("/", 1)[0]


def is_private(name: str) -> bool:
    return name.startswith("_") and not name.startswith("__")


def test_every_folder_with_modules_is_a_known_package():
    folders = {
        path.parent.name
        for path in ROOT.glob("*/__init__.py")
        if path.parent.name not in {"tests", "benchmarks"}
    }
    assert folders == set(LEVELS)


def test_packages_import_lower_packages_only():
    found = [
        one
        for one in imports()
        if one.package != package_of(one.module)
        and LEVELS[one.package] >= LEVELS[package_of(one.module)]
        and one.module not in MAY_IMPORT_ALL
    ]
    assert not found, "\n".join(map(str, found))


def test_only_the_entry_point_and_the_package_root_import_evals():
    found = [
        one
        for one in imports()
        if one.package == "evals"
        and package_of(one.module) != "evals"
        and one.module not in MAY_IMPORT_ALL
    ]
    assert not found, "\n".join(map(str, found))


def test_no_package_imports_a_private_module_or_name_of_another():
    found = [
        one
        for one in imports()
        if one.package != package_of(one.module)
        and any(map(is_private, one.path))
        # The one private module of the root is shared by all packages: that is its purpose.
        and not (one.package == "misstep" and one.path[0] == "_inspect_private")
    ]
    assert not found, "\n".join(map(str, found))


def test_private_names_of_inspect_stand_in_one_module():
    found = [
        f"{path.relative_to(ROOT)}:{line} imports {name}"
        for path in modules()
        for line, name in names_imported(path)
        if name.split(".")[0] == "inspect_ai"
        and any(map(is_private, name.split(".")))
        and path != ROOT / INSPECT_PRIVATE
    ]
    assert not found, "\n".join(found)
