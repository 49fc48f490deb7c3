"""A program that sends recorded requests with asyncio and the openai client alone."""

import asyncio
import inspect
import json
import os
import sys
import time
from pathlib import Path
from typing import Any

from openai import AsyncOpenAI

CONNECTIONS = 64
"""The same as in `_runs`. Importing that module would import Inspect."""


async def ask(bodies: list[dict[str, Any]], url: str) -> int:
    """Send all requests; return the number of answers."""
    places = asyncio.Semaphore(CONNECTIONS)
    async with AsyncOpenAI(base_url=url, api_key="x") as client:
        known = inspect.signature(client.chat.completions.create).parameters

        async def one(body: dict[str, Any]) -> bool:
            own = {name: value for name, value in body.items() if name in known}
            beside = {name: value for name, value in body.items() if name not in known}
            async with places:
                answer = await client.chat.completions.create(**own, extra_body=beside or None)
            return bool(answer.choices[0].message.content)

        return sum(await asyncio.gather(*map(one, bodies)))


if __name__ == "__main__":
    recorded = Path(sys.argv[1]).read_text(encoding="utf-8").splitlines()
    bodies = [json.loads(line) for line in recorded]
    start = time.perf_counter()
    answered = asyncio.run(ask(bodies, os.environ["LOCAL_BASE_URL"]))
    print(time.perf_counter() - start)
    sys.exit(0 if answered == len(recorded) else f"{answered} of {len(recorded)} were answered")
