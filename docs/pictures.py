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

from inspect_ai.log import EvalSample, list_eval_logs, read_eval_log
from playwright.sync_api import Browser, Page, sync_playwright

PICTURES = Path(__file__).parent / "pictures"
PROGRAMS = Path(sys.executable).parent
PORT = 7599
SCORER = "first_error"
SIZE = {"width": 1000, "height": 640}


def main() -> None:
    """Make all pictures."""
    PICTURES.mkdir(exist_ok=True)
    with TemporaryDirectory() as folder, sync_playwright() as playwright:
        # The viewer shows the folder's name, so it gets a plain one.
        home = Path(folder) / "demo"
        home.mkdir()
        subprocess.run([PROGRAMS / "misstep", "demo"], cwd=home, check=True)
        subprocess.run(
            [PROGRAMS / "misstep", "report", "logs", "-o", "report.html"], cwd=home, check=True
        )
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox", "--disable-gpu"]
        )
        log, sample = found_error(home / "logs")
        with viewer(home):
            for scheme in ("light", "dark"):
                picture(browser, scheme, "report", (home / "report.html").as_uri())
                address = (
                    f"http://127.0.0.1:{PORT}/#/logs/{log}/samples/sample/{sample.id}/1/messages"
                )
                picture(browser, scheme, "viewer", address)
        browser.close()


def found_error(logs: Path) -> tuple[str, EvalSample]:
    """Return the sample with the shortest prompt in which a model found the error, and its log."""
    found = []
    for info in list_eval_logs(str(logs)):
        log = read_eval_log(info)
        for sample in log.samples or []:
            hit = sample.scores and sample.scores[SCORER].value == "C"
            if log.eval.model != "none" and hit and sample.target != "-1" and sample.messages:
                length = sum(len(message.text) for message in sample.messages)
                found.append((length, Path(info.name).name, sample))
    _, name, sample = min(found, key=lambda entry: entry[0])
    return name, sample


@contextmanager
def viewer(folder: Path) -> Iterator[None]:
    """Run Inspect's viewer of the folder's logs."""
    command = [PROGRAMS / "inspect", "view", "--port", str(PORT)]
    with subprocess.Popen(command, cwd=folder, stdout=subprocess.DEVNULL) as server:
        try:
            while server.poll() is None:
                try:
                    urllib.request.urlopen(f"http://127.0.0.1:{PORT}/").close()
                    break
                except OSError:
                    time.sleep(0.2)
            yield
        finally:
            server.terminate()


def picture(browser: Browser, scheme: str, name: str, address: str) -> None:
    """Save a picture of a page."""
    page: Page = browser.new_page(viewport=SIZE, color_scheme=scheme)
    page.goto(address)
    page.wait_for_load_state("networkidle")
    page.wait_for_timeout(2000)
    page.screenshot(path=PICTURES / f"{name}-{scheme}.png")
    page.close()


if __name__ == "__main__":
    main()
