r"""A local server that speaks OpenAI's API, for tests and benchmarks.

In a test, in its own thread:

    with OpenAIServer(lambda request, choice: r"\boxed{-1}") as server:
        client = OpenAI(base_url=server.url, api_key="x")

As a process, which prints its URL as the first line:

    python -m tests.support.openai_server --reply critic --latency 200
"""

from tests.support.openai_server._faults import PASSING_FAULTS, Fault, Faults
from tests.support.openai_server._pooling import PoolingFunction, confident
from tests.support.openai_server._replies import (
    REPLIES,
    SEARCH_STEPS,
    critic,
    forge,
    injector,
    judge,
    plus_minus,
    reviewer,
    searcher,
    short,
)
from tests.support.openai_server._server import OpenAIServer
from tests.support.openai_server._wire import ChatRequest, Reply, ReplyFunction

__all__ = [
    "PASSING_FAULTS",
    "REPLIES",
    "SEARCH_STEPS",
    "ChatRequest",
    "Fault",
    "Faults",
    "OpenAIServer",
    "PoolingFunction",
    "Reply",
    "ReplyFunction",
    "confident",
    "critic",
    "forge",
    "injector",
    "judge",
    "plus_minus",
    "reviewer",
    "searcher",
    "short",
]
