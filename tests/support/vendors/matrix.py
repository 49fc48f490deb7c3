"""The matrix: every eval and critic on every protocol, and the table in docs/providers.md.

python -m tests.support.vendors.matrix   # write docs/providers.md anew
"""

import json
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from inspect_ai import Task, eval as run_eval
from inspect_ai.event import ModelEvent
from inspect_ai.log import EvalLog, EvalSample, read_eval_log
from inspect_ai.model import Model, get_model

from misstep.evals.adversarial_numinamath import adversarial_numinamath
from misstep.evals.agent_process import agent_process
from misstep.evals.deltabench import deltabench
from misstep.evals.deltabench_sections import deltabench_sections
from misstep.evals.error_recovery import error_recovery
from misstep.evals.guided_search import guided_search
from misstep.evals.mistake_finding import mistake_finding
from misstep.evals.mr_ben import mr_ben
from misstep.evals.prmbench import prmbench
from misstep.evals.procedural import procedural
from misstep.evals.processbench import processbench
from misstep.evals.who_and_when import who_and_when
from misstep.registry import find_continuation
from misstep.stores import variation_records
from tests.support.openai_server import OpenAIServer, Reply
from tests.support.rows import delta_row
from tests.support.vendors import PROTOCOLS, Conversation, Protocol, VendorServer
from tests.support.vendors._server import Traffic

PAGE = Path(__file__).parents[3] / "docs" / "providers.md"
WORDS = find_continuation()
ANSWER = "42"
VOTES = 3


def scripted(conversation: Conversation, number: int) -> Reply:
    """Reply as a model that finds the first error in step 1, and answers 42."""
    last = conversation.last[1]
    if WORDS.final in conversation.text:
        # Only a model that is asked at the end of the conversation answers.
        return Reply(ANSWER if WORDS.final in last else "I was asked nothing.")
    if WORDS.system in conversation.text:
        return Reply(" So I go on.")
    if "put your final answer within" in conversation.text:
        return _next_step(conversation, number)
    if "Is the next step right?" in last:
        right = "[Checked steps]\n\n(none yet)" in last
        word, other = ("right", "wrong") if right else ("wrong", "right")
        return Reply(rf"So \boxed{{{word}}}", chances={word: {word: 0.8, other: 0.2}})
    for sign, reply in _FIXED:
        if sign in conversation.text:
            return Reply(reply)
    if "has_error" in last:
        error = {"section": 2, "explanation": "It is wrong."}
        return Reply(json.dumps({"has_error": True, "errors": [error]}))
    if "Find every section" in last:
        return Reply("Conclusion: yes\nError Section Number: 2\nExplanation: It is wrong.")
    if r"\boxed" in last:
        return Reply(r"The first error is in \boxed{1}.")
    first = sum(role == "user" for role, _ in conversation.messages) == 1
    word, other = ("+", "-") if first else ("-", "+")
    return Reply(word, chances={word: {word: 0.8, other: 0.2}})


_FIXED = (
    ('{"validity": [...]', '{"validity": [1, -1, 1], "redundancy": [-1, -1, -1]}'),
    (
        "Mark the solution below like a teacher",
        "Solution Analysis: x\nSolution Correctness: incorrect\n"
        "First Error Step: Step 2\nError Reason: It is wrong.",
    ),
    ("Step Number:", "Agent Name: Agent_1\nStep Number: 1\nReason for Mistake: It guessed."),
    ("Thought", "2"),
)
"""Replies to the questions of single benchmarks, each with a sign of the question."""


def _next_step(conversation: Conversation, number: int) -> Reply:
    """Return the next of two steps, or a whole solution if there is no stop sequence."""
    started = conversation.last[0] == "assistant" or "Here are the first steps" in conversation.text
    if started:
        return Reply(rf"So it is \boxed{{{ANSWER}}}.")
    return Reply(f"First, way {number}.\n\nSo it is \\boxed{{{ANSWER}}}.")


@dataclass(frozen=True)
class Row:
    """One way to run an eval, and the result that the scripted replies imply."""

    name: str
    task: Callable[[Path], Task]
    result: Callable[[EvalSample], object]
    expected: object
    how: Callable[[EvalSample], str] = lambda sample: "yes"
    roles: str = ""
    """The reward model: `prm`, `self`, or none."""


def _answer(scorer: str) -> Callable[[EvalSample], object]:
    return lambda sample: (sample.scores or {})[scorer].answer


def _model_events(sample: EvalSample) -> list[ModelEvent]:
    """Return the successful calls of the model under test."""
    events = [event for event in sample.events if isinstance(event, ModelEvent)]
    return [event for event in events if event.error is None and event.role is None]


def _votes(sample: EvalSample) -> str:
    return "one request" if len(_model_events(sample)) == 1 else "single calls"


def _recovery(sample: EvalSample) -> str:
    record = variation_records(sample.store)["IR"]
    return f"{record.turn}, {record.answer_role} asks"


def _search(sample: EvalSample) -> str:
    prefilled = any(event.input[-1].role == "assistant" for event in _model_events(sample))
    return "prefill" if prefilled else "new turn"


def _sample(**options: Any) -> Callable[[Path], Task]:
    return lambda folder: processbench(source="sample", **options)


def _delta(task: Callable[..., Task], **options: Any) -> Callable[[Path], Task]:
    def make(folder: Path) -> Task:
        path = folder / "delta.jsonl"
        path.write_text(json.dumps(delta_row(errors=(2,))), encoding="utf-8")
        return task(source=str(path), **options)

    return make


def _file(task: Callable[..., Task], row: dict[str, Any]) -> Callable[[Path], Task]:
    def make(folder: Path) -> Task:
        path = folder / f"{task.__name__}.jsonl"
        path.write_text(json.dumps(row), encoding="utf-8")
        return task(source=str(path))

    return make


_PRMBENCH = {
    "idx": "prm_test_p1_0",
    "classification": "confidence",
    "modified_question": "How many?",
    "modified_process": ["1. First.", "2. Second.", "3. Third."],
    "error_steps": [2],
}
_FAILURE = {
    "id": "x",
    "question": "How many?",
    "ground_truth": "8",
    "history": [{"name": f"Agent_{i}", "role": "user", "content": f"c{i}"} for i in range(3)],
    "mistake_agent": "Agent_1",
    "mistake_step": "1",
    "mistake_reason": "It guessed.",
}


_PROBLEM = {"problem": "How much is 6 times 7?", "answer": ANSWER}
"""Its answer is a whole number: to compare others takes a process that loads math-verify."""


def _guided(**options: Any) -> Callable[[Path], Task]:
    def make(folder: Path) -> Task:
        path = folder / "problem.jsonl"
        path.write_text(json.dumps(_PROBLEM), encoding="utf-8")
        return guided_search(source=str(path), n=2, max_steps=4, **options)

    return make


FIRST = _answer("first_error")
SECTIONS = _answer("error_sections")
FINAL = _answer("final_answer")

ROWS = (
    Row("ProcessBench, critique", _sample(), FIRST, "1"),
    Row("ProcessBench, votes", _sample(votes=VOTES), FIRST, "1", _votes),
    Row("ProcessBench, weighted votes", _sample(votes=VOTES, weighted=True), FIRST, "1", _votes),
    Row("ProcessBench, stepwise", _sample(critic="stepwise"), FIRST, "1"),
    Row(
        "ProcessBench, stepwise, single token",
        _sample(critic="stepwise", style="single_token"),
        FIRST,
        "1",
    ),
    Row("ProcessBench, reward of a judge", _sample(critic="reward"), FIRST, "1"),
    Row("DeltaBench, votes", _delta(deltabench, votes=VOTES), FIRST, "1", _votes),
    Row("DeltaBench sections", _delta(deltabench_sections), SECTIONS, "2"),
    Row(
        "DeltaBench sections, structured",
        _delta(deltabench_sections, structured=True),
        SECTIONS,
        "2",
    ),
    Row("Procedural, critique", lambda folder: procedural(n=1), FIRST, "1"),
    Row(
        "Adversarial NuminaMath, critique",
        lambda folder: adversarial_numinamath(),
        _answer("detections"),
        "1",
    ),
    Row("PRMBench, critique", _file(prmbench, _PRMBENCH), FIRST, "1"),
    Row("MR-Ben", lambda folder: mr_ben(source="sample"), _answer("marking"), "1"),
    Row("BIG-Bench Mistake", lambda folder: mistake_finding(source="sample"), FIRST, "1"),
    Row(
        "AgentProcessBench, critique",
        lambda folder: agent_process(source="agent_sample", critic="critique"),
        FIRST,
        "1",
    ),
    Row("Who&When", _file(who_and_when, _FAILURE), _answer("attribution"), "Agent_1, step 1"),
    Row(
        "Error recovery",
        lambda folder: error_recovery(source="generated", per_task=1),
        lambda sample: {one.answer for one in variation_records(sample.store).values()},
        {ANSWER},
        _recovery,
    ),
    Row("Guided search, plain", _guided(method="plain"), FINAL, ANSWER),
    Row("Guided search, majority", _guided(method="majority"), FINAL, ANSWER, _votes),
    Row("Guided search, greedy, PRM", _guided(), FINAL, ANSWER, _search, "prm"),
    Row("Guided search, best of n, PRM", _guided(method="best_of_n"), FINAL, ANSWER, roles="prm"),
    Row("Guided search, greedy, judge", _guided(style="plain"), FINAL, ANSWER, _search, "self"),
)


@dataclass(frozen=True)
class Outcome:
    """The outcome of a row on a protocol."""

    row: Row
    log: EvalLog

    @property
    def cell(self) -> str:
        """What the table says."""
        if self.log.status != "success":
            message = self.log.error.message if self.log.error else ""
            return self._without_logprobs(message) or f"**fails**: {message}"
        [sample] = self.log.samples or []
        found = self.row.result(sample)
        if found != self.row.expected:
            wrong = f"**wrong**: {found!r} instead of {self.row.expected!r}"
            told = [score.explanation or "" for score in (sample.scores or {}).values()]
            return self._without_logprobs(" ".join(told) + str(sample.store)) or wrong
        return self.row.how(sample)

    @staticmethod
    def _without_logprobs(message: str) -> str | None:
        told = ("needs logprobs", "no logprobs")
        return "needs logprobs" if any(words in message for words in told) else None


@contextmanager
def _model(protocol: Protocol) -> Iterator[tuple[VendorServer, Model]]:
    with VendorServer(protocol, scripted) as server:
        yield (
            server,
            get_model(
                protocol.model,
                base_url=server.base_url,
                api_key="x",
                memoize=False,
                **protocol.options,
            ),
        )


def outcomes(
    protocol: Protocol, folder: Path, rows: Sequence[Row] = ROWS
) -> tuple[list[Outcome], Traffic]:
    """Run rows on a protocol; return the outcomes in order, and the traffic."""
    logs: dict[str, EvalLog] = {}
    with (
        _model(protocol) as (server, model),
        OpenAIServer(pooling=lambda text: [[0.1, 0.9]] * str(text).count("<extra_0>")) as rewards,
    ):
        url = rewards.url.removesuffix("/v1")
        prm = get_model("prm/qwen2.5-math-prm-7b", base_url=url, memoize=False)
        for roles in ({}, {"prm": prm}, {"self": model}):
            own = [row for row in rows if row.roles == "".join(roles)]
            tasks = [row.task(folder) for row in own]
            for task, row in zip(tasks, own, strict=True):
                task.metadata = {"row": row.name}
            made = (
                run_eval(
                    tasks,
                    model=model,
                    model_roles=dict.fromkeys(["reward"], *roles.values()) if roles else {},
                    limit=1,
                    log_dir=str(folder / "logs"),
                    display="log",
                    log_realtime=False,
                    max_tasks=len(tasks) or 1,
                )
                if tasks
                else []
            )
            for log in made:
                name = (log.eval.metadata or {})["row"]
                logs[name] = log if log.samples else read_eval_log(log.location)
        return [Outcome(row, logs[row.name]) for row in rows], server.traffic


def table(cells: dict[str, list[str]]) -> str:
    """Return the cells of all protocols as a table: a line for each row."""
    lines = ["| | " + " | ".join(cells) + " |", "| --- " * (len(cells) + 1) + "|"]
    for index, row in enumerate(ROWS):
        lines.append(f"| {row.name} | " + " | ".join(c[index] for c in cells.values()) + " |")
    return "\n".join(lines)


def documented_cells() -> dict[str, list[str]]:
    """Return the cells of the table in the docs, by protocol."""
    lines = [
        [cell.strip() for cell in line.strip("|").split("|")]
        for line in PAGE.read_text(encoding="utf-8").splitlines()
        if line.startswith("|")
    ]
    head, _, *body = lines[: len(ROWS) + 2]
    if [line[0] for line in body] != [row.name for row in ROWS]:
        return {}
    return {name: [line[i] for line in body] for i, name in enumerate(head) if i}


def main() -> None:
    """Write the table into docs/providers.md."""
    cells = {}
    for name, protocol in PROTOCOLS.items():
        with TemporaryDirectory() as folder:
            found, _ = outcomes(protocol, Path(folder))
        cells[name] = [outcome.cell for outcome in found]
        print(name, *cells[name], sep="\n  ", file=sys.stderr)
    text = PAGE.read_text(encoding="utf-8")
    before, _, rest = text.partition("<!-- matrix -->\n")
    _, _, after = rest.partition("<!-- /matrix -->")
    page = f"{before}<!-- matrix -->\n\n{table(cells)}\n\n<!-- /matrix -->{after}"
    PAGE.write_text(page, encoding="utf-8")


if __name__ == "__main__":
    main()
