"""ProcessBench: find the earliest wrong step in a worked solution (Zheng et al., arXiv 2412.06559).

Protocol: one prompt has the problem and the whole solution, each step in a numbered tag; the critic
ends with the index of the first wrong step, or -1, in a box. Rows, prompt and scoring rule are the
published ones. The default is one reply at temperature 0; `votes=8` is the paper's maj@8.

Metric: F1, the harmonic mean of the accuracy on rows with an error (exactly the first wrong step)
and on rows without one (-1). A reply without a verdict counts as wrong.

inspect eval evals/processbench.py --model openai/gpt-4o-mini
inspect eval evals/processbench.py -T subset=math -T votes=8 --model openai/gpt-4o-mini
inspect eval evals/processbench.py -T source=my.jsonl -T domain=science --model openai/gpt-4o-mini
inspect eval evals/processbench.py -T critic=stepwise -T style=plain --model openai/gpt-4o-mini
inspect eval evals/processbench.py -T source=mathcheck,mr_math --model openai/gpt-4o-mini
inspect eval misstep/processbench.sample --model openai/gpt-4o-mini
"""

from inspect_ai import Task, task
from inspect_ai.log import HeadlineMetric
from inspect_ai.solver import Solver

from misstep.evals._views import FIRST_ERROR_VIEW
from misstep.loaders import RowOrder, first_error_dataset
from misstep.registry import Tag, Wording, check_arguments, evals, register_variants
from misstep.scorers import (
    first_error,
    first_error_lenient,
    process_judging_published,
    subset_column,
)
from misstep.solvers import Calls, find_critic, find_judging_critic


@task
@check_arguments
def processbench(
    subset: str | list[str] | None = None,
    domain: str = "mathematics",
    source: str | list[str] = "processbench",
    critic: str | Solver = "critique",
    votes: int = 1,
    adaptive: bool = False,
    weighted: bool = False,
    style: str = "plain",
    calls: Calls = "sequential",
    threshold: float | None = None,
    tag: Tag | None = None,
    wording: Wording = "own",
    exclude_label_errors: bool = False,
    accept: str | None = None,
    order: RowOrder = "interleaved",
) -> Task:
    """Find the earliest wrong step in a worked solution.

    Args:
        subset: Use only this subset, or these: gsm8k, math, olympiadbench, omnimath, or those of
            your file.
        domain: The prompt of critique: mathematics, generic, science or programming.
        source: A registered source, or your own JSON, JSONL, CSV or Parquet file. Several make one
            run, whose subsets are named after them: processbench,mr_math.
        critic: critique (reads the whole solution at once), stepwise, reward (the first step under
            a threshold), index_only (for llama.cpp), a baseline (no_error, last_step, late_window,
            uniform, arithmetic, label_distribution), or your own solver as `file.py@solver`.
        votes: The number of votes that decide a critique.
        adaptive: Stop voting when no further vote can change the result.
        weighted: Weight votes by the model's confidence in its tokens. Needs logprobs.
        style: The prompts of stepwise and reward: plain, written, single_token or rlhflow.
        calls: The calls of stepwise: sequential or parallel.
        threshold: Steps with a smaller reward are wrong. Default: the reward model's own value.
        tag: The word for a step in the prompt: paragraph, step or proof_step.
        wording: own, which for ProcessBench is the published prompt, or published: MathCheck's
            prompt with source=mathcheck, GroundedPRM's with critic=stepwise and style=written.
        exclude_label_errors: Exclude the rows whose labels are reported to be wrong.
        accept: The sha256 of a changed copy of a registered source that you want to use.
        order: The order of rows: interleaved, so that the first rows have both classes and all
            subsets, or published: as in the file.
    """
    dataset = first_error_dataset(source, subset, exclude_label_errors, accept, order=order)
    as_mathcheck = wording == "published" and (source, critic) == ("mathcheck", "critique")
    if as_mathcheck:
        judged_by = find_judging_critic()
    else:
        judged_by = find_critic(
            *(critic, dataset, domain, tag, votes, adaptive, weighted, style, calls, threshold),
            wording=wording,
        )
    return Task(
        dataset=dataset,
        solver=judged_by.solver,
        scorer=[
            first_error(votes, weighted, "main" if as_mathcheck else "all"),
            first_error_lenient(votes, weighted),
            *([process_judging_published()] if as_mathcheck else []),
            subset_column(),
        ],
        config=judged_by.config,
        metadata=judged_by.metadata,
        viewer=FIRST_ERROR_VIEW,
        headline_metric=HeadlineMetric(scorer="first_error", metric="f1_score"),
        version=evals()["processbench"].version,
    )


register_variants(processbench)
