"""`misstep demo`: ProcessBench end to end, with no key and no network."""

import sys

import click
from rich.console import Console

from misstep.cli._figures import figures_table

MODEL = "embedded/smollm2"
TASK = "misstep/processbench.sample"
SAMPLES = 8
MAX_TOKENS = 48


@click.command()
@click.option("--log-dir", default="logs", show_default=True, help="Where the log goes.")
def demo(log_dir: str) -> None:
    """Run a small real model on the first rows of the embedded sample.

    SmolLM2-135M runs inside this process. It proves the machinery: it cannot judge mathematics,
    and hardly ever writes a verdict that can be read.
    """
    from inspect_ai import eval as run

    console = Console()
    console.print(
        f"Asking {MODEL} to find the first wrong step in {SAMPLES} worked solutions.\n"
        "It is a real model of 135 million parameters: enough to prove the machinery, far too "
        "small to judge mathematics.\n",
        highlight=False,
    )
    [log] = run(TASK, model=MODEL, limit=SAMPLES, max_tokens=MAX_TOKENS, log_dir=log_dir)
    if log.status != "success" or log.results is None:
        console.print(f"The run ended with the status {log.status!r}.", style="bold red")
        sys.exit(1)
    console.print(figures_table(log.results))
    console.print(
        f"\nLook at it:  inspect view --log-dir {log_dir}\n"
        "Run a model that can judge:  inspect eval misstep/processbench --model <model>",
        highlight=False,
    )
