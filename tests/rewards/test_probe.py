"""The probe of a reward model."""

import pytest
from inspect_ai.model import get_model

from misstep.registry import prms
from misstep.rewards import probe_prm


@pytest.mark.anyio
async def test_a_long_error_of_the_server_is_shortened():
    def refuse(*arguments):
        raise RuntimeError("x" * 10_000)

    model = get_model("mockllm/model", custom_outputs=refuse, memoize=False)
    with pytest.raises(RuntimeError, match="characters left out") as caught:
        await probe_prm(model, prms()["qwen2.5-math-prm-7b"])
    assert len(str(caught.value)) < 4_000
