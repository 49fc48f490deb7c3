"""MR-Ben: mark a worked solution like a teacher (Zeng et al., arXiv 2406.13975, 2312.17080).

Protocol: one reply at temperature 0 with four fields: analysis, correctness, first wrong step and
reason. A grader judges the reasons, if the run has one. The rows are the published ones; the
prompts are misstep's, or published with `-T wording=published`.

Metric: MR-Score, which weighs correctness (MCC), the first wrong step and the reason; without a
grader only its first two parts. `marking_published` follows the published code.

inspect eval evals/mr_ben.py -T subset=physics --model openai/gpt-4o-mini
inspect eval evals/mr_ben.py -T wording=published --model openai/gpt-4o
inspect eval evals/mr_ben.py --model openai/gpt-4o-mini --model-role grader=openai/gpt-4-turbo
inspect eval misstep/mr_ben.mr_gsm8k --model openai/gpt-4o-mini
"""

from inspect_ai import Task, task
from inspect_ai.log import HeadlineMetric
from inspect_ai.model import GenerateConfig

from misstep.evals._views import MARKING_VIEW
from misstep.loaders import RowOrder, marked_dataset
from misstep.registry import Wording, check_arguments, evals, find_marking_prompt, register_variants
from misstep.scorers import marking, marking_published, subset_column
from misstep.solvers import mark_solution, require_wording


@task
@check_arguments
def mr_ben(
    subset: str | list[str] | None = None,
    source: str = "mr_ben",
    wording: Wording = "own",
    accept: str | None = None,
    order: RowOrder = "interleaved",
) -> Task:
    """Mark a solution: is it correct, which step is wrong first, and why.

    Args:
        subset: Use only this subject, or these: physics, coding, biology, chemistry, math,
            medicine, logic.
        source: mr_ben, mr_gsm8k, any other source of first errors, or your own file.
        wording: The prompts: own, or published, which are read from the authors' repositories.
            Compare with published numbers only if they are published.
        accept: The sha256 of a changed copy of a registered source that you want to use.
        order: The order of rows: interleaved, so that the first rows have both classes and all
            subjects, or published: as in the files.
    """
    prompt = find_marking_prompt()
    dataset = marked_dataset(source, subset, accept, order)
    require_wording(dataset, wording)
    return Task(
        dataset=dataset,
        solver=mark_solution(wording),
        scorer=[marking(), marking_published(), subset_column()],
        config=GenerateConfig(temperature=prompt.temperature, top_p=prompt.top_p),
        viewer=MARKING_VIEW,
        headline_metric=HeadlineMetric(scorer="marking", metric="mr_score_without_reason"),
        version=evals()["mr_ben"].version,
    )


register_variants(mr_ben)
