"""`misstep configs`: run configurations by name."""

import click
from rich.console import Console
from rich.padding import Padding

from misstep.cli._options import json_option
from misstep.cli._output import new_table, print_json, shown


@click.command("configs")
@click.argument("name", required=False)
@json_option
def configs(name: str | None, as_json: bool) -> None:
    """List the run configurations, or print the path of the one with this NAME.

    A run configuration has the task arguments and the sampling settings of a published result:

    inspect eval --run-config $(misstep configs NAME) --model MODEL

    Your own ones are the files runs/*.yaml in your registry (MISSTEP_REGISTRY, or
    ~/.config/misstep).
    """
    from misstep.registry import find_run_config, run_configs

    if name is not None:
        click.echo(find_run_config(name).path)
        return
    known = run_configs()
    if as_json:
        print_json(
            [
                {"name": key, "description": config.description, "path": str(config.path)}
                for key, config in known.items()
            ]
        )
        return
    table = new_table("run configuration")
    for key, config in known.items():
        table.add_row(f"[bold]{shown(key)}[/bold]")
        table.add_row(Padding(shown(config.description), (0, 0, 0, 2)))
    console = Console()
    console.print(table, highlight=False)
    console.print(
        "\nRun one: inspect eval --run-config $(misstep configs NAME) --model <model>",
        highlight=False,
        soft_wrap=True,
    )
