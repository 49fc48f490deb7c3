"""What a policy is told in a guided search: `search.yaml`."""

from misstep.registry._read import Fact, find_fact, read_facts


class PolicyPrompt(Fact):
    """How a policy is asked for the next step."""

    system: str
    first: str
    """The user's turn, with the place `{problem}`."""
    next: str
    """The same where the policy does not continue its own turn, with `{problem}` and `{steps}`."""


def policy_prompts() -> dict[str, PolicyPrompt]:
    """All prompts by name."""
    return read_facts("search.yaml", PolicyPrompt)


def find_policy_prompt(name: str = "mathematics") -> PolicyPrompt:
    """The prompt of that name, or an error that lists the close ones."""
    return find_fact("policy prompt", name, policy_prompts())
