"""ProcessBench: find the earliest wrong step in a worked solution (Zheng et al., arXiv 2412.06559).

inspect eval evals/processbench.py --model openai/gpt-4o-mini
inspect eval evals/processbench.py -T subset=math -T votes=8 --model openai/gpt-4o-mini
inspect eval evals/processbench.py -T source=my.jsonl -T domain=science --model openai/gpt-4o-mini
inspect eval evals/processbench.py -T critic=stepwise -T style=plain --model openai/gpt-4o-mini
inspect eval misstep/processbench.sample --model openai/gpt-4o-mini
"""

from inspect_ai import Task, task
from inspect_ai.solver import Solver

from misstep.loaders import first_error_dataset
from misstep.registry import Tag, evals, register_variants
from misstep.solvers import CriticOptions, Order, first_error_task


@task
def processbench(
    subset: str | None = None,
    domain: str = "mathematics",
    source: str = "processbench",
    critic: str | Solver = "critique",
    votes: int = 1,
    adaptive: bool = False,
    weighted: bool = False,
    style: str = "single_token",
    order: Order = "sequential",
    threshold: float | None = None,
    tag: Tag | None = None,
    exclude_label_errors: bool = False,
    accept: str | None = None,
) -> Task:
    """Find the earliest wrong step in a worked solution.

    Args:
        subset: Only this subset: gsm8k, math, olympiadbench or omnimath, or one of your own file.
        domain: How to ask: mathematics, generic, science or programming.
        source: A registered source, or your own JSON, JSONL, CSV or Parquet file.
        critic: Who judges: critique (the whole solution at once), stepwise, reward (the first step
            under a threshold), a baseline (no_error, last_step, uniform, label_distribution), or a
            solver of your own, `file.py@solver`.
        votes: How many votes the critique is decided by.
        adaptive: Stop voting when the lead can no longer be lost.
        weighted: Let votes weigh as much as the model was sure of them; needs logprobs.
        style: How stepwise, and reward of a chat model, ask: single_token, written or plain.
        order: Whether stepwise asks sequential or parallel.
        threshold: With critic=reward, a step with a smaller reward is wrong; else the model's own.
        tag: What to call a step in the prompt: paragraph, step or proof_step.
        exclude_label_errors: Leave out the rows whose labels are reported to be wrong.
        accept: The sha256 of a changed copy of a registered source, to run on it on purpose.
    """
    dataset = first_error_dataset(source, subset, exclude_label_errors, accept)
    options = CriticOptions(domain, tag, votes, adaptive, weighted, style, order, threshold)
    return Task(
        version=evals()["processbench"].version,
        **first_error_task(dataset, critic, options),
    )


register_variants(processbench)
