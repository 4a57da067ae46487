"""`make pictures`: every picture of README and docs, of one real run in each language, offline.

The first run of the story: Chromium shows its page, LibreOffice its workbook, which pdftoppm makes a picture.
What an editor completes is asked of a language server, where there is one (scripts/completion.py).
"""

import asyncio
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import openpyxl
from openpyxl.worksheet.page import PageMargins
from openpyxl.worksheet.properties import PageSetupProperties
from PIL import Image, ImageChops
from playwright.async_api import async_playwright
from playwright.sync_api import Browser, ViewportSize, sync_playwright

from scripts.completion import completion
from simulator.core.messages import Language, shown
from simulator.core.shelves import ROOT
from simulator.core.templates import LANGUAGES
from simulator.sheets.model import TABS
from simulator.web.server import Pages

DOCS, STORY = ROOT / "docs", ROOT / "demo" / "story"
RUN = "--set version=v1 --knowledge articles --target 80 --confidence off --offline --to xlsx"
SIZE = ViewportSize(width=1280, height=1200)
# The columns and rows of a worksheet that are shown.
SHEETS = {"sheet": ("review", "B1:K6"), "workbook": ("summary", "B1:H12")}
A3, DOTS = 8, 110


def main() -> None:
    """A run for each language, and its pictures."""
    with tempfile.TemporaryDirectory() as temporary:
        painted(Path(temporary))
        for language in LANGUAGES:
            runs = Path(temporary, language)
            asyncio.run(worked_on(runs, next(runs.iterdir()).name, language))
    for picture in (*DOCS.glob("*.??.png"), *(DOCS / "pictures").glob("*.??.png")):
        with Image.open(picture) as image:
            # No difference can be seen, and the file has a third of the size.
            method, dither = Image.Quantize.FASTOCTREE, Image.Dither.NONE
            small = image.convert("RGB").quantize(method=method, dither=dither)
        small.save(picture, optimize=True)


def painted(temporary: Path) -> None:
    """The runs, and the pictures of what they leave."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path="/usr/bin/chromium", args=["--no-sandbox"])
        for language in LANGUAGES:
            runs = Path(temporary, language)
            command = [sys.executable, str(ROOT / "run.py"), *RUN.split(), "--language", language]
            subprocess.run([*command, "--runs", str(runs)], cwd=STORY, check=False)  # noqa: S603 - this program itself
            (folder,) = runs.iterdir()
            pages(browser, folder / "report.html", language)
            for picture, (name, area) in SHEETS.items():
                title = shown(TABS[name], language)
                sheet(folder / "report.xlsx", title, area, DOCS / f"{picture}.{language}.png")
        completion(browser, DOCS / "pictures" / "completion.png")
        browser.close()


def pages(browser: Browser, page: Path, language: Language) -> None:
    """The head of the page as it opens, and what to fix first."""
    tab = browser.new_page(viewport=SIZE)
    tab.goto(page.as_uri())
    tab.screenshot(path=DOCS / f"report.{language}.png")
    tab.locator("section:has(> #mends)").screenshot(path=DOCS / "pictures" / f"story-fixes.{language}.png")


async def worked_on(runs: Path, run: str, language: Language) -> None:
    """The page of `open` with something said of the worst answer."""
    async with Pages(runs) as served, async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path="/usr/bin/chromium", args=["--no-sandbox"])
        tab = await browser.new_page(viewport=SIZE)
        await tab.add_init_script("localStorage.setItem('rehearsal name', 'Mari')")
        await tab.goto(served.address(run))
        await tab.wait_for_selector(".work-ready")
        for key in ("n", "1", "a"):
            await tab.keyboard.press(key)
        expected = await tab.inner_text(".work-now .expected")
        await tab.keyboard.insert_text(re.split(r"：|: ", expected, maxsplit=1)[-1])
        await tab.wait_for_selector(".work-now .work-difference:not([hidden])")
        # The bar stays at the foot of the window, and would stand across a picture of a part of the page.
        await tab.evaluate("document.querySelector('.work-bar').style.display = 'none'")
        await tab.locator(".work-now").screenshot(path=DOCS / f"open.{language}.png")
        await browser.close()


def sheet(workbook: Path, title: str, area: str, picture: Path) -> None:
    """A part of a worksheet as LibreOffice paints it."""
    book = openpyxl.load_workbook(workbook)
    for other in [other for other in book.worksheets if other.title != title]:
        book.remove(other)
    (only,) = book.worksheets
    only.print_area = area
    only.print_options.headings = only.print_options.gridLines = True
    only.sheet_properties.pageSetUpPr = PageSetupProperties(fitToPage=True)
    only.page_setup.paperSize, only.page_setup.orientation = A3, "landscape"
    only.page_margins = PageMargins(0.2, 0.2, 0.2, 0.2, 0, 0)
    for part in (only.oddHeader, only.oddFooter):
        part.left.text = part.center.text = part.right.text = None
    shortened = workbook.with_name(f"{picture.stem}.xlsx")
    book.save(shortened)
    _run("soffice", "--headless", "--convert-to", "pdf", "--outdir", str(workbook.parent), str(shortened))
    pdf, name = str(shortened.with_suffix(".pdf")), str(picture.with_suffix(""))
    _run("pdftoppm", "-r", str(DOTS), "-png", "-singlefile", pdf, name)
    with Image.open(picture) as image:
        white = Image.new(image.mode, image.size, "white")
        image.crop(ImageChops.difference(image, white).getbbox()).save(picture)


def _run(*command: str) -> None:
    subprocess.run(command, check=True, capture_output=True)  # noqa: S603 - a program of this machine


if __name__ == "__main__":
    main()
