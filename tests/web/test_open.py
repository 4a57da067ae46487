"""The page to work on in a real browser: a review by keys, several tabs, reloads, a server that dies."""

import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from simulator.core.messages import safe_text
from simulator.core.types import Language
from simulator.report import run_page
from simulator.results.review import review_findings
from simulator.storage.run_file import RunFile, read_run
from simulator.storage.words import Edit, save_words
from simulator.web.server import Pages
from tests.paths import ROOT
from tests.report.test_browser import CHROMIUM, violations, watched
from tests.reviewed_runs import summary_of
from tests.sample_pages import better, full
from tests.sample_runs import hostile, rehearsed
from tests.servers.loopback import on_thread
from tests.web.opened import Opened, hold, opened, stored
from tests.xss import PAYLOADS

pytestmark = [pytest.mark.browser, pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on this machine")]
FIRST = ("calm/billing-02-ja#0", 2)
Opening = Callable[..., Opened]


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """One Chromium for all tests of the module, with one process for all pages of a person."""
    from playwright.sync_api import sync_playwright

    options = ["--no-sandbox", "--renderer-process-limit=1"]
    with sync_playwright() as started:
        launched = started.chromium.launch(executable_path=CHROMIUM, args=options)
        yield launched
        launched.close()


@pytest.fixture(scope="module")
def people(browser: Any) -> Callable[[str], Any]:
    """The browser of a person of this name; it keeps things by port, so no test sees those of another."""

    @cache
    def of(name: str) -> Any:
        context = browser.new_context()
        context.add_init_script(f"localStorage.setItem('rehearsal name', '{name}')")
        context.new_page()  # as long as one page is open, the next need not start a process
        return context

    return of


@pytest.fixture
def person(people: Callable[[str], Any]) -> Iterator[Callable[..., Any]]:
    """A tab of a person of this name, on the page at an address; tabs of one person know their name."""
    tabs = []

    def tab(address: str, name: str = "佐藤", width: int = 1280) -> Any:
        page = watched(people(name).new_page())
        tabs.append(page)
        page.set_viewport_size({"width": width, "height": 900})
        page.set_default_timeout(40_000)
        page.goto(address)
        page.wait_for_selector(".work-ready")
        return page

    yield tab
    for page in tabs:
        page.close()


@pytest.fixture
def run(tmp_path: Path) -> Iterator[Opened]:
    """The rehearsed run, served."""
    with opened(tmp_path / "runs") as served:
        yield served


def saved(tab: Any, n: int = 1) -> None:
    """Waits until the controls in sight say so."""
    tab.wait_for_selector(".work-now .work-said[data-kind=saved]")


def press(tab: Any, *keys: str) -> None:
    """One key after the other."""
    for key in keys:
        tab.keyboard.press(key)


def words(run: Opened) -> dict[tuple[str, int], Any]:
    """What counts, by place."""
    return {(word.conversation, word.turn): word for word in read_run(run.path).verdicts}


def troubles(tab: Any) -> list[str]:
    """What the page complained about; that it asks its own server is no trouble."""
    return [trouble for trouble in tab.troubles if not trouble.startswith("http://127.0.0.1")]


def test_a_whole_review_by_keys(run: Opened, person: Any) -> None:
    """From the worst answer on: opinion, cause, right answer, owner, test and decision, without the mouse."""
    tab = person(run.address)
    press(tab, "n", "1")
    saved(tab)
    # Nothing is chosen; the cause that the report names comes first.
    likely, chosen = (
        tab.get_attribute(".work-now", "data-cause"),
        tab.input_value(".work-now [data-field=cause]"),
    )
    press(tab, "c", "ArrowDown", "Escape", "a")
    tab.keyboard.insert_text("解約料は9,800円です。")
    press(tab, "Escape", "o")
    tab.keyboard.insert_text("伊藤")
    press(tab, "Escape", "t", "n", "2")
    saved(tab)
    press(tab, "m")
    tab.keyboard.insert_text("資料どおり")
    press(tab, "Control+Enter", "3")
    saved(tab)
    press(tab, "d", "ArrowDown", "ArrowDown", "Tab", "Tab")
    tab.keyboard.insert_text("料金が先")
    press(tab, "Tab", "Enter")
    tab.locator(".work-bar", has_text="条件付き").wait_for()

    results = read_run(run.path)
    findings = review_findings(results, summary_of(results))
    first = words(run)[FIRST]
    assert findings
    assert (findings.marks("right"), findings.marks("wrong"), findings.marks("unsure")) == (1, 1, 1)
    assert (first.judge_is, first.cause, first.correct_answer) == (
        "right",
        likely,
        "解約料は9,800円です。",
    )
    assert (likely, chosen) == ("no_answer", "")
    assert (first.assignee, first.make_test, first.reviewer) == ("伊藤", True, "佐藤")
    assert results.release_decision
    assert (results.release_decision.verdict, results.release_decision.reason) == ("conditional", "料金が先")
    assert troubles(tab) == []


def test_what_was_done_is_undone(run: Opened, person: Any) -> None:
    """The key u takes back the last change, then the one before; each is one more row."""
    tab = person(run.address)
    press(tab, "n", "1")
    saved(tab)
    press(tab, "2")
    tab.wait_for_selector(".work-now [data-value=wrong][aria-pressed=true]")
    press(tab, "u")
    tab.wait_for_selector(".work-now [data-value=right][aria-pressed=true]")
    told = tab.wait_for_selector(".work-now .work-said[data-kind=undone]").inner_text()
    press(tab, "u")
    tab.wait_for_selector(".work-now:not(:has([aria-pressed=true]))")
    press(tab, "u")

    assert told == "取り消しました：採点への意見"
    assert tab.inner_text(".work-news").endswith("このページを開いてから入力したものだけです。")
    assert [row["judge_is"] for row in run.rows] == ["right", "wrong", "right", None]


def test_what_the_report_says_of_the_team_goes_once_it_is_no_longer_said(run: Opened, person: Any) -> None:
    """The same word again takes it back, and its line in the report goes without a reload."""
    tab = person(run.address)
    press(tab, "n", "1")
    saved(tab)
    tab.reload()
    tab.wait_for_selector(".work-ready")
    press(tab, "n")
    stood = tab.locator(".words").count(), tab.locator(".work-now .words").inner_text()
    press(tab, "1")
    tab.wait_for_selector(".work-now:not(:has([aria-pressed=true]))")
    saved(tab)
    for talk in tab.locator(".talk:has(.words)").all():
        talk.evaluate("talk => { talk.open = true; }")
    tab.wait_for_selector(".words", state="detached")

    assert stood[0] > 1
    assert "チームから" in stood[1]
    assert words(run)[FIRST].judge_is is None


def test_every_answer_of_a_large_page_is_reached(
    run: Opened, person: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also those without a card, in conversations that the browser had no time to make yet."""
    for limit, n in (("AT_ONCE", 1), ("SHOWN_QUESTIONS", 1), ("OPEN_AT_MOST", 0)):
        monkeypatch.setattr(run_page, limit, n)
    answers = run.ask("state").json["answers"]
    tab = person(run.address)
    tab.add_init_script("window.requestIdleCallback = () => {}")
    tab.reload()
    tab.wait_for_selector(".work-ready")
    before, seen = tab.locator(".turn").count(), set()
    for _ in answers:
        press(tab, "n")
        seen.add(
            tab.evaluate("Object.values(document.querySelector('.work-now').dataset).slice(0, 3).join()")
        )
    press(tab, "1")
    saved(tab)

    assert len(seen) == len(answers) > tab.locator(".reddest > li").count()
    assert tab.locator(".turn").count() > before
    assert troubles(tab) == []


def test_a_second_tab_has_it_at_once(run: Opened, person: Any) -> None:
    """Without a reload, with the name of whoever wrote."""
    mine, theirs = person(run.address), person(run.address, "伊藤")
    press(mine, "n", "2")
    theirs.wait_for_selector(".reddest [data-value=wrong][aria-pressed=true]")

    assert "佐藤" in theirs.locator(".work:has([aria-pressed=true]) .work-said").first.inner_text()


@pytest.mark.parametrize("own", [False, True])
def test_both_words_are_shown_before_one_counts(run: Opened, person: Any, own: bool) -> None:
    """Who typed on what another one has changed meanwhile sees both, and chooses."""
    tab = person(run.address)
    press(tab, "n", "m")
    tab.keyboard.insert_text("自分の言葉")
    save_words(run.path, {FIRST: True}, {"comment": Edit("", "相手の言葉")}, "伊藤")
    press(tab, "Escape")
    tab.wait_for_selector(".work-now .work-conflict:not([hidden])")
    shown = tab.inner_text(".work-now .work-conflict")
    before = words(run)[FIRST].comment
    tab.click(f".work-now .work-conflict button:nth-of-type({2 if own else 1})")
    tab.wait_for_selector(".work-now .work-conflict[hidden]", state="attached")
    if own:
        saved(tab)

    assert {"伊藤", "相手の言葉", "自分の言葉"} <= {
        text for text in ("伊藤", "相手の言葉", "自分の言葉") if text in shown
    }
    assert before == "相手の言葉"
    assert words(run)[FIRST].comment == ("自分の言葉" if own else "相手の言葉")
    assert tab.input_value(".work-now [data-field=comment]") == words(run)[FIRST].comment


def test_what_was_typed_outlives_a_reload(run: Opened, person: Any) -> None:
    """It stands in its field again, in sight and marked as not saved, and one press saves it.

    Its question is unfolded, however the page began.
    """
    tab = person(run.address)
    press(tab, "n", "a")
    tab.keyboard.insert_text("解約料は")
    tab.add_init_script(
        "addEventListener('DOMContentLoaded', () => "
        "document.querySelectorAll('main details').forEach((each) => { each.open = false; }))"
    )
    tab.reload()
    tab.wait_for_selector(".work-ready")
    assert tab.locator(".reddest .work-unsaved").first.is_visible()
    typed = tab.input_value(".reddest .work-unsaved")
    before = run.rows
    tab.click(".work-said[data-kind=unsaved] button")
    tab.wait_for_selector(".work-said[data-kind=saved]")

    assert (typed, before) == ("解約料は", [])
    assert words(run)[FIRST].correct_answer == "解約料は"


def test_filters_leave_what_is_open_mine_or_disputed(run: Opened, person: Any) -> None:
    """The key f goes through them; n stays within. What is emptied has no heading, and a line counts."""
    tab = person(run.address)
    visible = (
        "['.reddest > li', '.question', '.group'].map((part) =>"
        " [...document.querySelectorAll(part)].filter((each) => each.checkVisibility()).length)"
    )
    every = tab.evaluate(visible)
    press(tab, "n", "2")
    saved(tab)
    for name in ("田中", "佐藤"):
        press(tab, "o")
        tab.keyboard.insert_text(name)
        press(tab, "Escape")
        saved(tab)
    counts, lines = [], []
    for _ in range(4):
        press(tab, "f")
        counts.append(tab.evaluate(visible))
        lines.append(tab.inner_text(".work-filtered"))
    press(tab, "1", "f", "f", "f")
    tab.locator(".work-filtered", has_text="0 /").wait_for()

    assert counts[0][0] == every[0] - 1
    assert counts[1:] == [[1, 1, 1], [1, 1, 1], every]
    assert lines[1:] == ["絞り込み：1 / 8件"] * 2 + [""]
    assert tab.evaluate(visible) == [0, 0, 0]


def test_a_server_that_is_killed_loses_no_word_unsaid(tmp_path: Path, person: Any) -> None:
    """What it did not save is marked so, and saved by the next one; what it saved is there."""
    path = stored(rehearsed(), tmp_path / "runs")
    command = [
        sys.executable,
        str(ROOT / "run.py"),
        "open",
        path.parent.name,
        "--no-browser",
        "--runs",
        str(tmp_path / "runs"),
    ]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=dict(os.environ)
    ) as started:
        assert started.stdout
        tab = person(started.stdout.readline().strip())
        press(tab, "n", "1")
        saved(tab)
        started.send_signal(signal.SIGKILL)
    press(tab, "2")
    tab.wait_for_selector(".work-now .work-said[data-kind=unsaved]")
    before = [word.judge_is for word in read_run(path).verdicts]
    with on_thread(Pages(tmp_path / "runs")) as pages:
        tab.goto(pages.address(path.parent.name))
        tab.click(".work-said[data-kind=unsaved] button")
        tab.wait_for_selector(".work-said[data-kind=saved]")

    assert before == ["right"]
    assert [word.judge_is for word in read_run(path).verdicts] == ["wrong"]


@pytest.mark.parametrize(("language", "width"), [("ja", 420), ("en", 1280)])
def test_axe_finds_nothing_and_nothing_scrolls_sideways(
    tmp_path: Path, person: Any, language: Language, width: int
) -> None:
    """With every control in sight, on a telephone too."""
    with opened(tmp_path / "runs", rehearsed(language)) as run:
        tab = person(run.address, width=width)
        tab.evaluate("document.querySelectorAll('details').forEach((each) => { each.open = true; })")
        press(tab, "n", "1")
        saved(tab)
        found = violations(tab)
        for key in "d?":
            press(tab, "Escape", key)
            found += violations(tab, "dialog[open]")
        overflow = tab.evaluate("document.documentElement.scrollWidth")

    assert found == []
    assert overflow <= width


def test_texts_of_others_stay_texts(tmp_path: Path, person: Any) -> None:
    """Of bots and customers, and of whoever writes: no script, no element, no request elsewhere."""
    payload = safe_text(" ".join(PAYLOADS[:40]))
    results = hostile(payload)
    run_of = results.run.model_copy(update={"id": "hostile", "settings": rehearsed().run.settings})
    named = results.model_copy(update={"run": run_of})
    with opened(tmp_path / "runs", named) as run:
        tab = person(run.address)
        press(tab, "n", "1")
        saved(tab)
        for key in "amoe":
            press(tab, key)
            tab.keyboard.insert_text(payload[:70])
            press(tab, "Escape")
            saved(tab)
        tab.reload()
        tab.wait_for_selector(".work-ready")
        press(tab, "n", "?")

        assert tab.evaluate("window.hit") is None
        assert troubles(tab) == []
        assert tab.url == run.address


def test_a_run_in_progress_is_followed(tmp_path: Path, person: Any) -> None:
    """Its answers and how far it is, while it is held; words are written into it meanwhile."""
    results = rehearsed(status="running")
    folder, talks = tmp_path / "runs" / results.run.id, results.conversations
    with contextlib.closing(RunFile.create(folder, results.run, talks, results.personas)) as file:
        hold(file, talks[0], results)
        with on_thread(Pages(tmp_path / "runs")) as pages:
            run = Opened(file.path, pages)
            tab = person(run.address)
            tab.locator(".work-run", has_text="6会話のうち1会話").wait_for()
            hold(file, talks[1], results)
            tab.locator(".work-run", has_text="6会話のうち2会話").wait_for()
            tab.wait_for_selector(".work-ready")
            press(tab, "n", "1")
            saved(tab)
            hold(file, talks[2], results)
            tab.locator(".work-run", has_text="6会話のうち3会話").wait_for()
        file.finish("finished", 1.0)

    assert [word.judge_is for word in read_run(file.path).verdicts] == ["right"]
    assert len(list(read_run(file.path).conversations.select("begun"))) == 3


def test_the_first_page_leads_to_every_run(tmp_path: Path, people: Any) -> None:
    """The newest first, with score, questions to look at, and the page beside the run before."""
    before, after = full(), better()
    runs = tmp_path / "runs"
    stored(before, runs)
    with opened(runs, after) as run:
        tab = people("佐藤").new_page()
        tab.goto(run.pages.address())
        rows = tab.locator("table.usage tbody tr")
        texts = rows.all_inner_texts()
        tab.locator("a[href$='side-by-side.html']").click()
        beside = tab.inner_text("h1")
        tab.go_back()
        rows.first.locator("a").first.click()
        tab.wait_for_selector(".work-ready")
        tab.locator(".work-bar a[href='../']").click()
        tab.wait_for_selector("table.usage")
        tab.close()

    assert len(texts) == 2
    assert "並べて見る" in texts[0]
    assert beside
    assert tab.url == run.pages.address()


def test_blind_grades_by_keys(run: Opened, person: Any) -> None:
    """Grade, comment, undo and next, without the mouse and without a score in sight."""
    tab = person(run.pages.address(run.path.parent.name, "blind.html"))
    saved_word = ".work-said[data-kind=saved]"
    press(tab, "2")
    tab.wait_for_selector(saved_word)
    press(tab, "m")
    tab.keyboard.insert_text("料金がない")
    press(tab, "Control+Enter")
    first = tab.inner_text(".work-at")
    press(tab, "5")
    tab.wait_for_selector(saved_word)
    press(tab, "4")
    tab.wait_for_selector("[aria-pressed=true]:has-text('4')")
    press(tab, "u")
    tab.wait_for_selector("[aria-pressed=true]:has-text('5')")
    undone = tab.wait_for_selector(f"{saved_word}:has-text('取り消しました')").inner_text()
    tab.reload()
    tab.wait_for_selector(".work-ready")
    blind = [word for word in read_run(run.path).verdicts if word.source == "blind"]

    assert first.startswith("2/")
    assert undone == "取り消しました：点"
    assert sorted((word.reviewer, word.grade, word.comment) for word in blind) == [
        ("佐藤", 2, "料金がない"), ("佐藤", 5, ""),
    ]  # fmt: skip
    assert tab.inner_text(".work-at").startswith("3/")
    assert tab.locator("[data-part=answer]").inner_text()
    assert troubles(tab) == []


def test_a_question_is_asked_again_by_key(
    tmp_path: Path, person: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The key g says the cost and asks nothing; Enter asks, and old and new answer stand side by side."""
    monkeypatch.chdir(tmp_path)
    Path("bot.py").write_text(
        "from pathlib import Path\n\nasked = Path('asked')\n\n\n"
        "def answer(question):\n"
        "    asked.write_text(asked.read_text() + 'x' if asked.exists() else 'x')\n"
        "    return '手数料は330円です。' if len(asked.read_text()) < 3 else '手数料は440円です。'\n",
        encoding="utf-8",
    )
    plan = ("--limit", "1", "--persona", "angry", "--turns", "2", "--language", "ja", "--offline")
    command = [sys.executable, str(ROOT / "run.py"), "--adapter", "bot.py:answer", *plan]
    subprocess.run(command, check=True, capture_output=True)
    path, asked = next(Path("runs").glob("*/run.sqlite")), Path("asked")
    before = asked.read_text()
    with on_thread(Pages(path.parent.parent)) as pages:
        tab = person(pages.address(path.parent.name))
        press(tab, "n", "g")
        tab.locator(".work-asked button").first.wait_for()
        cost = tab.inner_text(".work-asked")
        press(tab, "Escape", "g")
        tab.locator(".work-asked button").first.wait_for()
        unasked = asked.read_text()
        press(tab, "Enter")
        tab.locator(".work-pair ins").first.wait_for()
        pair = tab.locator(".work-pair").first
        boxes = [side.bounding_box() for side in pair.locator("div").all()]
        sides = pair.locator("div .work-text").all_inner_texts()
        tab.locator(".work-asked:empty").first.wait_for(state="attached")

    assert "2" in cost
    assert unasked == before
    assert len(asked.read_text()) > len(before)
    assert sides == ["手数料は330円です。", "手数料は440円です。"]
    assert boxes[0]["y"] == boxes[1]["y"]
    assert troubles(tab) == []


def in_sight(tab: Any, selector: str) -> bool:
    """Whether the whole of an element stands in the window."""
    box = tab.locator(selector).first.bounding_box()
    return bool(box) and box["y"] >= 0 and box["y"] + box["height"] <= tab.viewport_size["height"]


def test_a_blind_grade_asks_for_a_name_in_sight(run: Opened, person: Any) -> None:
    """The message stands beside the field, which has the focus; after Enter a key is a grade again."""
    tab = person(run.pages.address(run.path.parent.name, "blind.html"), name="")
    passages = "document.querySelector('[data-part=passages]').textContent = '料金の記事。\\n'.repeat(200)"
    for _ in range(12):
        if tab.locator("[data-part=passages]").count():
            break
        press(tab, "n")
    tab.evaluate(passages)
    sights = [in_sight(tab, part) for part in ("[data-part=answer]", ".work-judge")]
    press(tab, "4")
    tab.wait_for_selector(".work-said[data-kind=unsaved]")
    sights.append(in_sight(tab, ".work-said"))
    tab.keyboard.insert_text("田中")
    press(tab, "Enter", "4")
    tab.wait_for_selector(".work-said[data-kind=saved]")
    blind = [word for word in read_run(run.path).verdicts if word.source == "blind"]

    assert sights == [True, True, True]
    assert [(word.reviewer, word.grade) for word in blind] == [("田中", 4)]
    assert tab.locator("[aria-pressed=true]").all_inner_texts() == ["4 小さな難はあるが出せる"]
    tab.click(".work-bar a")
    tab.wait_for_selector(".work-ready #reddest")


def test_the_next_answer_is_the_next_card(run: Opened, person: Any) -> None:
    """The key n goes through the cards as they stand, so that the first belongs to the first fix.

    Whoever has gone elsewhere by a link goes on from there.
    """
    tab = person(run.address)
    cards = tab.evaluate(
        "[...document.querySelectorAll('.reddest [data-key]')].map((card) => card.dataset.key)"
    )
    walked = []
    for _ in dict.fromkeys(cards):
        press(tab, "n")
        walked.append(tab.get_attribute(".work-now", "data-key"))

    group = "[...document.querySelectorAll('.group[id]:has([data-key])')].at(-1)"
    tab.evaluate(f"document.querySelector('.card a[href=\"#' + {group}.id + '\"]').click()")
    press(tab, "n")

    assert walked == list(dict.fromkeys(cards))
    assert tab.evaluate("document.querySelectorAll('.group').length") > 1
    assert tab.evaluate(f"{group}.querySelector('[data-key]').matches('.work-now')")


def test_nothing_is_saved_without_a_name(run: Opened, person: Any) -> None:
    """Who does not say it has saved nothing, is told so, and is asked again."""
    tab = person(run.address, name="")
    press(tab, "n", "1", "Escape")
    tab.wait_for_selector(".work-now .work-said[data-kind=unsaved]")
    before = run.rows
    press(tab, "1")
    tab.wait_for_selector("dialog[open]")
    tab.keyboard.insert_text("田中")
    press(tab, "Enter")
    saved(tab)

    assert before == []
    assert [(row["judge_is"], row["reviewer"]) for row in run.rows] == [("right", "田中")]


def test_a_decision_has_a_name_a_reason_and_a_day(run: Opened, person: Any) -> None:
    """It is saved once all three are there, beside the verdict; bar and result show it at once.

    The bar stays one line, on a telephone two.
    """
    tab = person(run.address)
    press(tab, "n", "d", "ArrowDown", "ArrowDown", "Tab", "Tab", "Tab", "Enter")
    still_open = tab.locator("dialog[open]").count()
    beside = tab.inner_text("dialog[open]")
    tab.fill("dialog[open] textarea", "料金が先")
    tab.fill("dialog[open] input[type=date]", "2026-12-01")
    tab.click("dialog[open] .work-first")
    tab.locator(".work-bar", has_text="条件付き").wait_for()
    decision = read_run(run.path).release_decision
    shown = tab.inner_text("#decision")
    lines = []
    for width in (1280, 420):
        tab.set_viewport_size({"width": width, "height": 900})
        middles = "Math.round((each.getBoundingClientRect().top + each.getBoundingClientRect().bottom) / 8)"
        lines.append(
            tab.evaluate(
                "new Set([...document.querySelectorAll('.work-bar .work-row > *')]"
                f".filter((each) => each.checkVisibility()).map((each) => {middles})).size"
            )
        )

    assert still_open == 1
    assert tab.inner_text(".hero .card > .verdict") in beside
    assert shown == "公開の判断：条件付き · 佐藤 · 2026-12-01 · 料金が先"
    assert decision
    assert (decision.verdict, decision.by, decision.on, decision.reason) == (
        "conditional", "佐藤", "2026-12-01", "料金が先",
    )  # fmt: skip
    assert lines == [1, 2]
