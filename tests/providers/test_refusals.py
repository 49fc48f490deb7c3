"""What a provider refused, in the words of real servers."""

import pytest
from inspect_ai.model import ModelOutput

from misstep.providers import Refusal, output_or_too_long, refusal_of


class ApiError(Exception):
    def __init__(self, message, status_code=400):
        super().__init__(message)
        self.status_code = status_code


@pytest.mark.parametrize(
    ("text", "refusal"),
    [
        ("This model does not support assistant message prefill.", Refusal.TRAILING_MESSAGE),
        ("The conversation must end with a user message.", Refusal.TRAILING_MESSAGE),
        (
            "Expected last role User or Tool (or Assistant with prefix True)",
            Refusal.TRAILING_MESSAGE,
        ),
        ("Last message must have role `user`", Refusal.TRAILING_MESSAGE),
        # vLLM, llama.cpp, Groq, DeepSeek, Google
        ("n must be 1 when using greedy sampling, got 8.", Refusal.SEVERAL_CHOICES),
        ("n_cmpl cannot be greater than the number of slots", Refusal.SEVERAL_CHOICES),
        ("'n' : number must be at most 1", Refusal.SEVERAL_CHOICES),
        ("Invalid n value (currently only n = 1 is supported)", Refusal.SEVERAL_CHOICES),
        ("Multiple candidates is not enabled for this model", Refusal.SEVERAL_CHOICES),
        # vLLM, llama.cpp, Anthropic, Google
        ("This model's maximum context length is 2048 tokens.", Refusal.TOO_LONG),
        ("{'code': 400, 'type': 'exceed_context_size_error'}", Refusal.TOO_LONG),
        ("prompt is too long: 204801 tokens > 200000 maximum", Refusal.TOO_LONG),
        ("The input token count (1500000) exceeds the maximum", Refusal.TOO_LONG),
        ("Rate limit reached for requests", None),
        ("The user was not found", None),
        ("The model `x` does not exist.", None),
    ],
)
def test_a_refusal_is_known_by_its_words(text, refusal):
    assert refusal_of(ApiError(text)) is refusal


def test_only_a_client_error_is_a_refusal():
    assert refusal_of(ApiError("maximum context length", 500)) is None
    assert refusal_of(ApiError("maximum context length", 401)) is None


def test_the_text_of_the_request_is_no_refusal():
    # Inspect's message repeats the request.
    error = ApiError("Request: What is the maximum context length? Error: bad temperature")
    error.provider_message = "bad temperature"
    assert refusal_of(error) is None


@pytest.mark.anyio
async def test_a_prompt_that_is_too_long_is_an_output_and_other_failures_are_raised():
    async def fail(error):
        raise error

    too_long = ApiError("This model's maximum context length is 2048 tokens.")
    output = await output_or_too_long("m", fail(too_long))
    assert isinstance(output, ModelOutput)
    assert output.stop_reason == "model_length"
    with pytest.raises(ApiError):
        await output_or_too_long("m", fail(ApiError("out of memory", 500)))
