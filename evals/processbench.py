"""ProcessBench: find the earliest wrong step in a worked solution (Zheng et al., arXiv 2412.06559).

inspect eval evals/processbench.py --model openai/gpt-4o-mini
inspect eval evals/processbench.py -T subset=math --model openai/gpt-4o-mini
inspect eval evals/processbench.py -T source=my.jsonl -T domain=science --model openai/gpt-4o-mini
inspect eval misstep/processbench.sample --model openai/gpt-4o-mini
"""

from inspect_ai import Task, task
from inspect_ai.log import HeadlineMetric
from inspect_ai.model import GenerateConfig

from misstep.evals._views import FIRST_ERROR_VIEW
from misstep.loaders import first_error_dataset
from misstep.registry import Tag, find_domain, register_variants
from misstep.scorers import first_error, first_error_lenient, subset_column
from misstep.solvers import critique

VERSION = 1
SEED = 42


@task
def processbench(
    subset: str | None = None,
    domain: str = "mathematics",
    source: str = "processbench",
    tag: Tag | None = None,
    exclude_label_errors: bool = False,
    accept: str | None = None,
) -> Task:
    """Find the earliest wrong step in a worked solution.

    Args:
        subset: Only this subset: gsm8k, math, olympiadbench or omnimath, or one of your own file.
        domain: How to ask: mathematics, generic, science or programming.
        source: A registered source, or your own JSON, JSONL, CSV or Parquet file.
        tag: What to call a step in the prompt: paragraph, step or proof_step.
        exclude_label_errors: Leave out the rows whose labels are reported to be wrong.
        accept: The sha256 of a changed copy of a registered source, to run on it on purpose.
    """
    setting = find_domain(domain)
    return Task(
        dataset=first_error_dataset(source, subset, exclude_label_errors, accept),
        solver=critique(domain, tag),
        scorer=[first_error(), first_error_lenient(), subset_column()],
        config=GenerateConfig(
            temperature=setting.temperature, max_tokens=setting.max_tokens, seed=SEED
        ),
        headline_metric=HeadlineMetric(scorer="first_error", metric="f1_score"),
        viewer=FIRST_ERROR_VIEW,
        version=VERSION,
    )


register_variants(processbench)
