"""Makes the pictures of the README and of the site from a real run: `make pictures`.

It runs the demo, opens the report and a sample in Inspect's viewer in a real browser, light and
dark, and saves small PNG files in `docs/pictures`.
"""

import shutil
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Literal

from inspect_ai.log import list_eval_logs, read_eval_log
from playwright.sync_api import Browser, FloatRect, ViewportSize, sync_playwright

Scheme = Literal["light", "dark"]

PICTURES = Path(__file__).parent / "pictures"
PROGRAMS = Path(sys.executable).parent
PORT = 7599
SCORER = "first_error"
SIZE: ViewportSize = {"width": 1280, "height": 800}
BAR = 28
"""The viewer's top bar, which shows a temporary folder."""
SCHEMES: tuple[Scheme, ...] = ("light", "dark")


def main() -> None:
    """Make all pictures."""
    PICTURES.mkdir(exist_ok=True)
    with TemporaryDirectory() as folder, sync_playwright() as playwright:
        subprocess.run([PROGRAMS / "misstep", "demo"], cwd=folder, check=True)
        logs = Path(folder) / "logs" / "demo"
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox", "--disable-gpu"]
        )
        log, sample = found_error(logs)
        with viewer(logs) as address:
            place = f"{address}#/logs/{log}/samples/sample/{sample}/1/messages"
            for scheme in SCHEMES:
                picture(browser, scheme, "report", (logs / "report.html").as_uri())
                picture(browser, scheme, "viewer", place)
        browser.close()


def found_error(logs: Path) -> tuple[str, str]:
    """Return the log and the id of the shortest sample whose error a model found."""
    found = []
    for info in list_eval_logs(str(logs)):
        log = read_eval_log(info)
        for sample in log.samples or []:
            hit = sample.scores and sample.scores[SCORER].value == "C"
            if hit and sample.target != "-1" and sample.model_usage:
                length = sum(len(message.text) for message in sample.messages)
                found.append((length, Path(info.name).name, str(sample.id)))
    _, name, sample_id = min(found)
    return name, sample_id


@contextmanager
def viewer(logs: Path) -> Iterator[str]:
    """Run Inspect's viewer of a folder of logs; yield its address."""
    address = f"http://127.0.0.1:{PORT}/"
    command = [PROGRAMS / "inspect", "view", "--log-dir", logs, "--port", str(PORT)]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL) as server:
        try:
            while server.poll() is None:
                try:
                    urllib.request.urlopen(address).close()
                    break
                except OSError:
                    time.sleep(0.2)
            yield address
        finally:
            server.terminate()


def picture(browser: Browser, scheme: Scheme, name: str, address: str) -> None:
    """Save a picture of a page."""
    page = browser.new_page(viewport=SIZE, color_scheme=scheme)
    page.goto(address)
    page.wait_for_load_state("networkidle")
    page.wait_for_timeout(3000)
    top = 0
    if name == "viewer":
        page.get_by_text("more...").first.click()
        page.wait_for_timeout(1000)
        top = BAR
    clip = {"x": 0, "y": top, "width": SIZE["width"], "height": SIZE["height"] - top}
    page.screenshot(path=PICTURES / f"{name}-{scheme}.png", clip=FloatRect(**clip))
    page.close()


if __name__ == "__main__":
    main()
