import inspect

import pytest
from inspect_ai.util import registry_create

import misstep.registry.entry_point  # noqa: F401
from misstep.registry import UnknownNameError, evals

SAMPLES = {"processbench": "sample", "procedural": "small", "error-recovery": "sample"}


@pytest.mark.parametrize(("name", "variant"), SAMPLES.items())
def test_every_base_task_takes_the_name_of_a_variant(name, variant):
    size = evals()[name].variants[variant].size.samples
    assert len(registry_create("task", f"misstep/{name}", variant=variant).dataset) == size


def test_an_argument_that_is_given_goes_before_the_variants():
    task = registry_create("task", "misstep/procedural", variant="small", n=7)
    assert len(task.dataset) == 7


@pytest.mark.parametrize(
    "name", ["processbench", "deltabench", "deltabench_sections", "procedural", "error-recovery"]
)
def test_an_unknown_variant_lists_the_close_ones(name):
    known = next(iter(evals()[name].variants))
    with pytest.raises(UnknownNameError, match=f"Unknown variant '{known}x'. Did you mean"):
        registry_create("task", f"misstep/{name}", variant=f"{known}x")


def test_the_task_keeps_its_own_arguments():
    from misstep.evals.procedural import procedural

    own = inspect.signature(procedural).parameters
    assert "variant" not in own
    assert own["n"].default == 500
    assert registry_create("task", "misstep/procedural", n=5).name == "misstep/procedural"
