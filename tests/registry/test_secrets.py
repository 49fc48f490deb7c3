"""Secrets in what users write are found by their names, and only they."""

import pytest

from misstep.registry import find_secret

KEY = "sk-planted"


@pytest.mark.parametrize(
    "content",
    [
        ["--model-base-url", f"https://user:{KEY}@host/v1"],
        ["--model-base-url", f"https://{KEY}@host/v1"],
        [f"--model-base-url=https://host/v1?key={KEY}"],
        ["--model-base-url", f"https://host/v1?api-version=1&access_token={KEY}"],
        ["--extra-headers", f"X-Any={KEY}"],
        [f"--extra-headers=X-Any={KEY}"],
        ["-M", f"default_headers={{X-Any: {KEY}}}"],
        ["-M", f"token={KEY}"],
        ["-M", f"hf_token={KEY}"],
        ["-M", f"apiKey={KEY}"],
        ["-M", f"AZURE_API_KEY={KEY}"],
        ["-M", f"client_secret={KEY}"],
        ["--env", f"ANY={KEY}"],
        [f"--env=ANY={KEY}"],
        ["--model-role", f"reward={{model: a, api_key: {KEY}}}"],
        ["--model-role", f'{{"a": {{"password": "{KEY}"}}}}'],
        ["-T", f"authorization=Bearer {KEY}"],
        {"model": {"args": {"default_headers": {"X-Any": KEY}}}},
        {"model": {"base_url": f"http://a:{KEY}@host"}},
        {"model_roles": {"reward": [{"model": "a", "args": {"auth_token": KEY}}]}},
    ],
)
def test_a_secret_is_found_and_never_told(content):
    found = find_secret(content)
    assert found is not None
    assert KEY not in found


@pytest.mark.parametrize(
    "content",
    [
        ["--max-tokens", "100", "--max-tokens=100", "--token-limit", "5", "--reasoning-tokens=9"],
        ["--model-base-url", "https://host:8000/v1?api-version=2024-10-21"],
        ["-M", "step_token=<extra_0>", "-T", "style=single_token", "-T", "source=rows@v2.jsonl"],
        ["-M", "api_key=", "--cache-prompt=auto", "--tags", "key,token"],
        {"model": {"args": {"device": "cuda:0", "token": None}}, "generate_config": {"top_k": 1}},
        {"eval_config": {"token_limit": 5}, "args": {"tokens": 3, "critic": "stepwise"}},
        ["--model", "openai-api/local/critic", "--seed", "1", "--metadata", "keyboard=us"],
    ],
)
def test_other_settings_are_no_secrets(content):
    assert find_secret(content) is None
