"""Error recovery: can a model get over a mistake in reasoning that is given as its own?

inspect eval evals/error_recovery.py --model openai/gpt-4o-mini
inspect eval evals/error_recovery.py -T variant=small --model openai/gpt-4o-mini
inspect eval evals/error_recovery.py -T notice=end -T notice_for=IR --model openai/gpt-4o-mini
inspect eval misstep/error-recovery.medium.other-reasoning --model openai/gpt-4o-mini
inspect eval misstep/error-recovery.sample --model embedded/smollm2
"""

from inspect_ai import Task, task
from inspect_ai.model import GenerateConfig

from misstep.loaders import recovery_dataset
from misstep.registry import evals, register_variants
from misstep.scorers import recovery_scoring
from misstep.solvers import AnswerRole, Notice, NoticeFor, TurnChoice, continuation

NAME = "error-recovery"


@task(name="error-recovery")
def error_recovery(
    per_task: int | None = None,
    source: str = "big_bench_mistake",
    own_reasoning: bool = True,
    notice: Notice | None = None,
    notice_for: NoticeFor = "all",
    answer_role: AnswerRole = "system",
    turn: TurnChoice = "auto",
    seed: int = 0,
    max_tokens: int | None = None,
    accept: str | None = None,
) -> Task:
    """Solve problems from nothing (NR), after correct steps (CR), and after a wrong one (IR).

    Args:
        per_task: Only the first rows of each task, so many.
        source: A registered source, your own JSON, JSONL, CSV or Parquet file, or `generated`.
        own_reasoning: Give the steps as the model's own reasoning; otherwise as the user's.
        notice: Say that there might be a mistake: immediate or end.
        notice_for: In which variations: all, or IR only.
        answer_role: Who asks for the final answer: system or user.
        turn: How the model goes on after its own steps: auto, continued, new_turn or asked.
        seed: Which problems are generated, where they are.
        max_tokens: The length of a reply, where --max-tokens does not give it.
        accept: The sha256 of a changed copy of a registered source, to run on it on purpose.
    """
    return Task(
        dataset=recovery_dataset(source, per_task, seed, accept),
        solver=continuation(
            own_reasoning=own_reasoning,
            notice=notice,
            notice_for=notice_for,
            answer_role=answer_role,
            turn=turn,
        ),
        config=GenerateConfig(max_tokens=max_tokens),
        version=evals()[NAME].version,
        **recovery_scoring(),
    )


register_variants(error_recovery, NAME)
