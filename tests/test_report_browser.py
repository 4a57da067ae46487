"""The page in a real browser: readable, usable by keyboard, and inert whatever it shows."""

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from simulator.analysis.gate import decide
from simulator.analysis.summary import summarise
from simulator.reports.html import render
from simulator.types import RedRules, Results
from tests.rehearsed import hostile, rehearsed
from tests.test_report_html import XSS

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on this machine"),
]

# The contrast of text and background as WCAG 2 defines it; colours as the browser computed them.
CONTRAST = """selector => {
  const rgb = (text) => text.match(/[\\d.]+/g).slice(0, 3).map(Number);
  const linear = (c) => (c <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4);
  const light = (text) => rgb(text).map((c) => linear(c / 255))
    .reduce((sum, c, i) => sum + c * [0.2126, 0.7152, 0.0722][i], 0);
  const behind = (e) => { for (let up = e; up; up = up.parentElement) {
    const colour = getComputedStyle(up).backgroundColor; if (!colour.endsWith(", 0)")) return colour; } };
  return [...document.querySelectorAll(selector)].map((e) => {
    const [a, b] = [light(getComputedStyle(e).color), light(behind(e))].sort((x, y) => y - x);
    return (a + 0.05) / (b + 0.05); });
}"""
TEXTS = (
    ".turn.red .desk p", ".mark strong", ".tag", ".heat td", ".verdict", ".big", ".fine", ".reply", ".user p",
    ".notes li", ".score", ".label strong", ".banner", ".fold summary", ".hello p", ".heat td small",
)  # fmt: skip


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """One Chromium for all tests of the module."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as started:
        opened = started.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield opened
        opened.close()


def show(browser: Any, folder: Path, results: Results, **context: Any) -> Any:
    """The report of a run in a page whose errors and dialogs are kept."""
    judges = tuple(dict.fromkeys(score.judge for score in results.scores))
    summary = summarise(results, rules=RedRules(), judges=judges, seed=42)
    file = folder / "report.html"
    file.write_text(render(results, summary, decide(summary, 0.9, 0.1), "ja"), encoding="utf-8")
    page = browser.new_context(**{"viewport": {"width": 1280, "height": 900}} | context).new_page()
    page.troubles = []
    page.on("console", lambda message: page.troubles.append(message.text))
    page.on("pageerror", lambda error: page.troubles.append(str(error)))
    page.on("dialog", lambda dialog: (page.troubles.append(dialog.message), dialog.dismiss()))
    page.on("request", lambda r: page.troubles.append(r.url) if not r.url.startswith("file:") else None)
    page.goto(file.as_uri())
    return page


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_text_can_be_read(browser: Any, tmp_path: Path, scheme: str) -> None:
    """Contrast of at least 4.5 to 1 in both schemes, on red and in the heat map too."""
    page = show(browser, tmp_path, rehearsed(offline=True), color_scheme=scheme)

    for selector in TEXTS:
        found = page.evaluate(CONTRAST, selector)
        assert found, selector
        assert min(found) >= 4.5, (selector, min(found))
    assert page.troubles == []


@pytest.mark.parametrize("width", [320, 390, 768, 1280])
def test_nothing_needs_sideways_scrolling(browser: Any, tmp_path: Path, width: int) -> None:
    """Also on a telephone, with every conversation open."""
    page = show(browser, tmp_path, rehearsed(), viewport={"width": width, "height": 800})
    page.evaluate("document.querySelectorAll('.talk').forEach((talk) => { talk.open = true; })")

    assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_red_turns_are_walked_by_key(browser: Any, tmp_path: Path) -> None:
    """The key n goes to the next, p back, and their conversations open."""
    page = show(browser, tmp_path, rehearsed())
    visited = []
    for key in "nnnp":
        page.keyboard.press(key)
        visited.append(page.evaluate("document.activeElement.id"))

    assert visited == ["c2t1", "c2t2", "c2t3", "c2t2"]
    assert page.locator("#c2t2 .desk").is_visible()
    assert page.troubles == []


def test_conversations_are_searched_and_filtered(browser: Any, tmp_path: Path) -> None:
    """By word (full width or half), by persona, by red."""
    page = show(browser, tmp_path, rehearsed())
    visible = "document.querySelectorAll('.talk:not([hidden])').length"
    page.keyboard.press("s")
    page.keyboard.type("４,８００円　解約")
    by_word = page.evaluate(visible)
    page.fill("#search", "")
    page.select_option("#persona", "2")
    by_persona = page.evaluate(visible)
    page.select_option("#persona", "")
    page.locator("h1").click()
    page.keyboard.press("r")

    assert (by_word, by_persona, page.evaluate(visible)) == (2, 2, 5)
    assert page.inner_text("#shown") == "5 件を表示"


def test_a_passage_opens_where_it_is_named(browser: Any, tmp_path: Path) -> None:
    """And closes again."""
    page = show(browser, tmp_path, rehearsed())
    page.evaluate("document.querySelectorAll('.talk, .fold').forEach((fold) => { fold.open = true; })")
    passage = page.locator("#c2t1 .shelf li p")
    page.locator("#c2t1 .shelf a").first.click()
    opened = passage.inner_text()
    page.locator("#c2t1 .shelf a").first.click()

    assert opened.startswith("24か月以内に解約された場合")
    assert passage.count() == 0


def test_it_is_complete_without_a_script(browser: Any, tmp_path: Path) -> None:
    """Links open what they lead to, and there is no dead control."""
    page = show(browser, tmp_path, rehearsed(), java_script_enabled=False)
    page.locator(".fixes a").first.click()

    assert page.locator("#c2t1 .desk").is_visible()
    assert not page.locator(".tools").is_visible()


def test_printing_shows_every_conversation(browser: Any, tmp_path: Path) -> None:
    """Folded ones too, without the controls."""
    page = show(browser, tmp_path, rehearsed())
    page.emulate_media(media="print")

    assert all(page.locator(".talk .lines").nth(at).bounding_box()["height"] > 50 for at in range(6))
    assert not page.locator(".tools").is_visible()


def test_hostile_text_runs_nothing(browser: Any, tmp_path: Path) -> None:
    """No dialog, no request, no violation of the policy to report, and the title says what was said."""
    page = show(browser, tmp_path, hostile(XSS))

    assert page.troubles == []
    assert page.locator("script").count() == 1
    assert page.locator("img, iframe, object, embed, link, base").count() == 0
