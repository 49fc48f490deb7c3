"""DeltaBench: the first wrong section of a long chain of thought (He et al., arXiv 2502.19361).

Protocol: as ProcessBench with the generic prompt, a section as a step, and the plurality of eight
votes at temperature 0.7. The rows are the published ones; the question is misstep's.

Metric: F1, the harmonic mean of the accuracy on rows with an error (exactly the first erroneous
section) and on rows without one (-1). A reply without a verdict counts as wrong.

inspect eval evals/deltabench.py --model openai/gpt-4o-mini
inspect eval evals/deltabench.py -T subset=code -T votes=1 --model openai/gpt-4o-mini
inspect eval evals/deltabench.py -T context=32768 --model vllm/Qwen/Qwen2.5-7B-Instruct
inspect eval misstep/deltabench.math --model openai/gpt-4o-mini
"""

from inspect_ai import Task, task
from inspect_ai.log import HeadlineMetric
from inspect_ai.solver import Solver

from misstep.evals._views import FIRST_ERROR_VIEW
from misstep.loaders import RowOrder, first_error_dataset
from misstep.registry import Tag, check_arguments, evals, find_domain, register_variants
from misstep.scorers import first_error, first_error_lenient, subset_column
from misstep.solvers import Calls, critique_prompt, find_critic, warn_of_long_prompts


@task
@check_arguments
def deltabench(
    subset: str | list[str] | None = None,
    domain: str = "generic",
    source: str | list[str] = "deltabench",
    critic: str | Solver = "critique",
    votes: int | None = None,
    adaptive: bool = False,
    weighted: bool = False,
    style: str = "plain",
    calls: Calls = "sequential",
    threshold: float | None = None,
    tag: Tag | None = None,
    exclude_misfits: bool = False,
    context: int | None = None,
    accept: str | None = None,
    order: RowOrder = "interleaved",
) -> Task:
    """Find the first wrong section of a long chain of thought.

    Args:
        subset: Use only this kind of problem, or these: math, code, general,
            Physics&Chemistry&Biology.
        domain: The prompt of critique: mathematics, generic, science or programming.
        source: A registered source, or your own JSON, JSONL, CSV or Parquet file; or several.
        critic: critique (reads the whole solution at once), stepwise, reward (the first step under
            a threshold), index_only (for llama.cpp), a baseline (no_error, last_step, late_window,
            uniform, arithmetic, label_distribution), or your own solver as `file.py@solver`.
        votes: The number of votes that decide a critique. Default: 8 for critique, else 1.
        adaptive: Stop voting when no further vote can change the result.
        weighted: Weight votes by the model's confidence in its tokens. Needs logprobs.
        style: The prompts of stepwise and reward: plain, written, single_token or rlhflow.
        calls: The calls of stepwise: sequential or parallel.
        threshold: Steps with a smaller reward are wrong. Default: the reward model's own value.
        tag: The word for a section in the prompt: paragraph, step or proof_step.
        exclude_misfits: Exclude the rows whose annotations do not fit their sections.
        context: The model's context in tokens. A warning names longer prompts before the run.
        accept: The sha256 of a changed copy of a registered source that you want to use.
        order: The order of rows: interleaved, so that the first rows have both classes and all
            subsets, or published: as in the file.
    """
    dataset = first_error_dataset(source, subset, False, accept, exclude_misfits, order)
    if votes is None:
        votes = 8 if critic == "critique" else 1
    judged_by = find_critic(
        critic, dataset, domain, tag, votes, adaptive, weighted, style, calls, threshold
    )
    if critic == "critique":
        asks = find_domain(domain)
        warn_of_long_prompts(
            dataset, context, lambda problem, steps: critique_prompt(asks, problem, steps, tag)
        )
    return Task(
        dataset=dataset,
        solver=judged_by.solver,
        scorer=[
            first_error(votes, weighted),
            first_error_lenient(votes, weighted),
            subset_column(),
        ],
        config=judged_by.config,
        metadata=judged_by.metadata,
        viewer=FIRST_ERROR_VIEW,
        headline_metric=HeadlineMetric(scorer="first_error", metric="f1_score"),
        version=evals()["deltabench"].version,
    )


register_variants(deltabench)
