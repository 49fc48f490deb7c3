"""DeltaBench: the first wrong section of a long chain of thought (He et al., arXiv 2502.19361).

inspect eval evals/deltabench.py --model openai/gpt-4o-mini
inspect eval evals/deltabench.py -T subset=code -T votes=1 --model openai/gpt-4o-mini
inspect eval evals/deltabench.py -T context=32768 --model vllm/Qwen/Qwen2.5-7B-Instruct
inspect eval misstep/deltabench.math --model openai/gpt-4o-mini
"""

from inspect_ai import Task, task
from inspect_ai.solver import Solver

from misstep.loaders import first_error_dataset
from misstep.registry import Tag, evals, register_variants
from misstep.solvers import CriticOptions, Order, first_error_task


@task
def deltabench(
    subset: str | None = None,
    domain: str = "generic",
    source: str = "deltabench",
    critic: str | Solver = "critique",
    votes: int | None = None,
    adaptive: bool = False,
    weighted: bool = False,
    style: str = "single_token",
    order: Order = "sequential",
    threshold: float | None = None,
    tag: Tag | None = None,
    exclude_misfits: bool = False,
    context: int | None = None,
    accept: str | None = None,
) -> Task:
    """Find the first wrong section of a long chain of thought, as ProcessBench asks for steps.

    Args:
        subset: Only this kind of problem: math, code, Physics&Chemistry&Biology or general.
        domain: How to ask: mathematics, generic, science or programming.
        source: A registered source, or your own JSON, JSONL, CSV or Parquet file.
        critic: Who judges: critique (the whole solution at once), stepwise, reward (the first step
            under a threshold), a baseline (no_error, last_step, uniform, label_distribution), or a
            solver of your own, `file.py@solver`.
        votes: How many votes the critique is decided by; 8 where it is not given.
        adaptive: Stop voting when the lead can no longer be lost.
        weighted: Let votes weigh as much as the model was sure of them; needs logprobs.
        style: How stepwise, and reward of a chat model, ask: single_token, written or plain.
        order: Whether stepwise asks sequential or parallel.
        threshold: With critic=reward, a step with a smaller reward is wrong; else the model's own.
        tag: What to call a section in the prompt: paragraph, step or proof_step.
        exclude_misfits: Leave out the rows whose annotations do not fit their sections.
        context: The model's context in tokens, to be warned of longer prompts before the run.
        accept: The sha256 of a changed copy of a registered source, to run on it on purpose.
    """
    dataset = first_error_dataset(source, subset, False, accept, exclude_misfits)
    # Only critiques are voted on; other critics are asked once without being told to.
    drawn = votes if votes is not None else 8 if critic == "critique" else 1
    options = CriticOptions(domain, tag, drawn, adaptive, weighted, style, order, threshold)
    return Task(
        version=evals()["deltabench"].version,
        **first_error_task(dataset, critic, options, context),
    )


register_variants(deltabench)
