"""How given reasoning is carried on: `continuations.yaml`."""

from typing import Literal

from pydantic import Field

from misstep.registry._read import Fact, find_fact, read_facts

AnswerKind = Literal["number", "letter", "words", "brackets"]


class ContinuationTask(Fact):
    """A kind of problem."""

    instruction: str = ""
    """Goes before the questions, where they have none of their own."""
    hint: str
    """What the final answer looks like, for the model."""
    answer: AnswerKind
    """The same for the lenient comparison."""


class ContinuationPrompts(Fact):
    """The words of a conversation."""

    system: str
    notice: str
    """Says that there might be a mistake."""
    proceed: str
    """Asks to go on, where a trailing assistant message is refused."""
    final: str
    """Asks for the answer alone; the task's hint follows."""
    tasks: dict[str, ContinuationTask] = Field(min_length=1)

    def task(self, name: str) -> ContinuationTask:
        """The task of that name, or an error that lists the close ones."""
        return find_fact("task", name, self.tasks)


def find_continuation(name: str = "error_recovery") -> ContinuationPrompts:
    """The prompts of that name, or an error that lists the close ones."""
    known: dict[str, ContinuationPrompts] = read_facts("continuations.yaml", ContinuationPrompts)
    return find_fact("continuation prompts", name, known)
