import pytest

from tests.generator.checked import many


@pytest.fixture(scope="session")
def solved():
    """Solutions of all families, difficulties and lengths, one in ten of them long."""
    return list(many(700))
