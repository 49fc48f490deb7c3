"""DeltaBench: every erroneous section of a long chain of thought (He et al., arXiv 2502.19361).

inspect eval evals/deltabench_sections.py --model openai/gpt-4o-mini
inspect eval evals/deltabench_sections.py -T structured=true --model openai/gpt-4o-mini
inspect eval evals/deltabench_sections.py -T critic=section_range --model mockllm/model
inspect eval misstep/deltabench_sections.code --model openai/gpt-4o-mini
"""

from inspect_ai import Task, task
from inspect_ai.solver import Solver

from misstep.loaders import error_sections_dataset
from misstep.registry import evals, register_variants
from misstep.solvers import sections_task


@task
def deltabench_sections(
    subset: str | None = None,
    source: str = "deltabench",
    critic: str | Solver = "critique",
    structured: bool = False,
    first: int = 3,
    last: int = 36,
    exclude_misfits: bool = False,
    context: int | None = None,
    accept: str | None = None,
) -> Task:
    """Find every erroneous section of a long chain of thought, as the DeltaBench paper asks.

    Args:
        subset: Only this kind of problem: math, code, Physics&Chemistry&Biology or general.
        source: A registered source, or your own JSON, JSONL, CSV or Parquet file.
        critic: Who judges: critique, a baseline (no_error, all_sections, section_range), or a
            solver of your own, `file.py@solver`.
        structured: Hold the replies to a JSON schema, where the provider can.
        first: The first section that section_range flags.
        last: The last section that section_range flags.
        exclude_misfits: Leave out the rows whose annotations do not fit their sections.
        context: The model's context in tokens, to be warned of longer prompts before the run.
        accept: The sha256 of a changed copy of a registered source, to run on it on purpose.
    """
    dataset = error_sections_dataset(source, subset, accept, exclude_misfits)
    return Task(
        version=evals()["deltabench_sections"].version,
        **sections_task(dataset, critic, structured, first, last, context),
    )


register_variants(deltabench_sections)
