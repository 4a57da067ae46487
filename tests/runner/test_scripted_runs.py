"""Scripted customers in whole runs: logs graded again, scripts of a team, replays of a run."""

import json
from pathlib import Path

import pytest

from simulator.cli.app import main
from simulator.core.types import Results
from simulator.storage.run_file import find_run, read_run, run_ids

LINES = (
    "送料はいくらですか", "全国一律550円です。", "沖縄もですか", "はい、沖縄も550円です。", "いつ届きますか",
    "3日ほどで届きます。", "わかりました", "ありがとうございました。",
)  # fmt: skip
TURNS = [
    {"role": ("user", "assistant")[at % 2], "content": line} | ({"contexts": [line]} if at % 2 else {})
    for at, line in enumerate(LINES)
]
LOG = {"id": "log-1", "language": "ja", "turns": TURNS}


def rehearsed(*arguments: str, code: int = 0) -> Results:
    assert main(["--offline", *arguments]) == code
    runs = [read_run(find_run(name, Path("runs"))) for name in run_ids(Path("runs"))]
    return max(runs, key=lambda results: results.run.created)


def spoken(results: Results) -> dict[str, list[str]]:
    return {
        conversation.id: [turn.user for turn in conversation.turns] for conversation in results.conversations
    }


@pytest.fixture
def log(tmp_path: Path) -> str:
    path = tmp_path / "log.jsonl"
    path.write_text(json.dumps(LOG, ensure_ascii=False), encoding="utf-8")
    return str(path)


def test_a_logged_dialogue_is_graded_turn_by_turn(log: str) -> None:
    """All its turns, also beyond --turns, with the answers that were given; nobody is asked to leave."""
    results = rehearsed("--cases", log, "--adapter", "recorded", "--persona", "calm")
    conversation = results.conversations[0]

    assert [turn.user for turn in conversation.turns] == list(LINES[::2])
    assert [turn.answer.text for turn in conversation.turns] == list(LINES[1::2])
    assert conversation.ended == "turn_limit"
    assert sum(score.judge == "turn" and score.state == "scored" for score in results.scores) == 4


def test_a_script_comes_before_the_customers_own_words(tmp_path: Path) -> None:
    """Lines of a file first, then the persona goes on."""
    script = tmp_path / "lines.txt"
    script.write_text("もう一度お願いします\n別の言い方で教えてください\n", encoding="utf-8")

    results = rehearsed(
        "--language", "ja", "--persona", "calm", "--limit", "4", "--script", str(script), "--turns", "5",
    )  # fmt: skip

    lines = spoken(results).values()
    assert all(said[1:3] == ["もう一度お願いします", "別の言い方で教えてください"] for said in lines)
    assert {conversation.ended for conversation in results.conversations} == {"satisfied", "gave_up"}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--replay", "nothing"], "no run 'nothing'"),
        (["--knowledge", "nothing"], "nothing: no readable files"),
        (["--script", "none.txt"], "none.txt"),
        (["--limit", "2", "--script", "lines.txt"], "fees-01-en"),
    ],
)
def test_a_wrong_script_is_one_line(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Exit code 2, and nothing is written; a misspelt id would otherwise be passed over in silence."""
    Path("nothing").mkdir()
    Path("lines.txt").write_text("# fees-01-jp\nもう一度\n", encoding="utf-8")
    assert main(["--offline", *arguments]) == 2
    assert message in capsys.readouterr().err
    assert not Path("runs").exists()


@pytest.mark.parametrize(
    ("returns", "state"), [("'550円です。'", "skipped"), ("('550円です。', [])", "scored")]
)
def test_a_bot_that_shows_no_passages_is_not_graded_for_groundedness(returns: str, state: str) -> None:
    """It would be red on every turn; an empty retrieval is another thing."""
    Path("bot.py").write_text(f"def answer(question):\n    return {returns}\n", encoding="utf-8")

    results = rehearsed("--adapter", "bot.py:answer", "--limit", "1", "--persona", "calm")

    assert {score.state for score in results.scores if score.judge == "groundedness"} == {state}
