"""The names of `import misstep`."""

import inspect
import subprocess
import sys

import pytest

import misstep


@pytest.mark.parametrize("name", misstep.__all__)
def test_every_name_is_there(name):
    assert getattr(misstep, name) is not None
    assert name in dir(misstep)


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        misstep.nothing  # noqa: B018


def test_importing_the_package_imports_no_part_of_it():
    program = "import sys, misstep; print([m for m in sys.modules if m.startswith('misstep.')])"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stdout.strip() == "[]"


def test_a_task_of_the_package_is_the_function():
    from misstep.evals import processbench

    assert misstep.processbench is processbench
    assert "subset" in inspect.signature(processbench).parameters
    assert len(processbench(source="sample").dataset) > 0
