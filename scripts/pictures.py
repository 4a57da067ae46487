"""`make pictures`: the pictures of the report in README, of real runs of the bundled bot, offline."""

import subprocess
import sys
import tempfile
from pathlib import Path

from playwright.sync_api import ViewportSize, sync_playwright

ROOT = Path(__file__).resolve().parent.parent
RUN = "--offline --persona angry,calm,beginner --limit 8 --target 80 --quiet"
SIZE = ViewportSize(width=1200, height=1200)


def main() -> None:
    """A picture for each language, of the head of the page as it opens."""
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path="/usr/bin/chromium", args=["--no-sandbox"])
        for language in ("ja", "en"):
            runs = Path(folder, language)
            command = [sys.executable, str(ROOT / "run.py"), *RUN.split(), "--language", language]
            subprocess.run(  # noqa: S603 - this program itself
                [*command, "--runs", str(runs)], check=False, stdout=subprocess.DEVNULL
            )
            (page,) = runs.glob("*/report.html")
            tab = browser.new_page(viewport=SIZE)
            tab.goto(page.as_uri())
            tab.screenshot(path=ROOT / "docs" / f"report.{language}.png")
        browser.close()


if __name__ == "__main__":
    main()
