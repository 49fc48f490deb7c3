"""DeltaBench: every erroneous section of a long chain of thought (He et al., arXiv 2502.19361).

Protocol: one critique at temperature 1 and top_p 0.8, as published, which names every erroneous
section. The rows are the published ones; the prompt is misstep's, or the published one with
`-T wording=published`.

Metric: macro F1 of the named sections, the mean over solutions. `error_sections_published` follows
the published script, `error_sections` corrects its mistakes.

inspect eval evals/deltabench_sections.py --model openai/gpt-4o-mini
inspect eval evals/deltabench_sections.py -T structured=true --model openai/gpt-4o-mini
inspect eval evals/deltabench_sections.py -T critic=section_range --model mockllm/model
inspect eval misstep/deltabench_sections.code --model openai/gpt-4o-mini
"""

from inspect_ai import Task, task
from inspect_ai.log import HeadlineMetric
from inspect_ai.solver import Solver

from misstep.evals._views import ERROR_SECTIONS_VIEW
from misstep.loaders import RowOrder, error_sections_dataset
from misstep.registry import Wording, check_arguments, evals, register_variants
from misstep.scorers import error_sections, error_sections_published, subset_column
from misstep.solvers import find_section_critic, sections_prompt, warn_of_long_prompts


@task
@check_arguments
def deltabench_sections(
    subset: str | list[str] | None = None,
    source: str = "deltabench",
    critic: str | Solver = "critique",
    structured: bool = False,
    wording: Wording = "own",
    first: int = 3,
    last: int = 36,
    exclude_misfits: bool = False,
    context: int | None = None,
    accept: str | None = None,
    order: RowOrder = "interleaved",
) -> Task:
    """Find every erroneous section of a long chain of thought, as the DeltaBench paper asks.

    Args:
        subset: Use only this kind of problem, or these: math, code, general,
            Physics&Chemistry&Biology.
        source: A registered source, or your own JSON, JSONL, CSV or Parquet file.
        critic: critique, a baseline (no_error, all_sections, section_range), or your own solver as
            `file.py@solver`.
        structured: Constrain replies to a JSON schema, if the provider supports it.
        wording: Whose prompt: own, or published, which is read from the authors' repository.
            Compare with published numbers only if it is published.
        first: The first section that section_range flags.
        last: The last section that section_range flags.
        exclude_misfits: Exclude the rows whose annotations do not fit their sections.
        context: The model's context in tokens. A warning names longer prompts before the run.
        accept: The sha256 of a changed copy of a registered source that you want to use.
        order: The order of rows: interleaved, so that the first rows have both classes and all
            subsets, or published: as in the file.
    """
    dataset = error_sections_dataset(source, subset, accept, exclude_misfits, order)
    judged_by = find_section_critic(critic, structured, first, last, wording)
    if critic == "critique":
        warn_of_long_prompts(
            dataset,
            context,
            lambda problem, steps: sections_prompt(problem, steps, structured, wording),
        )
    return Task(
        dataset=dataset,
        solver=judged_by.solver,
        scorer=[error_sections(structured), error_sections_published(structured), subset_column()],
        config=judged_by.config,
        viewer=ERROR_SECTIONS_VIEW,
        # Macro, as in the paper: each solution has the same weight. Strict, because the published
        # rule favours a critic that flags all sections.
        headline_metric=HeadlineMetric(scorer="error_sections", metric="f1_macro"),
        version=evals()["deltabench_sections"].version,
    )


register_variants(deltabench_sections)
