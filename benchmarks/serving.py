"""The speed of the local server: benchmarks must not wait for it."""

import asyncio
import json
import time
from collections.abc import Iterator
from urllib.parse import urlsplit

from benchmarks._measurement import Measurement
from benchmarks._runs import server_process

TARGET = 1000 / 1500
REQUESTS = 6000
CONNECTIONS = 32


def measure() -> Iterator[Measurement]:
    """Yield the time of a request at full load."""
    with server_process() as url:
        elapsed = asyncio.run(_elapsed(urlsplit(url).port or 0))
    note = f"{REQUESTS / elapsed:,.0f} requests a second, prompts of 3 kB"
    yield Measurement("local server", 1000 * elapsed / REQUESTS, "ms", TARGET, note)


async def _elapsed(port: int) -> float:
    start = time.perf_counter()
    work = [_ask(port, REQUESTS // CONNECTIONS) for _ in range(CONNECTIONS)]
    await asyncio.gather(*work)
    return time.perf_counter() - start


async def _ask(port: int, times: int) -> None:
    message = {"role": "user", "content": "</paragraph_0> " * 200}
    body = json.dumps({"model": "critic", "messages": [message]}).encode()
    head = f"POST /v1/chat/completions HTTP/1.1\r\ncontent-length: {len(body)}\r\n\r\n"
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    for _ in range(times):
        writer.write(head.encode() + body)
        answer = await reader.readuntil(b"\r\n\r\n")
        length = answer.partition(b"content-length: ")[2].split()[0]
        await reader.readexactly(int(length))
    writer.close()
