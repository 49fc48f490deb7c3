import pytest

from misstep.generator import solutions

SEEDS = 100


@pytest.fixture(scope="session")
def many(request):
    """Solutions over a hundred seeds, of all difficulties and lengths: ten thousand with --all."""
    each = 100 if request.config.getoption("--all") else 40
    made = []
    for seed in range(SEEDS):
        steps = ("6-12", "4-8", "12-20")[seed // 3 % 3]
        made += solutions(seed, each, difficulty=seed % 3 + 1, steps=steps)
    return made
