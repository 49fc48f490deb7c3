import inspect

import pytest
from inspect_ai.util import registry_create

import misstep.registry.entry_point  # noqa: F401
from misstep.registry import sizes

SAMPLES = {"processbench": "sample", "procedural": "small", "error-recovery": "sample"}


@pytest.mark.parametrize(("name", "variant"), SAMPLES.items())
def test_a_variant_runs_by_its_own_name(name, variant):
    size = sizes()[f"{name}.{variant}"].samples
    assert len(registry_create("task", f"misstep/{name}.{variant}").dataset) == size


def test_a_given_argument_overrides_the_variants():
    task = registry_create("task", "misstep/procedural.small", n=7)
    assert len(task.dataset) == 7


def test_the_task_keeps_its_own_arguments():
    from misstep.evals import procedural

    own = inspect.signature(procedural).parameters
    assert "variant" not in own
    assert own["n"].default == 500
    assert registry_create("task", "misstep/procedural", n=5).name == "misstep/procedural"
