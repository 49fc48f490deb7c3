import pytest

from misstep.generator import solutions

SEEDS = 100


@pytest.fixture(scope="session")
def many():
    """Ten thousand solutions over a hundred seeds, of all difficulties and lengths."""
    each = 100
    made = []
    for seed in range(SEEDS):
        steps = ("6-12", "4-8", "12-20")[seed // 3 % 3]
        made += solutions(seed, each, difficulty=seed % 3 + 1, steps=steps)
    return made
