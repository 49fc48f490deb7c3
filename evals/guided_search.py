"""Guided search: rewards choose the steps of a solution (after GroundedPRM, arXiv 2510.14942).

inspect eval evals/guided_search.py --model vllm/policy --model-role reward=vllm/judge
inspect eval evals/guided_search.py -T source=amc23,aime24 --model vllm/policy
    --model-role 'reward={model: prm/qwen2.5-math-prm-7b, model_args: {base_url: "http://x:8001"}}'
inspect eval evals/guided_search.py -T method=majority -T n=32 --model vllm/policy
inspect eval misstep/guided_search.best_of_n --model vllm/policy --model-role reward=vllm/judge
inspect eval misstep/guided_search.sample --model vllm/policy --model-role reward=vllm/judge
"""

from inspect_ai import Task, task

from misstep.loaders import problems_dataset
from misstep.registry import evals, register_variants
from misstep.rewards import Aggregation
from misstep.solvers import Continuation, Method, SearchSettings, search_task


@task
def guided_search(
    source: str | list[str] = "math500",
    method: Method = "greedy",
    n: int = 8,
    width: int = 4,
    aggregation: Aggregation = "last",
    max_steps: int = 30,
    style: str = "written",
    continuation: Continuation = "auto",
    budget: int | None = None,
    accept: str | None = None,
) -> Task:
    """Solve problems step by step, each step the best of several by a reward model.

    Args:
        source: One or several of math500, amc23, aime24, aime25, minerva, olympiadbench, gsm8k,
            sample, or your own files, which hold `problem` and `answer`.
        method: greedy, beam (keeps several paths), best_of_n (whole solutions), majority (the
            answer of most solutions) or plain (one solution at temperature 0).
        n: Candidates for a step, or solutions.
        width: Paths that a beam search keeps.
        aggregation: What a solution, or a path of a beam search, is worth: last, min, product or
            mean of its rewards.
        max_steps: Steps at most.
        style: How a chat model is asked for rewards: written, single_token or plain.
        continuation: Whether the policy continues its own turn (prefill) or is asked for the next
            step (prompt); auto goes by the provider.
        budget: Tokens of policy and reward model together: a search begins no step when they are
            spent, and best_of_n and majority draw solutions until they are.
        accept: The sha256 of a changed copy of a registered set, to run on it on purpose.
    """
    settings = SearchSettings(method, n, width, aggregation, max_steps, style, continuation, budget)
    return Task(
        version=evals()["guided_search"].version,
        **search_task(problems_dataset(source, accept), settings),
    )


register_variants(guided_search)
