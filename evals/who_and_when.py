"""Who&When: which agent of a team made it fail, and at which step (Zhang et al., arXiv 2505.00212).

Protocol: the critic gets the task, with or without the true answer, and the log of a team that
failed. It is asked in one of three ways: about the whole log at once, about each step in turn, or
by halving the log. Rows and rule are the published ones, and so are the prompts with
`wording=published`. Every log has exactly one decisive mistake.

Metric: the share of logs with the right agent, and with exactly the right step. A reply that names
neither counts as wrong. Other metrics follow the published rule, by which the step 1 is also right
if 10 or 21 was predicted. Compare with random_agent and random_step.

inspect eval evals/who_and_when.py --model openai/gpt-4o-mini
inspect eval evals/who_and_when.py -T critic=binary_search --model openai/gpt-4o-mini
inspect eval evals/who_and_when.py -T ground_truth=false --model openai/gpt-4o-mini
inspect eval misstep/who_and_when.hand -T wording=published --model openai/gpt-4o-mini
"""

from inspect_ai import Task, task
from inspect_ai.log import HeadlineMetric
from inspect_ai.solver import Solver

from misstep.evals._views import WHO_AND_WHEN_VIEW
from misstep.loaders import RowOrder, attribution_dataset
from misstep.registry import Wording, check_arguments, evals, register_variants
from misstep.scorers import attribution, attribution_published, subset_column
from misstep.solvers import Calls, find_attribution_critic


@task
@check_arguments
def who_and_when(
    subset: str | list[str] | None = None,
    source: str = "who_and_when",
    critic: str | Solver = "all_at_once",
    ground_truth: bool = True,
    wording: Wording = "own",
    votes: int = 1,
    style: str = "agent",
    calls: Calls = "sequential",
    threshold: float | None = None,
    context: int | None = None,
    accept: str | None = None,
    order: RowOrder = "interleaved",
) -> Task:
    """Find the agent and the step to blame for a failure.

    Args:
        subset: Use only this set, or these: Algorithm-Generated, Hand-Crafted, or those of your
            file.
        source: A registered source, your own JSON, JSONL, CSV or Parquet file, or JSON files with
            one log each: `'logs/*.json'`.
        critic: all_at_once, step_by_step or binary_search, as published; or a critic that names a
            step: critique, stepwise, reward, a baseline (last_step, uniform), or your own solver as
            `file.py@solver`. The agent then is the one that wrote the step.
        ground_truth: Show the true answer to the critic.
        wording: The prompts of the published protocols: own, or published for the original ones,
            which are read from their authors' repository.
        votes: The number of votes that decide a critique.
        style: The prompts of stepwise and reward: agent, plain, written or single_token.
        calls: The calls of stepwise: sequential or parallel.
        threshold: Steps with a smaller reward are wrong. Default: the reward model's own value.
        context: The model's context in tokens. A critique reads longer logs in windows of whole
            steps.
        accept: The sha256 of a changed copy of a registered source that you want to use.
        order: The order of rows: interleaved, so that the first rows have both sets, or published:
            as in the files.
    """
    dataset = attribution_dataset(source, subset, accept, order)
    judged_by = find_attribution_critic(
        critic, dataset, ground_truth, wording, votes, style, calls, threshold, context
    )
    return Task(
        dataset=dataset,
        solver=judged_by.solver,
        scorer=[attribution(), attribution_published(), subset_column()],
        config=judged_by.config,
        metadata=judged_by.metadata,
        viewer=WHO_AND_WHEN_VIEW,
        headline_metric=HeadlineMetric(scorer="attribution", metric="step_accuracy"),
        version=evals()["who_and_when"].version,
    )


register_variants(who_and_when)
