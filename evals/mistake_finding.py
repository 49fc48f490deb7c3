"""Mistake finding: where is the first mistake in a chain of thought? (Tyen et al., 2311.08516).

Protocol: one of the paper's three ways of asking, at temperature 0: about the whole trace, about
each step, or about each step with reasoning. The rows are the published ones; the prompts are
misstep's, or published with `-T wording=published`, which adds three worked examples.

Metric: location accuracy, the share of rows whose first mistake is located exactly, or which are
correctly said to have none. It is the mean over the five tasks.

inspect eval evals/mistake_finding.py --model openai/gpt-4o-mini
inspect eval evals/mistake_finding.py -T wording=published --model openai/gpt-4o
inspect eval evals/mistake_finding.py -T protocol=step -T subset=word_sorting --model openai/gpt-4o
inspect eval evals/mistake_finding.py -T critic=no_error --model mockllm/model
"""

from inspect_ai import Task, task
from inspect_ai.log import HeadlineMetric
from inspect_ai.solver import Solver

from misstep.evals._views import MISTAKE_VIEW
from misstep.loaders import RowOrder, first_error_dataset
from misstep.registry import Wording, check_arguments, evals, register_variants
from misstep.scorers import first_error, mistake_location, subset_column
from misstep.solvers import Calls, MistakeProtocol, find_mistake_critic
from misstep.verdicts import Reading


@task
@check_arguments
def mistake_finding(
    subset: str | list[str] | None = None,
    source: str | list[str] = "big_bench_mistake",
    protocol: MistakeProtocol = "trace",
    critic: str | Solver = "critique",
    wording: Wording = "own",
    reading: Reading = "strict",
    calls: Calls = "sequential",
    exclude_label_errors: bool = False,
    accept: str | None = None,
    order: RowOrder = "interleaved",
) -> Task:
    """Find the first mistake in a chain of thought, or say that there is none.

    Args:
        subset: Use only this task, or these: multistep_arithmetic, tracking_shuffled_objects,
            word_sorting, logical_deduction, dyck_languages.
        source: A registered source of first errors, or your own file; or several.
        protocol: trace (one question about all steps), step, or step_cot (with reasoning).
        critic: critique, a baseline (no_error, last_step, uniform), or your own solver as
            `file.py@solver`.
        wording: The prompts: own, or published, which are read from the authors' repository.
            Compare with published numbers only if they are published.
        reading: How replies are read: strict (the bare answer), or lenient.
        calls: By step: sequential stops at the first mistake, parallel asks about all steps.
        exclude_label_errors: Exclude the rows with a wrong answer and no labelled mistake.
        accept: The sha256 of a changed copy of a registered source that you want to use.
        order: The order of rows: interleaved, so that the first rows have both classes and all
            tasks, or published: as in the files.
    """
    dataset = first_error_dataset(source, subset, exclude_label_errors, accept, order=order)
    judged_by = find_mistake_critic(critic, dataset, protocol, wording, reading, calls)
    return Task(
        dataset=dataset,
        solver=judged_by.solver,
        scorer=[mistake_location(), first_error(registers="none"), subset_column()],
        config=judged_by.config,
        metadata=judged_by.metadata,
        viewer=MISTAKE_VIEW,
        headline_metric=HeadlineMetric(scorer="mistake_location", metric="mean_task_accuracy"),
        version=evals()["mistake_finding"].version,
    )


register_variants(mistake_finding)
