"""Large single-turn data sets, whose rows are read again instead of being held: the figures are the same."""

import json
import shutil
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any, TypeVar, get_args

import pytest

from simulator.cli.app import main
from simulator.core import types
from simulator.core.settings import stored_settings
from simulator.core.types import RedRules, Results, Selection
from simulator.report.context import ReportContext
from simulator.report.worksheets import worksheets
from simulator.results.answerability import answerability, handovers
from simulator.results.summary import figures_of
from simulator.results.turns import run_turns
from simulator.runner.masking import masks_of
from simulator.storage import results as reading
from simulator.storage.run_file import find_run, read_run
from tests.commands import held_once
from tests.report.views import context_of
from tests.sample_runs import decide

COUNT = 24
Seen = TypeVar("Seen")


@pytest.fixture(scope="module")
def held(tmp_path_factory: pytest.TempPathFactory) -> Path:
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
    text = "\n".join(json.dumps(row, ensure_ascii=False) for row in rows)
    line = ("evaluate", "rows.jsonl", "--adapter", "recorded", "--judges", "exact_match,rouge_l")
    return held_once(tmp_path_factory, line, files={"rows.jsonl": text})


@pytest.fixture
def run(held: Path) -> Path:
    """That run, where the test stands."""
    shutil.copytree(held, Path(), dirs_exist_ok=True)
    return find_run("latest", Path("runs"))


def both(run: Path, monkeypatch: pytest.MonkeyPatch, look: Callable[[Results], Seen]) -> tuple[Seen, Seen]:
    """What `look` makes of the run in memory, and of the run as one too large for it."""
    small = look(read_run(run))
    make_large(monkeypatch)
    return small, look(read_run(run))


def make_large(monkeypatch: pytest.MonkeyPatch) -> None:
    """Has every run read from its file, and its reports show some of its rows."""
    monkeypatch.setattr(reading, "MAX_LOADED", 0)
    monkeypatch.setattr(types, "MANY_ROWS", 3)


def told(results: Results) -> ReportContext:
    """Everything that views are made of."""
    summary = figures_of(results, stored_settings(results.run.settings))
    return context_of(results, summary, decide(summary, None), "ja")


def test_rows_are_read_as_they_were_written(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Conversations and scores are equal one by one, from wherever they are asked for."""
    held, large = both(run, monkeypatch, lambda results: results)
    conversations = large.conversations

    assert tuple(conversations) == tuple(held.conversations)
    assert (conversations[3], conversations[-1]) == (held.conversations[3], held.conversations[-1])
    assert list(conversations[4:6]) == list(held.conversations[4:6])
    assert tuple(large.scores) == tuple(held.scores)
    assert (len(large.scores), large.scores[1]) == (len(held.scores), held.scores[1])
    for part in (slice(2, 9), slice(None, None, -5), slice(3, 3), slice(-2, None)):
        assert list(large.scores[part]) == list(held.scores[part])
    with pytest.raises(IndexError):
        large.scores[len(held.scores)]
    assert list(reading.conversations_with_scores(large)) == list(reading.conversations_with_scores(held))


@pytest.mark.parametrize(
    "look",
    [
        *(
            lambda results, which=which: list(results.conversations.select(which))
            for which in get_args(Selection)
        ),
        lambda results: (results.conversations.lengths(), results.conversations.turns),
        lambda results: list(results.conversations.without({"scripted/r1#1"}).select("begun").ids),
        lambda results: list(results.scores.without({"scripted/r1#1"})),
        lambda results: list(results.scores.of_judge("rouge_l")),
        lambda results: list(results.scores.of_judge("rouge_l", "skipped")),
        lambda results: results.scores.judges,
        lambda results: answerability(run_turns(results, RedRules(), "turn")),
        lambda results: handovers(run_turns(results, RedRules(), "turn")),
        masks_of,
    ],
)
def test_what_is_asked_of_a_run_is_the_same(run: Path, monkeypatch: pytest.MonkeyPatch, look: Any) -> None:
    """What the run file itself is asked agrees with what its rows say."""
    held, large = both(run, monkeypatch, look)

    assert held == large


def test_worksheets_leave_out_what_nobody_reads(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """All rows are in the sheet of rows; to review are red ones only, and no question is copied."""
    held, large = both(
        run,
        monkeypatch,
        lambda results: {sheet.name: list(sheet.rows) for sheet in worksheets(told(results))},
    )

    assert large["conversations"] == held["conversations"]
    assert len(held["review"]) == COUNT
    assert large["review"] == held["review"][: len(large["review"])]
    assert (len(held["questions"]), len(large["questions"])) == (COUNT, 0)
    assert large["blind"] == held["blind"]


def test_a_large_run_is_resumed(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows that were cut off are asked again, looked up in the run file; the others are not."""
    import sqlite3

    with closing(sqlite3.connect(run)) as file, file:
        file.execute("DELETE FROM turns WHERE conversation LIKE 'scripted/r1_#1'")
        file.execute("DELETE FROM scores WHERE conversation LIKE 'scripted/r1_#1'")
        file.execute("UPDATE conversations SET ended = NULL WHERE id LIKE 'scripted/r1_#1'")
        file.execute("UPDATE about SET body = json_set(body, '$.status', 'interrupted') WHERE key = 'run'")
    make_large(monkeypatch)

    assert main(["evaluate", "--resume", "latest"]) == 0
    again = read_run(run)
    assert again.run.status == "finished"
    assert [len(conversation.turns) for conversation in again.conversations] == [1] * COUNT
    assert len(again.scores) == 2 * COUNT
