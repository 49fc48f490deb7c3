"""Filling prompts."""

from collections.abc import Sequence

from misstep.registry import PROBLEM, SOLUTION, Domain, Tag, fill


def tagged(steps: Sequence[str], tag: Tag) -> str:
    """The steps, each in a numbered tag: `<paragraph_0>` and so on."""
    return "\n\n".join(f"<{tag}_{i}>\n{step}\n</{tag}_{i}>" for i, step in enumerate(steps))


def critique_prompt(
    domain: Domain, problem: str, steps: Sequence[str], tag: Tag | None = None
) -> str:
    """The prompt for a critic of a whole solution."""
    return fill(domain.template, {PROBLEM: problem, SOLUTION: tagged(steps, tag or domain.tag)})
