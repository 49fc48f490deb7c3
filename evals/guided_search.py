"""Guided search: rewards choose the steps of a solution (after GroundedPRM, arXiv 2510.14942).

Protocol: the policy proposes n candidates for each step, a reward model scores them, and the best
one continues the solution. Baselines: beam search, best-of-n, majority voting, plain decoding.

Metric: the accuracy of final answers, which are compared mathematically, beside tokens and calls. A
solution without an answer counts as wrong.

inspect eval evals/guided_search.py --model vllm/policy --model-role reward=vllm/judge
inspect eval evals/guided_search.py -T source=amc23,aime24 --model vllm/policy
    --model-role 'reward={model: prm/qwen2.5-math-prm-7b, model_args: {base_url: "http://x:8001"}}'
inspect eval evals/guided_search.py -T method=majority -T n=32 --model vllm/policy
inspect eval misstep/guided_search.best_of_n --model vllm/policy --model-role reward=vllm/judge
inspect eval misstep/guided_search.sample --model vllm/policy --model-role reward=vllm/judge
"""

from inspect_ai import Task, task
from inspect_ai.log import HeadlineMetric

from misstep import solvers
from misstep.evals._views import FINAL_ANSWER_VIEW
from misstep.loaders import problems_dataset
from misstep.registry import check_arguments, evals, register_variants
from misstep.rewards import Aggregation
from misstep.scorers import final_answer, subset_column
from misstep.solvers import Continuation, Method, search_config


@task
@check_arguments
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
    """Solve problems step by step. A reward model chooses each step among several.

    Args:
        source: One or several of math500, amc23, aime24, aime25, minerva, olympiadbench, gsm8k,
            sample, or your own files, which hold `problem` and `answer`.
        method: greedy, beam (keeps several paths), best_of_n (whole solutions), majority (the most
            frequent answer) or plain (one solution at temperature 0).
        n: The number of candidates for a step, or of solutions.
        width: The number of paths that a beam search keeps.
        aggregation: How to combine the rewards of a solution or a path: last, min, product or mean.
        max_steps: The maximum number of steps.
        style: The prompts of a chat model that gives rewards: written, single_token or plain.
        continuation: Whether the policy continues its own turn (prefill) or is asked for the next
            step (prompt). auto depends on the provider.
        budget: The tokens of policy and reward model together. No step starts after they are used
            up. best_of_n and majority draw solutions until they are used up.
        accept: The sha256 of a changed copy of a registered set that you want to use.
    """
    return Task(
        dataset=problems_dataset(source, accept),
        solver=solvers.guided_search(
            method, n, width, aggregation, max_steps, style, continuation, budget
        ),
        scorer=[final_answer(), subset_column()],
        config=search_config(method),
        viewer=FINAL_ANSWER_VIEW,
        headline_metric=HeadlineMetric(scorer="final_answer", metric="accuracy"),
        version=evals()["guided_search"].version,
    )


register_variants(guided_search)
