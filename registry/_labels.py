"""What both rows and verdicts are made of."""

NO_ERROR = -1
"""The label, and the verdict, of a solution without an error."""

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
