"""The page in a real browser: readable, usable by keyboard, and inert whatever it shows."""

import shutil
from collections import Counter
from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest

from simulator.core.types import Language, Results
from simulator.report import run_page
from tests.report.test_html import compared, rendered
from tests.sample_pages import everywhere, full
from tests.sample_runs import large, rehearsed
from tests.xss import PAYLOADS

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
pytestmark = [pytest.mark.browser, pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on this machine")]

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
# The rules of axe-core on a part of the page. Contrast takes longest, and is measured once for each kind of
# text: where tags, classes and colours are those of another one, up to the page, so is the contrast.
AXE = """async (part) => {
  const kind = (e) => { let path = ''; for (let up = e; up; up = up.parentElement) {
    const style = getComputedStyle(up);
    path += [up.tagName, up.className, style.color, style.backgroundColor, style.opacity].join(); }
    return path; };
  const kinds = new Set();
  const every = [...document.querySelectorAll('body *')];
  const known = new Set(every.filter((e) => kinds.size === kinds.add(kind(e)).size));
  const again = [...known].filter((e) => [...e.querySelectorAll('*')].every((inner) => known.has(inner)));
  const rules = { 'color-contrast': { enabled: false } }, texts = { include: [part], exclude: again };
  const found = [await axe.run(part, { resultTypes: ['violations'], rules }),
    await axe.run(texts, { resultTypes: ['violations'], runOnly: ['color-contrast'] })];
  return found.flatMap((each) => each.violations).map((each) =>
    [each.id, each.impact, each.nodes.slice(0, 3).map((node) => node.target)]);
}"""
TEXTS = (
    ".turn.red .desk p", ".mark strong", ".tag", ".heat td", ".verdict", ".big", ".fine", ".reply", ".user p",
    ".notes li", ".score", ".label strong", ".banner", ".fold summary", ".heat td small",
    ".claims b", ".link", ".tag.moderate",
)  # fmt: skip


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """One Chromium for all tests of the module."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as started:
        opened = started.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield opened
        opened.close()


@pytest.fixture(scope="module")
def tab(browser: Any) -> Any:
    """One tab of it, in which the tests open their pages: a page keeps nothing for the next one."""
    return watched(browser.new_context().new_page())


def watched(page: Any) -> Any:
    """A tab that keeps the errors, dialogs and requests of its pages."""
    page.troubles = []
    page.on("console", lambda message: page.troubles.append(message.text))
    page.on("pageerror", lambda error: page.troubles.append(str(error)))
    page.on("dialog", lambda dialog: (page.troubles.append(dialog.message), dialog.dismiss()))
    page.on("request", lambda r: page.troubles.append(r.url) if not r.url.startswith("file:") else None)
    return page


def show(tab: Any, folder: Path, results: Results) -> Any:
    """The report of a run in a browser."""
    return opened(tab, folder, rendered(results))


def opened(tab: Any, folder: Path, html: str, scheme: str = "light") -> Any:
    """A page in the tab, which shows it as if it were the first."""
    file = folder / "report.html"
    file.write_text(html, encoding="utf-8")
    tab.set_viewport_size({"width": 1280, "height": 900})
    tab.emulate_media(media="screen", color_scheme=scheme)
    tab.mouse.move(0, 0)
    tab.troubles.clear()
    tab.goto(file.as_uri())
    return tab


def violations(page: Any, part: str = "html") -> list[Any]:
    """What axe-core finds on this part of the page: rule, impact, and where."""
    if not page.evaluate("'axe' in window"):
        page.evaluate(files("axe_playwright_python").joinpath("axe.min.js").read_text("utf-8"))
    found: list[Any] = page.evaluate(f"({AXE})(document.querySelector({part!r}))")
    return found


def everything_in(language: Language = "ja") -> str:
    """A page with everything on it, also what only a trial says."""
    return rendered(full(language, offline=True), language)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_text_can_be_read(tab: Any, tmp_path: Path, scheme: str) -> None:
    """Contrast of at least 4.5 to 1 in both schemes, on red and in the heat map too."""
    page = opened(tab, tmp_path, everything_in(), scheme=scheme)

    for selector in TEXTS:
        found = page.evaluate(CONTRAST, selector)
        assert found, selector
        assert min(found) >= 4.5, (selector, min(found))
    assert page.troubles == []


def test_nothing_needs_sideways_scrolling(tab: Any, tmp_path: Path) -> None:
    """Also on a telephone, with every conversation open."""
    page = opened(tab, tmp_path, compared())
    page.evaluate("document.querySelectorAll('details').forEach((each) => { each.open = true; })")

    for width in (320, 390, 768, 1280):
        page.set_viewport_size({"width": width, "height": 800})
        assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_red_turns_are_walked_by_key(tab: Any, tmp_path: Path) -> None:
    """The worst comes first; the key n goes to the next, p back, and their conversations open.

    Whoever has scrolled elsewhere goes on from there.
    """
    page = show(tab, tmp_path, rehearsed())
    visited = []
    for key in "nnnp":
        page.keyboard.press(key)
        visited.append(page.evaluate("document.activeElement.id"))
    page.goto("about:blank")  # a page that is loaded again goes back to where it was, some time later
    page = show(tab, tmp_path, rehearsed())
    page.evaluate("[...document.querySelectorAll('.turn.red')].at(-1).scrollIntoView()")
    page.screenshot()  # what is drawn only in sight moves what is below it
    page.keyboard.press("p")

    assert visited == ["c6-t1", "c2-t1", "c2-t2", "c2-t1"]
    assert page.evaluate("document.activeElement.id") == "c3-t2"
    page.evaluate("document.querySelector('#c2').open = true")
    assert page.locator("#c2-t2 .desk").is_visible()
    assert page.troubles == []


def test_conversations_are_searched_and_filtered(tab: Any, tmp_path: Path) -> None:
    """By words (full width or half), by customer, by how they ended, and by whether they need review."""
    page = show(tab, tmp_path, rehearsed())
    visible = "document.querySelectorAll('.talk:not([hidden])').length"
    shown = []
    for words in ("４,８００円　解約", "落ち着いた", "あきらめた", ""):
        page.fill("#search", words)
        shown.append(page.evaluate(visible))
    page.check("#only")

    assert (shown, page.evaluate(visible)) == ([2, 2, 1, 6], 5)
    assert page.inner_text("#shown") == "5 / 6会話"


def test_conversations_are_sorted(tab: Any, tmp_path: Path) -> None:
    """Worst first, by score or by question; the key n follows the list."""
    page = show(tab, tmp_path, full())
    orders = []
    for order in ("question", "score", "worst"):
        page.select_option("#sort", order)
        orders.append(page.evaluate("[...document.querySelectorAll('.talk')].map((talk) => talk.id).join()"))
        if order == "score":
            scores = page.evaluate(
                "[...document.querySelectorAll('.talk')].map((talk) => Number(talk.dataset.score))"
            )
    page.locator("h1").click()
    page.keyboard.press("n")

    assert (orders[0], orders[2]) == ("c2,c3,c4,c6,c5,c1", "c6,c2,c4,c3,c5,c1")
    assert scores == sorted(scores)
    assert page.evaluate("document.activeElement.id") == "c6-t1"
    assert page.troubles == []


def test_a_turn_has_a_link_of_its_own(tab: Any, tmp_path: Path) -> None:
    """It opens the conversation; so does a passage where it is named."""
    page = show(tab, tmp_path, full())
    page.goto(page.url + "#c5-t2")
    at_once = page.locator("#c5-t2 .desk").is_visible()
    page.locator("#c5-t1 .link").click()
    page.locator("#c2-t1 .claims a").first.click()

    assert at_once
    assert page.evaluate("location.hash") == "#c5-t1"
    assert page.inner_text("#c2-t1 .claims p").startswith("24か月以内に解約された場合")
    assert page.troubles == []


def test_everything_can_be_reached_by_keyboard(tab: Any, tmp_path: Path) -> None:
    """The first stop skips to the content, and whatever has the focus shows it."""
    page = show(tab, tmp_path, full())
    page.keyboard.press("Tab")
    skip = page.evaluate("document.activeElement.className")
    outlines = []
    for _ in range(40):
        page.keyboard.press("Tab")
        outlines.append(page.evaluate("getComputedStyle(document.activeElement).outlineStyle"))

    assert skip == "skip"
    assert "none" not in outlines


@pytest.mark.parametrize(
    ("page_of", "language", "scheme"), [(everything_in, "ja", "light"), (compared, "en", "dark")]
)
def test_axe_finds_nothing_serious(
    tab: Any, tmp_path: Path, page_of: Any, language: Language, scheme: str
) -> None:
    """The rules of axe-core on the whole page, with everything unfolded."""
    page = opened(tab, tmp_path, page_of(language), scheme=scheme)
    page.evaluate("document.querySelectorAll('details').forEach((each) => { each.open = true; })")

    assert [found for found in violations(page) if found[1] in {"serious", "critical"}] == []


def test_it_is_complete_without_a_script(browser: Any, tmp_path: Path) -> None:
    """Links open what they lead to, and there is no dead control."""
    page = show(watched(browser.new_context(java_script_enabled=False).new_page()), tmp_path, rehearsed())
    page.locator(".fixes a").first.click()

    assert page.locator("#c2-t1 .desk").is_visible()
    assert not page.locator(".tools").is_visible()


def test_printing_shows_what_is_red(tab: Any, tmp_path: Path) -> None:
    """The answers to review by question, without the controls and with a word on where the rest is."""
    page = show(tab, tmp_path, large(40))
    page.emulate_media(media="print")
    seen = "(selector) => [...document.querySelectorAll(selector)].filter((e) => e.checkVisibility()).length"

    assert page.evaluate(seen, "blockquote") == page.locator("blockquote").count() > 0
    assert page.evaluate(seen, ".turn, .tools, .passage, #technical") == 0
    assert page.locator(".paper-only").is_visible()


def test_a_table_that_is_cut_off_says_so(tab: Any, tmp_path: Path) -> None:
    """A mark at its edge, gone at the end; the first column stays, and the verdict is in sight."""
    page = opened(tab, tmp_path, rendered(rehearsed()))
    page.set_viewport_size({"width": 390, "height": 800})
    mark = """(left) => {
        const box = document.querySelector('.scroll:has(.heat)');
        box.scrollLeft = left;
        return Number(getComputedStyle(box, '::after').opacity);
    }"""
    page.click("#figures")

    def opacity(left: int) -> float:
        """The mark's, once the page is drawn: a browser with much to do draws no frame by itself."""
        page.evaluate(mark, left)
        page.screenshot()
        return float(page.evaluate(mark, left))

    # A table that is being laid out may become wider after a first look.
    assert any(opacity(0) == 1 for _look in range(200))
    assert any(opacity(9999) < 0.1 for _look in range(200))
    assert page.locator(".heat tbody th").first.bounding_box()["x"] >= 0
    beside = opened(tab, tmp_path, compared())
    beside.set_viewport_size({"width": 390, "height": 800})
    verdict = beside.locator("section:has(#difference) tbody td").first.bounding_box()
    assert verdict["x"] + verdict["width"] < 390


def test_a_large_page_makes_its_conversations_when_they_are_needed(
    tab: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By a link, by key, by a search, or when there is time; then it is the page that it would have been."""
    whole = census(show(tab, tmp_path, full()))
    monkeypatch.setattr(run_page, "AT_ONCE", 3)
    # As in a browser that never has time.
    tab.add_init_script("window.requestIdleCallback = (made) => { window.later = made; }")
    page = show(tab, tmp_path, full())
    made = "document.querySelectorAll('.talk > .lines').length"
    opened_at_first = page.evaluate(made)
    page.keyboard.press("n")
    walked = page.evaluate("document.activeElement.id")
    page.goto(page.url + "#c5-t2")
    linked = page.locator("#c5-t2 .desk").is_visible()
    page.fill("#search", "4,800")
    found = page.evaluate("document.querySelectorAll('.talk:not([hidden])').length")
    page.fill("#search", "")
    page.evaluate("window.later({ timeRemaining: () => 50 })")

    assert opened_at_first < 6
    assert (walked, linked) == ("c6-t1", True)
    assert 0 < found < 6
    assert page.evaluate(made) == 6
    assert page.locator("noscript").count() == 0
    assert whole.keys() <= census(page).keys()
    assert page.troubles == []


CENSUS = """() => [...document.querySelectorAll('*')].map((each) =>
  `${each.tagName} ${each.getAttributeNames().filter((name) => name !== 'open').sort().join()}`)"""


def census(page: Any) -> Counter[str]:
    """How many elements of each kind there are, by tag and attributes."""
    return Counter(page.evaluate(CENSUS))


@pytest.fixture(scope="module")
def harmless(tab: Any, tmp_path_factory: pytest.TempPathFactory) -> Counter[str]:
    """The elements of a page on which everything that others write is a plain word."""
    return census(opened(tab, tmp_path_factory.mktemp("harmless"), everything("harmless")))


def everything(text: str) -> str:
    """A page that says `text` wherever it can."""
    return rendered(everywhere(text))


@pytest.mark.parametrize("place", range(0, len(PAYLOADS), 8))
def test_no_payload_leaves_its_text(tab: Any, tmp_path: Path, harmless: Counter[str], place: int) -> None:
    """Eight at a time, in every place, also after every control was used: no script, request or element."""
    payload = " ".join(PAYLOADS[place : place + 8])
    page = opened(tab, tmp_path, everything(payload))
    found = census(page)
    page.evaluate("document.querySelectorAll('details').forEach((each) => { each.open = true; })")
    page.fill("#search", payload.replace("\n", " ").replace("\x00", "")[:80])
    page.click("#clear")
    page.locator(".shelf a").first.click()
    page.keyboard.press("n")

    assert {kind for kind in found if kind not in harmless} == set()
    assert page.evaluate("window.hit") is None
    assert page.evaluate("location.protocol") == "file:"
    assert page.troubles == []
