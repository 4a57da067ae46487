"""Reports of large runs: a page stays usable and says what it leaves out; files are written in pieces."""

import json
import re

import pytest

from simulator.report import run_page
from simulator.report.files import json_lines, turn_rows
from tests.report.views import context_of, render
from tests.sample_runs import decide, large, summed


def test_a_page_that_would_be_too_large_shows_the_gravest(monkeypatch: pytest.MonkeyPatch) -> None:
    """It stays under its limit, says how many it shows, and no link of it leads nowhere."""
    monkeypatch.setattr(run_page, "ROOM", 900_000)
    results = large(300)
    summary = summed(results)
    page = render(results, summary, decide(summary, 0.9), "ja")
    shown = page.count('<details class="talk')

    assert len(page.encode()) < 1_100_000
    assert 50 < shown < 200
    assert f"300会話のうち{shown:,}会話（要確認の回答{summary.red.count:,}件のうち、" in page
    monkeypatch.setattr(run_page, "SHOWN_QUESTIONS", 2)
    few = render(results, summary, decide(summary, 0.9), "ja")
    assert few.count('<details class="question"') == 2
    assert "ほかの質問（下の会話に印があります）：" in few
    ids = set(re.findall(r'id="([^"]+)"', page))
    assert set(re.findall(r'href="#([^"]+)"', page)) <= ids


def test_red_conversations_come_first(monkeypatch: pytest.MonkeyPatch) -> None:
    """All of them where they fit, then others as far as there is room."""
    monkeypatch.setattr(run_page, "ROOM", 450_000)
    results = large(300)
    marked = {conversation.id for conversation in results.conversations[-40:]}
    scores = tuple(s for s in results.scores if s.conversation in marked)
    summary = summed(results.model_copy(update={"scores": scores}))
    page = render(results, summary, decide(summary, 0.9), "ja")
    shown = {int(number) for number in re.findall(r'<details class="talk" id="c(\d+)"', page)}

    assert set(range(261, 301)) < shown
    assert len(shown) < 150


def test_report_json_is_one_object() -> None:
    """Written a turn at a time, it is what it would be in one piece; also without a turn."""
    for results in (large(3), large(0)):
        summary = summed(results)
        context = context_of(results, summary, decide(summary, 0.9), "ja")
        whole = {"schema": 1, "run": "x\ny", "rows": list(turn_rows(context))}
        pieces = "".join(json_lines({"schema": 1, "run": "x\ny"}, context))
        assert pieces == json.dumps(whole, ensure_ascii=False, indent=2) + "\n"
