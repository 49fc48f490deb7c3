"""Downloading a file of a pinned commit on GitHub, in pieces where it breaks off."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from misstep.registry import DataError

if TYPE_CHECKING:
    import httpx

BASE = "https://raw.githubusercontent.com"
TIMEOUT = 30.0
"""Seconds without a byte."""

OFFLINE_VARIABLE = "HF_HUB_OFFLINE"
"""One switch for both homes: who sets it wants no network."""


def download(address: str, target: Path, check: Callable[[bytes], None]) -> Path:
    """Save the file at an address below BASE, whole and checked or not at all.

    What came before a break stays in `<target>.part`, and the next call asks for the rest.

    Args:
        address: Repository, commit and path.
        target: Where to save it.
        check: Raises where the content is not what it should be.

    Raises:
        OSError: The file could not be had, or could not be written.
    """
    import httpx

    if os.environ.get(OFFLINE_VARIABLE, "").lower() in ("1", "true", "yes", "on"):
        raise OSError(f"not asked, since {OFFLINE_VARIABLE} is set")
    part = target.with_name(f"{target.name}.part")
    target.parent.mkdir(parents=True, exist_ok=True)
    try:
        with httpx.Client(follow_redirects=True, timeout=TIMEOUT) as client:
            _append(client, f"{BASE}/{address}", part)
    except httpx.HTTPError as problem:
        raise OSError(f"{problem or type(problem).__name__} ({BASE}/{address})") from None
    try:
        check(part.read_bytes())
    except DataError:
        # To continue what is wrong would never make it right.
        part.unlink()
        raise
    os.replace(part, target)
    return target


def _append(client: "httpx.Client", url: str, part: Path) -> None:
    """Add to the part what it lacks; from the start where the server does not continue it."""
    have = part.stat().st_size if part.is_file() else 0
    # Compressed bytes could not be continued: a range counts the bytes that are sent.
    headers = {"Accept-Encoding": "identity"}
    if have:
        headers["Range"] = f"bytes={have}-"
    with client.stream("GET", url, headers=headers) as response:
        if response.status_code == 416:
            # The part is as long as the file or longer; only a fresh copy is sure to be right.
            part.unlink()
            return _append(client, url, part)
        response.raise_for_status()
        with part.open("ab" if response.status_code == 206 else "wb") as stream:
            for piece in response.iter_bytes():
                stream.write(piece)
