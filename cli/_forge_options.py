"""Options that several commands of `misstep forge` have."""

import click

from misstep.forge import MIN_STEPS

source_option = click.option(
    "--source",
    default="numinamath",
    show_default=True,
    help="A registered corpus, or a JSON, JSONL, CSV or Parquet file of problem and solution; "
    "or `offline`: generated solutions, for the offline injector.",
)
min_steps_option = click.option(
    "--min-steps",
    default=MIN_STEPS,
    show_default=True,
    type=click.IntRange(min=2),
    help="The fewest steps that a solution must have.",
)
