"""Large single-turn data sets, whose rows are read again instead of being held: the figures are the same."""

import json
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from simulator.cli.app import main
from simulator.core.settings import stored_settings
from simulator.core.types import Results
from simulator.report.context import ReportContext
from simulator.report.tables import turn_rows
from simulator.report.worksheets import worksheets
from simulator.runner.masking import masks_of
from simulator.stats import summary
from simulator.stats.answerability import answerability, handovers
from simulator.stats.gate import decide
from simulator.stats.outcome import figures_of
from simulator.stats.summary_json import as_json
from simulator.storage import results as overview
from simulator.storage import results as reading
from simulator.storage.run_file import find_run, read_run
from tests.report.views import context_of, render

COUNT = 24


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """A run of some rows: right and wrong ones, one without an answer, some marked, one with a mask."""
    rows = [
        {
            "id": f"r{n}",
            "question": f"{n}番は?",
            "reference": "はい、できます。",
            "answer": "" if n == 5 else "はい、できます。" if n % 3 else f"いいえ。{n}",
            "error": "HTTP 503" if n == 5 else None,
            "answerable": n != 7,
        }
        for n in range(COUNT)
    ]
    rows[2]["question"] = "090-1234-5678に電話してもいいですか"
    file = tmp_path / "rows.jsonl"
    file.write_text("\n".join(json.dumps(row, ensure_ascii=False) for row in rows), encoding="utf-8")
    assert main(["evaluate", str(file), "--adapter", "recorded", "--judges", "exact_match,rouge_l"]) == 0
    return find_run("latest", Path("runs"))


def both(run: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Results, Results]:
    """The run held in memory, and the run read as it is needed."""
    held = read_run(run)
    monkeypatch.setattr(reading, "LARGE", 3)
    large = read_run(run)
    assert isinstance(held.conversations, tuple)
    assert isinstance(large.conversations, reading.StoredConversations)
    assert isinstance(large.scores, reading.StoredScores)
    return held, large


def told(results: Results) -> ReportContext:
    """Everything that views are made of."""
    summary = figures_of(results, stored_settings(results.run.settings))
    return context_of(results, summary, decide(summary, None, 0.05), "ja")


def test_rows_are_read_as_they_were_written(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Conversations and scores are equal one by one, from wherever they are asked for."""
    held, large = both(run, monkeypatch)
    conversations = large.conversations

    assert tuple(conversations) == held.conversations
    assert (conversations[3], conversations[-1]) == (held.conversations[3], held.conversations[-1])
    assert conversations[4:6] == list(held.conversations[4:6])  # type: ignore[comparison-overlap]
    assert tuple(large.scores) == held.scores
    assert (len(large.scores), large.scores[1]) == (len(held.scores), held.scores[1])
    assert list(reading.conversations_with_scores(large)) == list(reading.conversations_with_scores(held))


@pytest.mark.parametrize(
    "look",
    [
        overview.english_share, overview.has_passages, overview.has_expectations, overview.count_begun,
        reading.judges_of,
        answerability, handovers, masks_of,
    ],
)  # fmt: skip
def test_what_is_asked_of_a_run_is_the_same(run: Path, monkeypatch: pytest.MonkeyPatch, look: Any) -> None:
    """What the run file itself is asked agrees with what its rows say."""
    held, large = both(run, monkeypatch)

    assert look(large) == look(held)


def test_figures_and_reports_are_the_same(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Summary, page and flat rows of a run do not depend on how it is read."""
    held, large = map(told, both(run, monkeypatch))
    shown = [as_json(each.summary, each.gate, "x") for each in (held, large)]
    pages = [render(each.results, each.summary, each.gate, "ja") for each in (held, large)]

    assert shown[0] == shown[1]
    assert held.summary.reddest == large.summary.reddest
    assert held.summary.interval == large.summary.interval
    assert pages[0] == pages[1]
    assert list(turn_rows(held)) == list(turn_rows(large))
    assert dict(held.scores) == dict(large.scores)


def test_worksheets_leave_out_what_nobody_reads(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """All rows are in the sheet of rows; to review are red ones only, and no question is copied."""
    held, large = ({sheet.name: sheet for sheet in worksheets(told(each))} for each in both(run, monkeypatch))

    assert list(large["conversations"].rows) == list(held["conversations"].rows)
    assert len(held["review"].rows) == COUNT
    assert list(large["review"].rows) == list(held["review"].rows)[: len(large["review"].rows)]
    assert (len(held["questions"].rows), len(large["questions"].rows)) == (COUNT, 0)
    assert list(large["blind"].rows) == list(held["blind"].rows)


def test_only_the_gravest_rows_are_quoted(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Further red rows are counted and listed with their marks, but without what was said."""
    monkeypatch.setattr(summary, "MAX_QUOTED", 3)
    _, large = both(run, monkeypatch)
    reddest = told(large).summary.reddest

    assert [bool(red.question) for red in reddest] == [place < 3 for place in range(len(reddest))]
    assert all(red.marks for red in reddest)
    assert len(reddest) == 9


def test_a_large_run_is_resumed(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows that were cut off are asked again, looked up in the run file; the others are not."""
    import sqlite3

    with closing(sqlite3.connect(run)) as file, file:
        file.execute("DELETE FROM turns WHERE conversation LIKE 'scripted/r1_#1'")
        file.execute("DELETE FROM scores WHERE conversation LIKE 'scripted/r1_#1'")
        file.execute("UPDATE conversations SET ended = NULL WHERE id LIKE 'scripted/r1_#1'")
        file.execute("UPDATE about SET body = json_set(body, '$.status', 'interrupted') WHERE key = 'run'")
    monkeypatch.setattr(reading, "LARGE", 3)

    assert main(["evaluate", "--resume", "latest"]) == 0
    again = read_run(run)
    assert again.run.status == "finished"
    assert [len(conversation.turns) for conversation in again.conversations] == [1] * COUNT
    assert len(again.scores) == 2 * COUNT
