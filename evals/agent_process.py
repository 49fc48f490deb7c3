"""AgentProcessBench: which steps of an agent are wrong, and which is the first (arXiv 2603.14465).

Protocol: one prompt has the task, the tools and the whole log of an agent; the critic labels each
assistant message -1 (wrong), 0 (neutral) or 1 (right). Rows and rule are the published ones, and so
is the prompt with `wording=published`. Other critics name the first wrong step.

Metric: F1, the harmonic mean of the accuracy on trajectories with a wrong step (exactly the first
one) and without one. An unread label counts as wrong. StepAcc and FirstErrAcc follow the published
rule, which counts an unread reply as "no error".

inspect eval evals/agent_process.py --model openai/gpt-4o-mini
inspect eval evals/agent_process.py -T critic=critique -T votes=8 --model openai/gpt-4o-mini
inspect eval evals/agent_process.py -T subset=tau2 -T context=32768 --model vllm/Qwen/Qwen3-8B
inspect eval evals/agent_process.py -T source=my.jsonl --model openai/gpt-4o-mini
inspect eval misstep/agent_process.sample --model openai/gpt-4o-mini
inspect eval misstep/agent_process.generated -T seed=7 -T n=300 --model openai/gpt-4o-mini
"""

from inspect_ai import Task, task
from inspect_ai.log import HeadlineMetric
from inspect_ai.scorer import Scorer
from inspect_ai.solver import Solver

from misstep.evals._views import AGENT_PROCESS_VIEW
from misstep.loaders import RowOrder, has_step_labels, trajectory_dataset
from misstep.registry import Wording, check_arguments, evals, register_variants
from misstep.scorers import (
    first_error,
    first_error_lenient,
    step_labels,
    step_labels_published,
    subset_column,
)
from misstep.solvers import Calls, find_agent_critic


@task
@check_arguments
def agent_process(
    subset: str | list[str] | None = None,
    source: str = "agentprocessbench",
    critic: str | Solver = "labels",
    votes: int = 1,
    style: str = "agent",
    calls: Calls = "sequential",
    threshold: float | None = None,
    context: int | None = None,
    tool_result_chars: int | None = None,
    wording: Wording = "own",
    accept: str | None = None,
    order: RowOrder = "interleaved",
    seed: int = 0,
    n: int = 120,
) -> Task:
    """Judge the steps of an agent, and find the first wrong one.

    Args:
        subset: Use only this set, or these: hotpotqa, gaia_dev, bfcl, tau2, or those of your file.
        source: A registered source, your own JSON, JSONL, CSV or Parquet file of trajectories, or
            generated for trajectories that are made for the run.
        critic: labels (a label for every step in one reply, as published), critique (the first
            wrong step), stepwise, reward (the first step under a threshold), a baseline (no_error,
            last_step, uniform, label_distribution), or your own solver as `file.py@solver`.
        votes: The number of votes that decide a critique.
        style: The prompts of stepwise and reward: agent, single_token, written or plain.
        calls: The calls of stepwise: sequential or parallel.
        threshold: Steps with a smaller reward are wrong. Default: the reward model's own value.
        context: The model's context in tokens. Longer trajectories are read in windows of whole
            steps.
        tool_result_chars: Cut the middle out of longer tool results. The cut is marked.
        wording: The prompt of labels: own, or published for the original one, which is read from
            its authors' repository.
        accept: The sha256 of a changed copy of a registered source that you want to use.
        order: The order of rows: interleaved, so that the first rows have both classes and all
            sets, or published: as in the file.
        seed: The seed of generated trajectories.
        n: The number of generated trajectories.
    """
    keep = wording == "published"
    dataset = trajectory_dataset(
        source, subset, accept, tool_result_chars, keep, order=order, seed=seed, n=n
    )
    judged_by = find_agent_critic(critic, dataset, votes, style, calls, threshold, context, wording)
    labelled = has_step_labels(dataset)
    of_labels: list[Scorer] = [step_labels(), step_labels_published()] if labelled else []
    return Task(
        dataset=dataset,
        solver=judged_by.solver,
        scorer=[
            first_error(votes, registers="main" if labelled else "all"),
            # Labels are not read from a box, so there is no lenient reading.
            *([] if critic == "labels" else [first_error_lenient(votes)]),
            *of_labels,
            subset_column(),
        ],
        config=judged_by.config,
        metadata=judged_by.metadata,
        viewer=AGENT_PROCESS_VIEW,
        headline_metric=HeadlineMetric(scorer="first_error", metric="f1_score"),
        version=evals()["agent_process"].version,
    )


register_variants(agent_process)
