"""`misstep demo`: ProcessBench from start to end, with no key and no network."""

import click
from rich.console import Console

from misstep.cli._options import json_option, log_dir_option
from misstep.cli._output import finished_results, metrics_table, print_json, results_object

_MODEL = "embedded/smollm2"
_TASK = "misstep/processbench.sample"
_SAMPLES = 8
_MAX_TOKENS = 48


@click.command()
@log_dir_option()
@json_option
def demo(log_dir: str, as_json: bool) -> None:
    """Run a small real model on the first rows of the bundled sample.

    SmolLM2-135M runs inside this process. The demo shows that everything works: a model of this
    size cannot judge mathematics, and it hardly ever writes a verdict that can be read.
    """
    from inspect_ai import eval as run

    console = Console(quiet=as_json)
    console.print(
        f"Asking {_MODEL} to find the first wrong step in {_SAMPLES} worked solutions.\n"
        "It is a real model of 135 million parameters: large enough to show that everything "
        "works, far too small to judge mathematics.\n",
        highlight=False,
    )
    [log] = run(
        _TASK,
        model=_MODEL,
        limit=_SAMPLES,
        max_tokens=_MAX_TOKENS,
        log_dir=log_dir,
        display="none" if as_json else None,
    )
    results = finished_results(log)
    if as_json:
        print_json(results_object(log))
    console.print(metrics_table(results))
    console.print(
        f"\nView it:  inspect view --log-dir {log_dir}\n"
        "Run a model that can judge:  inspect eval misstep/processbench --model <model>",
        highlight=False,
    )
