"""Prompts: templates with their settings, and filling them."""

import re
from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field, model_validator

from misstep.registry._facts import Fact, FactFile, find_fact, read_facts

PROBLEM = "{problem}"
SOLUTION = "{tagged_response}"
SECTIONS = "{sections}"
ANSWER = "{answer}"
STEP = "{step}"
STEPS = "{steps}"
NUMBER = "{number}"
NUMBERS = "{numbers}"


def fill(template: str, values: Mapping[str, str]) -> str:
    """Return a template with placeholders such as `{problem}` replaced, in one pass.

    Braces, tags and placeholders inside the values stay as they are.
    """
    places = re.compile("|".join(re.escape(place) for place in values))
    return places.sub(lambda place: values[place.group()], template)


def _check_places(text: str | None, *places: str) -> None:
    for place in places:
        if (text or "").count(place) != 1:
            raise ValueError(f"the template must contain {place} exactly once")


def _template(*places: str) -> Any:  # noqa: ANN401
    def check(template: str) -> str:
        _check_places(template, *places)
        if any(ord(c) < 32 and c != "\n" for c in template):
            raise ValueError("the template contains a control character")
        return template

    return AfterValidator(check)


Tag = Literal["paragraph", "step", "proof_step"]


class Domain(Fact):
    """How a critic is asked for the first wrong step."""

    template: Annotated[str, _template(PROBLEM, SOLUTION)]
    tag: Tag
    temperature: float = Field(ge=0)
    voting_temperature: float = Field(ge=0)
    max_tokens: int = Field(gt=0)
    reasoning_max_tokens: int = Field(default=32_768, gt=0)
    """For models that reason before they answer: the value of ProcessBench's published script."""


domains = FactFile("domains.yaml", Domain, "domain")
find_domain = domains.find


class LabelsPrompt(Fact):
    """How a critic is asked for a label for every step of an agent."""

    system: str
    template: Annotated[str, _template(PROBLEM, SOLUTION, NUMBERS)]
    temperature: float = Field(ge=0)
    top_p: float = Field(gt=0, le=1)
    max_tokens: int = Field(gt=0)


class AttributionPrompt(Fact):
    """How a critic is asked for the decisive mistake, in one of three ways."""

    system: str
    template: str


class AttributionPrompts(Fact):
    """How a critic is asked for the decisive mistake of a team of agents."""

    answer: str
    """The line with the true answer."""
    max_tokens: int = Field(gt=0)
    all_at_once: AttributionPrompt
    step_by_step: AttributionPrompt
    binary_search: AttributionPrompt


class AgentPrompts(Fact):
    """How critics are asked about the logs of agents."""

    labels: LabelsPrompt
    attribution: AttributionPrompts


def agent_prompts() -> AgentPrompts:
    """Return the prompts about the logs of agents."""
    prompts: AgentPrompts = read_facts("agents.yaml", AgentPrompts)
    return prompts


class SectionsPrompt(Fact):
    """How a critic is asked for all erroneous sections."""

    template: Annotated[str, _template(ANSWER, PROBLEM, SECTIONS)]
    text: str
    """How to answer in words; it replaces `{answer}`."""
    structured: str
    """How to answer if the reply must follow a JSON schema; it replaces `{answer}`."""
    temperature: float = Field(ge=0)
    top_p: float = Field(gt=0, le=1)


find_sections_prompt = FactFile(
    "sections.yaml", SectionsPrompt, "sections prompt", default="deltabench"
).find


class MarkingPrompt(Fact):
    """How a critic is asked to mark a solution, and a grader to judge the critic's reason."""

    template: Annotated[str, _template(PROBLEM, STEPS, STEP)]
    step: str
    """How the critic names a step; it replaces `{step}`."""
    code_step: str
    """How the critic names a line of code."""
    grader: Annotated[str, _template(PROBLEM, STEPS)]
    temperature: float = Field(ge=0)
    top_p: float = Field(gt=0, le=1)


find_marking_prompt = FactFile(
    "marking.yaml", MarkingPrompt, "marking prompt", default="mr_ben"
).find


class MistakePrompt(Fact):
    """How a critic is asked for a mistake in a chain of thought."""

    template: Annotated[str, _template("{input}", STEPS)]
    max_tokens: int = Field(gt=0)


find_mistake_prompt = FactFile("mistakes.yaml", MistakePrompt, "protocol").find


class StepScoresPrompt(Fact):
    """How a critic is asked to score every step."""

    system: str
    user: Annotated[str, _template(PROBLEM, STEPS)]
    temperature: float = Field(ge=0)


find_step_scores_prompt = FactFile(
    "step_scores.yaml", StepScoresPrompt, "prompt for step scores", default="prmbench"
).find


class Judge(Fact):
    """How a judge is asked about one step at a time."""

    system: str | None = None
    first: str
    """The first user message; every prompt if there is no `next`."""
    next: str | None = None
    """The later user messages."""
    history: str | None = None
    """What the conversation shows as the judge's earlier replies."""
    reply: Literal["token", "box"]
    """How a reply is read: by its first characters, or by its last box."""
    right: list[str] = Field(min_length=1)
    wrong: list[str] = Field(min_length=1)
    other_replies: Literal["unread", "wrong"] = "unread"
    """What a reply without a verdict is: `unread`, or `wrong` as in RLHFlow's published script."""
    temperature: float = Field(ge=0)
    max_tokens: int = Field(gt=0)

    @model_validator(mode="after")
    def _is_a_conversation_or_not(self) -> "Judge":
        if (self.next is None) != (self.history is None):
            raise ValueError("`next` and `history` belong together: give both or neither")
        return self


find_judge = FactFile("judges.yaml", Judge, "style of judging").find


class PolicyPrompt(Fact):
    """How a policy is asked for the next step in a guided search."""

    system: str
    first: str
    """The user message, with `{problem}`."""
    next: str
    """The user message with `{problem}` and `{steps}`, if the policy cannot continue its own
    message."""


find_policy_prompt = FactFile(
    "search.yaml", PolicyPrompt, "policy prompt", default="mathematics"
).find


AnswerKind = Literal["number", "letter", "words", "brackets"]


class ContinuationTask(Fact):
    """A kind of problem whose reasoning a model continues."""

    instruction: str = ""
    """It is put before the questions, if they contain no instruction."""
    hint: str = ""
    """What the final answer looks like, for the model."""
    answer: AnswerKind
    """What the final answer looks like, for the lenient comparison."""


class ContinuationPrompts(Fact):
    """How a model is asked to continue given reasoning."""

    system: str | None = None
    notice: str
    """Says that there may be a mistake."""
    proceed: str
    """Asks to continue, if the model refuses a trailing assistant message."""
    final: str | None = None
    """Asks for the answer alone; the task's hint follows. Without it, the answer is read from the
    model's reasoning: the last letter in parentheses, or the last number."""
    between_steps: str = "\n"
    after_question: str | None = None
    """What stands before steps that the user gives, in the message of the question; None: they are
    a message of their own."""
    grader: Annotated[str, _template(PROBLEM, ANSWER, STEPS, "{reply}")]
    """Asks a grader about the model's reply to a wrong step."""
    tasks: dict[str, ContinuationTask] = Field(min_length=1)

    @model_validator(mode="after")
    def _has_answers_to_read(self) -> "ContinuationPrompts":
        kinds = {task.answer for task in self.tasks.values()}
        if self.final is None and not kinds <= {"letter", "number"}:
            raise ValueError("without `final`, answers must be letters or numbers")
        return self

    def task(self, name: str) -> ContinuationTask:
        """Return the task with this name, or raise an error that names the closest match."""
        return find_fact("task", name, self.tasks)


find_continuation = FactFile(
    "continuations.yaml", ContinuationPrompts, "continuation prompts", default="error_recovery"
).find


class InjectionPrompts(Fact):
    """How a model is asked to inject an error, and another to confirm it."""

    system: str
    request: str
    complaint: str
    review_system: str
    review_request: str


def injection_prompts() -> InjectionPrompts:
    """Return the prompts of error injection."""
    prompts: InjectionPrompts = read_facts("injection.yaml", InjectionPrompts)
    return prompts


class Prm(Fact):
    """A process reward model, and how it is asked."""

    repository: str
    """On the Hugging Face hub."""
    way: Literal["scores", "judge"]
    """`scores`: it scores all steps of a solution in one request. `judge`: a chat model that is
    asked about each step."""
    style: str | None = None
    """For a judge: its style in `judges.yaml`."""
    route: Literal["/pooling", "/classify"] | None = None
    """The route of vLLM that serves it."""
    returns: Literal["steps", "tokens", "input"] | None = None
    """What each result belongs to: a step's token, a token, or the whole input, which then ends
    with the step that is scored."""
    template: str | None = None
    """The whole input, with `{problem}` and `{steps}`."""
    step: str | None = None
    """One step with its separator: `{step}` is its text, `{number}` counts from 1."""
    step_token: str | None = None
    """The separator. Its result is the step's result."""
    labels: list[str] | None = Field(default=None, min_length=2)
    """What the values of a result stand for, in order; None if a result is one value."""
    right: str | None = None
    """The label of a right step."""
    values: Literal["probabilities", "logits"] | None = None
    """What a server returns."""
    head: Literal["token_classification", "causal_lm", "own_code"] | None = None
    """How transformers loads it; `own_code` is code from its repository."""
    threshold: Annotated[float, Field(ge=0, le=1)] = 0.5
    serve: str | None = None
    """The command that serves it, if `vllm serve <repository>` is not enough."""
    sources: dict[str, str] = Field(min_length=1)
    """The source of each fact."""

    @model_validator(mode="after")
    def _is_complete(self) -> "Prm":
        if self.way == "judge":
            if self.style is None:
                raise ValueError("a judge needs a style")
            return self
        needed = ("route", "returns", "template", "step", "step_token", "values")
        if missing := [name for name in needed if getattr(self, name) is None]:
            raise ValueError(f"a model that scores steps needs {', '.join(missing)}")
        _check_places(self.template, PROBLEM, STEPS)
        _check_places(self.step, STEP)
        if str(self.step_token) not in str(self.step):
            raise ValueError("`step` must contain the step_token")
        if (self.right not in self.labels) if self.labels else (self.right is not None):
            raise ValueError("`right` must be one of the `labels`; without labels, leave it out")
        return self


prms = FactFile("prms.yaml", Prm, "process reward model")
find_prm = prms.find
