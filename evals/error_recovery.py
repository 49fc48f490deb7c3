"""Error recovery: can a model recover from a mistake in reasoning that is given as its own?

Protocol: OpenAI's Error Recovery on 1,436 problems of BIG-Bench Mistake (Tyen et al., arXiv
2311.08516). Each problem is solved from the question alone (NR), after correct steps (CR) and after
the same steps with a wrong one (IR), which are given as the model's own reasoning. Further
variations (-T variations=) compare this with the same steps given by the user (XC, XI), with a
marker such as "Wait" after them (CRm, IRm), and with all steps but the last (IRp).

Metric: the share of right answers in IR, compared with NR and CR on the same problems. The strict
scorer compares character by character, as published.

inspect eval evals/error_recovery.py --model openai/gpt-4o-mini
inspect eval evals/error_recovery.py@error-recovery.small --model openai/gpt-4o-mini
inspect eval evals/error_recovery.py -T notice=end -T notice_for=IR --model openai/gpt-4o-mini
inspect eval misstep/error-recovery.medium.other-reasoning --model openai/gpt-4o-mini
inspect eval misstep/error-recovery.blind-spot --model vllm/Qwen/Qwen2.5-7B-Instruct
inspect eval misstep/error-recovery.sample --model embedded/smollm2
"""

from inspect_ai import Task, task
from inspect_ai.log import HeadlineMetric
from inspect_ai.model import GenerateConfig

from misstep.evals._views import recovery_view
from misstep.loaders import MistakeRows, RowOrder, recovery_dataset, recovery_prompts
from misstep.registry import Wording, check_arguments, evals, register_variants
from misstep.scorers import recovery, recovery_grades, recovery_lenient, subset_column
from misstep.solvers import (
    AnswerRole,
    Notice,
    NoticeFor,
    TurnChoice,
    Until,
    continuation,
    variation_names,
)

NAME = "error-recovery"


@task(name="error-recovery")
@check_arguments
def error_recovery(
    subset: str | list[str] | None = None,
    per_task: int | None = None,
    source: str = "big_bench_mistake",
    own_reasoning: bool = True,
    notice: Notice | None = None,
    notice_for: NoticeFor = "all",
    answer_role: AnswerRole = "auto",
    turn: TurnChoice = "auto",
    variations: str | list[str] = "NR,CR,IR",
    marker: str | None = None,
    until: Until = "mistake",
    rows: MistakeRows = "recoverable",
    prompts: str = "error_recovery",
    wording: Wording = "own",
    seed: int = 0,
    max_tokens: int | None = None,
    accept: str | None = None,
    order: RowOrder = "interleaved",
) -> Task:
    """Solve problems without given steps (NR), after correct ones (CR), and after a wrong one (IR).

    Args:
        subset: Use only this task, or these: multistep_arithmetic, tracking_shuffled_objects,
            word_sorting, logical_deduction, dyck_languages.
        per_task: Use only the first N rows of each task.
        source: A registered source, your own JSON, JSONL, CSV or Parquet file, or `generated`.
        own_reasoning: Give the steps as the model's own reasoning. Otherwise as the user's.
        notice: Say that there might be a mistake: immediate or end.
        notice_for: Give the notice in all variations, or only in those with a wrong step (IR).
        answer_role: The role that asks for the final answer: system, user, or auto: system, as
            published, unless the provider has no place for a late system message.
        turn: How the model continues its own steps: auto, continued, new_turn or asked.
        variations: NR, CR, IR, and further ones: XC, XI (the user gives the steps), CRm, IRm (a
            marker follows them), IRp (all steps but the last).
        marker: The text after the steps in CRm and IRm. Default: Wait.
        until: The last step that is given with the mistake: mistake, or last (the last but one).
        rows: recoverable (a mistake before the last step and a wrong answer, as published), or
            mistake (all rows with a mistake).
        prompts: How the model is asked: error_recovery, self_correction_bench, or a name of your
            own in `continuations.yaml`.
        wording: Whose prompts: own, or published, which are read from the authors' repository.
        seed: The seed of generated problems.
        max_tokens: The maximum number of tokens of a reply. `--max-tokens` overrides it.
        accept: The sha256 of a changed copy of a registered source that you want to use.
        order: The order of rows: interleaved, so that the first rows have all tasks, or published:
            as in the files.
    """
    words, names = recovery_prompts(prompts, wording), variation_names(variations)
    whole = until == "last" or "IRp" in names
    return Task(
        dataset=recovery_dataset(source, per_task, seed, accept, order, subset, rows, words, whole),
        solver=continuation(
            own_reasoning=own_reasoning,
            notice=notice,
            notice_for=notice_for,
            answer_role=answer_role,
            turn=turn,
            prompts=prompts,
            variations=names,
            marker=marker,
            until=until,
            wording=wording,
        ),
        scorer=[recovery(prompts), recovery_lenient(prompts), recovery_grades(), subset_column()],
        config=GenerateConfig(max_tokens=max_tokens),
        viewer=recovery_view(names),
        headline_metric=HeadlineMetric(scorer="recovery", metric="IR_correct_rate"),
        version=evals()[NAME].version,
    )


register_variants(error_recovery, NAME)
