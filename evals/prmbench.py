"""PRMBench: is each step of a solution valid, and is it needed? (Song et al., arXiv 2501.03124).

Protocol: one reply at temperature 0 that scores the validity and the redundancy of every step, as
published. The rows are the published ones; the prompt is misstep's, or published with
`-T wording=published`.

Metric: PRMScore, the mean of two F1 scores over all steps. `step_validity_published` follows the
published code, `step_validity` also counts rows that were not read.

inspect eval evals/prmbench.py --model openai/gpt-4o-mini
inspect eval evals/prmbench.py -T wording=published --model openai/gpt-4o
inspect eval evals/prmbench.py -T critic=reward --model prm/qwen2.5-math-prm-7b
inspect eval evals/prmbench.py -T critic=stepwise -T style=plain --model openai/gpt-4o-mini
inspect eval misstep/prmbench.test_p1 --model openai/gpt-4o-mini
"""

from inspect_ai import Task, task
from inspect_ai.log import HeadlineMetric
from inspect_ai.solver import Solver

from misstep.evals._views import STEP_VALIDITY_VIEW
from misstep.loaders import RowOrder, step_validity_dataset
from misstep.registry import Wording, check_arguments, evals, register_variants
from misstep.scorers import first_error, step_validity, step_validity_published, subset_column
from misstep.solvers import find_step_critic


@task
@check_arguments
def prmbench(
    subset: str | list[str] | None = None,
    source: str = "prmbench",
    critic: str | Solver = "critique",
    wording: Wording = "own",
    style: str = "plain",
    threshold: float | None = None,
    accept: str | None = None,
    order: RowOrder = "interleaved",
) -> Task:
    """Judge whether each step of a solution is valid, and whether it is redundant.

    Args:
        subset: Use only this class, or these: redundency, circular, counterfactual,
            step_contradiction, domain_inconsistency, confidence, missing_condition, deception,
            multi_solutions.
        source: A registered source, or your own file in PRMBench's format.
        critic: critique (scores all steps in one reply), stepwise, reward, a baseline (all_valid,
            all_invalid), or your own solver as `file.py@solver`.
        wording: The prompt of critique: own, or published, which is read from PRMBench's
            repository. Compare with published numbers only if it is published.
        style: The prompts of stepwise and reward: plain, written, single_token or rlhflow.
        threshold: Steps with a smaller reward are invalid. Default: the reward model's own value.
        accept: The sha256 of a changed copy of a registered source that you want to use.
        order: The order of rows: interleaved, so that the first rows have all classes, or
            published: as in the files.
    """
    dataset = step_validity_dataset(source, subset, accept, order)
    judged_by = find_step_critic(critic, wording, style, threshold)
    return Task(
        dataset=dataset,
        solver=judged_by.solver,
        scorer=[
            step_validity(),
            step_validity_published(),
            first_error(registers="none"),
            subset_column(),
        ],
        config=judged_by.config,
        metadata=judged_by.metadata,
        viewer=STEP_VALIDITY_VIEW,
        headline_metric=HeadlineMetric(scorer="step_validity", metric="prmscore"),
        version=evals()["prmbench"].version,
    )


register_variants(prmbench)
