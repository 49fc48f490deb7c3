"""Hooks of the documentation site: a complete menu, and pages whose text is made at the build."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click

from misstep.cli._main import cli

ROOT = Path(__file__).parents[1]
ROOT_FILES = {
    "reference/changes.md": "CHANGELOG.md",
    "reference/contributing.md": "CONTRIBUTING.md",
}


def on_config(config: Any) -> Any:  # noqa: ANN401
    """Return the settings; pages that are missing in the menu are added to it under "More"."""
    named = set(_pages(config.nav))
    folder = Path(config.docs_dir)
    found = sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*.md"))
    if more := [page for page in found if page not in named]:
        config.nav.append({"More": more})
    return config


def _pages(menu: Any) -> Iterator[str]:  # noqa: ANN401
    """Yield the pages of a menu and of the menus inside it."""
    if isinstance(menu, str):
        yield menu
    else:
        for entry in menu.values() if isinstance(menu, dict) else menu:
            yield from _pages(entry)


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:  # noqa: ANN401
    """Return the text of a page."""
    name = page.file.src_uri
    if name in ROOT_FILES:
        text = (ROOT / ROOT_FILES[name]).read_text(encoding="utf-8")
        return text.replace("](docs/", "](../")
    if name == "reference/commands.md":
        return "\n".join([markdown, *_commands(cli, click.Context(cli, info_name="misstep"))])
    return markdown


def _commands(group: click.Group, parent: click.Context) -> Iterator[str]:
    """Yield the help of every command, each with a heading."""
    for name in group.list_commands(parent):
        command: Any = group.get_command(parent, name)
        context = click.Context(
            command, info_name=name, parent=parent, terminal_width=90, max_content_width=90
        )
        if isinstance(command, click.Group):
            yield from _commands(command, context)
        else:
            yield f"## {context.command_path}\n\n```text\n{command.get_help(context)}\n```\n"
