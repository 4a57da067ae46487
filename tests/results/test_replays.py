"""Replays in whole runs with the bundled questions, and `diff` between them."""

import json
from pathlib import Path

import pytest

from simulator.cli.app import main
from simulator.core.types import Results
from simulator.storage.run_file import find_run, read_run, run_ids
from tests.diff_runs import a_result, stored

BOT = "def answer(question):\n    return '分かりません。', []\n"


def rehearsed(*arguments: str) -> Results:
    assert main(["--offline", *arguments]) == 0
    return read_run(find_run(run_ids(Path("runs"))[-1], Path("runs")))


def spoken(results: Results) -> dict[str, list[str]]:
    return {c.id: [t.user for t in c.turns] for c in results.conversations if c.turns}


def test_a_replay_keeps_lines_and_repeats(capsys: pytest.CaptureFixture[str]) -> None:
    """The same lines, each repeat its own."""
    before = rehearsed(
        "--language", "ja", "--persona", "angry", "--limit", "2", "--repeats", "2", "--judges", "turn"
    )
    capsys.readouterr()
    after = rehearsed("--replay", "latest", "--judges", "turn", "--json")
    told = json.loads(capsys.readouterr().out)

    assert spoken(after) == spoken(before)
    assert told["replay_of"] == before.run.id
    page = Path("runs", after.run.id, "report.html").read_text(encoding="utf-8")
    assert f"{before.run.id} と同じ発言で試した実行です" in page
    assert main(["diff", before.run.id, after.run.id, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert not found["differing"]["settings"]


def test_the_same_bot_gets_the_same_lines(capsys: pytest.CaptureFixture[str]) -> None:
    """Nothing diverges, and nothing is said of it."""
    before = rehearsed("--persona", "angry,calm", "--limit", "4", "--judges", "turn")
    after = rehearsed("--replay", before.run.id, "--judges", "turn", "--json")
    told = json.loads(capsys.readouterr().out.splitlines()[-1])

    assert spoken(after) == spoken(before)
    assert not any(turn.diverged for c in after.conversations for turn in c.turns)
    assert "replay" not in told


def test_where_lines_no_longer_fit_the_customer_goes_on(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """From the line after the first other answer; --json counts the conversations."""
    Path("bot.py").write_text(BOT, encoding="utf-8")
    few = ("--language", "ja", "--persona", "angry", "--limit", "3", "--judges", "turn")
    before = rehearsed(*few, "--adapter", "bot.py:answer")
    capsys.readouterr()
    other = BOT.replace("分かりません。", "ご契約の内容に変わりはございません。")
    Path("other.py").write_text(other, encoding="utf-8")
    again = ("--replay", before.run.id, "--judges", "turn", "--json", "--adapter", "other.py:answer")
    after = rehearsed(*again)
    told = json.loads(capsys.readouterr().out)["replay"]
    first = [t.index for c in after.conversations for t in c.turns if t.diverged]

    assert first == [2, 2, 2]
    assert told == {"diverged": 3}


def test_a_replay_of_an_interrupted_run_without_its_case_file() -> None:
    """What was answered is said again, what was begun and not answered is not; the file may be gone."""
    whole = a_result({("a", "calm", 1): [0.8, 0.8], ("b", "calm", 1): [0.8]}, "1-cut", cases="gone.csv")
    cut = whole.conversations[1].model_copy(update={"ended": None})
    begun = whole.conversations[0].model_copy(update={"id": "calm/c#1", "turns": (), "ended": None})
    run = whole.run.model_copy(update={"status": "interrupted"})
    stored(whole.model_copy(update={"run": run, "conversations": (whole.conversations[0], cut, begun)}))
    after = rehearsed("--replay", "1-cut", "--judges", "turn")

    first = {talk: lines[0] for talk, lines in spoken(whole).items()}
    assert {talk: lines[0] for talk, lines in spoken(after).items()} == first
