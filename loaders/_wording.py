"""Published wording: texts that are read at run time from the authors' repository.

Some published numbers depend on prompts that this package may not distribute. `wordings.yaml` says
where each text stands: a repository at a commit, a file, and the name of a constant. The file is
looked for in the offline mirror (`<mirror>/<wording>/<file>`), then downloaded into it. Its
checksum and the checksums of its texts are checked. The texts are taken out of the source code with
`ast`; no code is executed.

    wording = published_wording("agentprocessbench")
    system = wording.text("rubric")
    user = wording.template("question").fill(subject="physics", question="...")

A new benchmark needs an entry in `wordings.yaml` and nothing else.
"""

import ast
import json
import textwrap
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any, TypeAlias

from misstep.loaders._sources import MIRROR_VARIABLE, download, mirror
from misstep.registry import DataError, WordingFile, WordingSource, WordingText, find_wording


@dataclass(frozen=True)
class Slot:
    """A place in a text that a value fills."""

    name: str
    """Our name of the value, or the expression in the file if it has no name of ours."""


@dataclass(frozen=True)
class Template:
    """A text with slots: the literal parts of an f-string or of a concatenation, in order."""

    parts: tuple[str | Slot, ...]

    @property
    def slots(self) -> set[str]:
        """The names of the values that the text is filled with."""
        return {part.name for part in self.parts if isinstance(part, Slot)}

    def fill(self, **values: str) -> str:
        """Return the text with each slot replaced by its value, in one pass."""
        if values.keys() != self.slots:
            raise TypeError(f"the text has the slots {sorted(self.slots)}, not {sorted(values)}")
        return "".join(part if isinstance(part, str) else values[part.name] for part in self.parts)

    def __str__(self) -> str:
        return "".join(x if isinstance(x, str) else f"{{{x.name}}}" for x in self.parts)


Value: TypeAlias = Any
"""What a text may be: a str, a Template, or a list or dict of such values."""


@dataclass(frozen=True)
class PublishedWording:
    """The texts of one benchmark, by their names in `wordings.yaml`."""

    name: str
    values: Mapping[str, Value]

    def text(self, name: str) -> str:
        """Return a text without slots."""
        text = self.values[name]
        if not isinstance(text, str):
            raise TypeError(f"{self.name}: {name} is a {type(text).__name__}, not a text")
        return text

    def template(self, name: str) -> Template:
        """Return a text with slots."""
        text = self.values[name]
        if not isinstance(text, Template):
            raise TypeError(f"{self.name}: {name} is a {type(text).__name__}, not a template")
        return text

    def value(self, name: str) -> Value:
        """Return texts in lists and dicts, as the file has them; tuples are lists."""
        return self.values[name]


@cache
def published_wording(name: str) -> PublishedWording:
    """Return the published texts of a benchmark; download their files if needed.

    DataError says where the files were looked for and how to get them, or what differs from the
    pinned wording.
    """
    source = find_wording(name)
    values: dict[str, Value] = {}
    for file in source.files:
        constants, where = _constants(name, source, file)
        for key, text in file.texts.items():
            try:
                value = constants(text)
            except (ValueError, TypeError, RecursionError):
                value = None
            values[key] = _checked(value, text, f"{where}: the text {key!r}")
    return PublishedWording(name, values)


def fetch_wording(name: str) -> Iterator[Path]:
    """Save each file of a published wording in the offline mirror, check it, and yield its path.

    Nothing is downloaded if the mirror has the texts in another form.
    """
    source = find_wording(name)
    yield from dict.fromkeys(
        _evaluated_file(name, file) or _find_file(name, source, file) for file in source.files
    )
    published_wording.cache_clear()
    published_wording(name)


def _find_file(name: str, source: WordingSource, file: WordingFile) -> Path:
    """Return the path of a file in the mirror; download the file if it is not there."""
    path = mirror() / name / file.name
    if path.is_file():
        return path
    address = f"{source.repository}/{source.revision}/{file.path}"
    try:
        return download(address, path, lambda content: _check_file(content, file, address))
    except OSError as problem:
        raise DataError(
            f"The published wording of {name!r} was not found. Looked in:\n"
            f"  {path} (offline mirror; {MIRROR_VARIABLE} names its folder)\n"
            f"  GitHub, {source.repository} at {source.revision}: {problem}\n"
            f"On a machine with a network, run `misstep data fetch {name} --wording`, which saves "
            f"{file.path} there as {name}/{file.name}. Copy that folder to this machine and set "
            f"{MIRROR_VARIABLE} to it. Or use our wording: -T wording=own"
        ) from None


def _evaluated_file(name: str, file: WordingFile) -> Path | None:
    path = None if file.evaluated is None else mirror() / name / file.evaluated
    return path if path is not None and path.is_file() else None


def _constants(name: str, source: WordingSource, file: WordingFile) -> tuple[Any, str]:
    """Return a function that finds texts in a file, and where the file is."""
    if (path := _evaluated_file(name, file)) is not None:
        try:
            known = json.loads(path.read_text(encoding="utf-8"))[file.key]
        except (ValueError, KeyError, OSError) as problem:
            raise DataError(f"{path}: not the constants of {file.path} ({problem!r}).") from None
        return (lambda text: known.get(text.name)), str(path)
    path = _find_file(name, source, file)
    content = path.read_bytes()
    _check_file(content, file, str(path))
    try:
        tree = ast.parse(content)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as problem:
        raise DataError(f"{path}: not a Python file ({problem}).") from None
    return (lambda text: _find_text(tree, text)), str(path)


def _check_file(content: bytes, file: WordingFile, where: str) -> None:
    found = sha256(content).hexdigest()
    if file.sha256 not in (None, found):
        raise DataError(
            f"{where}: not the pinned file, which published numbers are based on.\n"
            f"  expected sha256 {file.sha256}\n  found    sha256 {found}\n"
            "Delete it to download it again, or use our wording: -T wording=own"
        )


def _checked(value: Value, text: WordingText, where: str) -> Value:
    """Return a text with our names of its slots if it is the pinned text."""
    names = {expression: name for name, expression in text.slots.items()}
    value = _renamed(value, names)
    if value is None or text_sha256(value) != text.sha256:
        found = "no such text" if value is None else f"sha256 {text_sha256(value)}"
        raise DataError(
            f"{where} is not the published wording.\n"
            f"  expected sha256 {text.sha256}\n  found    {found}\n"
            "Delete the file to download it again, or use our wording: -T wording=own"
        )
    return value


def text_sha256(value: Value) -> str:
    """Return the checksum of a text, whose slots are `{name}`, or of texts as sorted JSON."""
    if isinstance(value, str | Template):
        return sha256(str(value).encode()).hexdigest()
    printed = json.dumps(value, sort_keys=True, ensure_ascii=False, default=str)
    return sha256(printed.encode()).hexdigest()


def _renamed(value: Value, names: Mapping[str, str]) -> Value:
    if isinstance(value, Template):
        return Template(
            tuple(x if isinstance(x, str) else Slot(names.get(x.name, x.name)) for x in value.parts)
        )
    if isinstance(value, list):
        return [_renamed(one, names) for one in value]
    if isinstance(value, dict):
        return {key: _renamed(one, names) for key, one in value.items()}
    return value


def _find_text(tree: ast.Module, text: WordingText) -> Value:
    """Return the value of a name in a file, or None."""
    scope: ast.AST = tree
    if text.function is not None:
        functions = (ast.FunctionDef, ast.AsyncFunctionDef)
        found = [x for x in ast.walk(tree) if isinstance(x, functions) and x.name == text.function]
        if not found:
            return None
        scope = found[0]
    nodes = sorted(_values_of(scope, text.name), key=lambda node: (node.lineno, node.col_offset))
    return _read(nodes[text.nth], _names(tree)) if text.nth < len(nodes) else None


def _values_of(scope: ast.AST, name: str) -> Iterator[ast.expr]:
    """Yield the expressions that a name stands for."""
    for node in ast.walk(scope):
        if isinstance(node, ast.Assign):
            if any(_target_name(target) == name for target in node.targets):
                yield node.value
        elif isinstance(node, ast.AnnAssign):
            if isinstance(node.target, ast.Name) and node.target.id == name and node.value:
                yield node.value
        elif isinstance(node, ast.Dict):
            for key, value in zip(node.keys, node.values, strict=True):
                if isinstance(key, ast.Constant) and key.value == name:
                    yield value
        elif isinstance(node, ast.keyword):
            if node.arg == name:
                yield node.value
        elif isinstance(node, ast.Return) and name == "return" and node.value:
            yield node.value


def _target_name(target: ast.expr) -> object:
    """Return the variable that is assigned to, or the key: `x = ...`, `data["x"] = ...`."""
    match target:
        case ast.Name(id=name):
            return name
        case ast.Subscript(slice=ast.Constant(value=key)):
            return key
    return None


def _names(tree: ast.Module) -> dict[str, ast.expr]:
    """Return the constants of a file's top level."""
    return {
        target.id: node.value
        for node in tree.body
        if isinstance(node, ast.Assign)
        for target in node.targets
        if isinstance(target, ast.Name)
    }


def _read(node: ast.expr, names: Mapping[str, ast.expr]) -> Value:
    """Return the literal parts of an expression; what is not literal becomes a slot."""
    match node:
        case ast.Constant():
            return node.value
        case ast.List() | ast.Tuple():
            return [_read(one, names) for one in node.elts]
        case ast.Dict():
            pairs = zip(node.keys, node.values, strict=True)
            return {ast.literal_eval(k): _read(v, names) for k, v in pairs if k is not None}
        case ast.Call(func=ast.Name(id="dict"), args=[]):
            return {one.arg: _read(one.value, names) for one in node.keywords if one.arg}
        case ast.Call(func=ast.Attribute(attr="dedent"), args=[argument]):
            return textwrap.dedent(_read(argument, names))
        case ast.JoinedStr():
            return _joined([_read(one, names) for one in node.values])
        case ast.FormattedValue():
            return Template((Slot(ast.unparse(node.value)),))
        case ast.BinOp(op=ast.Add()):
            return _joined([_read(node.left, names), _read(node.right, names)])
        case ast.Name(id=name) if name in names:
            return _read(names[name], {key: one for key, one in names.items() if key != name})
        case _:
            return Template((Slot(ast.unparse(node)),))


def _joined(values: list[Value]) -> str | Template:
    """Return texts and templates as one; neighbouring literal parts become one part."""
    parts: list[str | Slot] = []
    for value in values:
        for part in value.parts if isinstance(value, Template) else (str(value),):
            if parts and isinstance(part, str) and isinstance(parts[-1], str):
                parts[-1] += part
            elif part != "":
                parts.append(part)
    if all(isinstance(part, str) for part in parts):
        return "".join(map(str, parts))
    return Template(tuple(parts))
