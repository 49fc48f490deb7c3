"""What both rows and verdicts are made of."""

GOLD_SECTIONS = "gold_sections"
"""Where a sample's metadata has the numbers of its erroneous sections, from 1."""

PUBLISHED_GOLD_SECTIONS = "gold_sections_published"
"""The same as annotated, where that differs: the published script takes any number."""

REWARDS = "rewards"
"""Where the metadata of an output, and of its score, has the reward of each step, None for one that
is missing."""

MISSING = "missing"
"""Where the same metadata says why rewards are missing."""

RECORDED = "recorded"
"""Where a sample's metadata has what a run made elsewhere left for it."""


def third_of(step: int, steps: int) -> str:
    """In which third of a solution a step stands: early, middle or late."""
    place = 3 * step
    return "early" if place < steps - 1 else "middle" if place <= 2 * (steps - 1) else "late"
