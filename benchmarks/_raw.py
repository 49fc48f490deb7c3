"""The same prompts with nothing but asyncio and the openai client, as a program of its own."""

import asyncio
import sys

from openai import AsyncOpenAI

from benchmarks._runs import CONNECTIONS
from misstep.loaders import load_rows
from misstep.registry import find_domain
from misstep.solvers import critique_prompt


async def ask(prompts: list[str], url: str) -> int:
    """Ask them all, so many at once; the number of answers."""
    places = asyncio.Semaphore(CONNECTIONS)
    async with AsyncOpenAI(base_url=url, api_key="x") as client:

        async def one(prompt: str) -> bool:
            async with places:
                answer = await client.chat.completions.create(
                    model="critic", messages=[{"role": "user", "content": prompt}]
                )
            return bool(answer.choices[0].message.content)

        return sum(await asyncio.gather(*map(one, prompts)))


if __name__ == "__main__":
    url, source = sys.argv[1:]
    domain = find_domain("mathematics")
    rows = load_rows(source)
    asked = [critique_prompt(domain, row.problem, row.steps, None) for row in rows]
    sys.exit(0 if asyncio.run(ask(asked, url)) == len(asked) else 1)
