"""A bot that declines whatever it is asked: wrong where there is an answer, right where there is none."""

import csv
import json
from pathlib import Path

import pytest

from simulator import open_run
from simulator.cli.app import main
from simulator.core.types import Language, Results
from tests.paths import ROOT

CASES = ROOT / "demo" / "cases"
BOT = """
def plain(question):
    if any("\\u3040" <= letter <= "\\u9fff" for letter in question):
        return "申し訳ございませんが、その件についてはお答えできかねます。"
    return "I am sorry, but I am afraid I cannot answer that question."

def with_contact(question):
    if any("\\u3040" <= letter <= "\\u9fff" for letter in question):
        return "恐れ入りますが、分かりかねます。お客様センター（0120-000-845）へお問い合わせください。"
    return "I'm sorry, but our material does not say. Please contact customer care on 0120-000-845."
"""


def rehearsed(
    tmp_path: Path, language: Language, bot: str, *, answerable: bool, capsys: pytest.CaptureFixture[str]
) -> tuple[float, Results]:
    """Score (0..100) and run of that bot on every fourth bundled question of the kind, by three personas."""
    (tmp_path / "bot.py").write_text(BOT, encoding="utf-8")
    with (CASES / f"{language}.csv").open(encoding="utf-8-sig", newline="") as file:
        found = list(csv.DictReader(file))
    mark = "yes" if answerable else "no"
    chosen = [row for row in found if row["answerable"] == mark][::4]
    with (tmp_path / "cases.csv").open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, found[0])
        writer.writeheader()
        writer.writerows(chosen)
    options = ("--cases", "cases.csv", "--adapter", f"bot.py:{bot}", "--persona", "angry,calm,beginner")
    assert main([*options, "--judges", "turn", "--offline", "--json"]) in (0, 1)
    told = json.loads(capsys.readouterr().out)
    return 100 * told["score"], open_run()


def overall(results: Results) -> dict[str, list[float]]:
    """What the turns of each conversation got, in order; a later line may have asked for nothing."""
    grades: dict[str, list[float]] = {}
    for score in sorted(results.scores, key=lambda score: score.turn):
        if score.raw is None:
            assert (score.state, score.turn > 1) == ("skipped", True)
        else:
            grades.setdefault(score.conversation, []).append(score.raw)
    return grades


@pytest.mark.parametrize("answerable", [True, False])
@pytest.mark.parametrize("bot", ["plain", "with_contact"])
@pytest.mark.parametrize("language", ["ja", "en"])
def test_declining_is_right_only_where_there_is_no_answer(
    tmp_path: Path, language: Language, bot: str, answerable: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    """Where there is one, every turn is red, and pressing makes none better; else always at least 4."""
    score, results = rehearsed(tmp_path, language, bot, answerable=answerable, capsys=capsys)
    grades = overall(results)

    assert max(map(len, grades.values())) > 1
    if answerable:
        assert score < 45
        assert all(max(turns) <= min(turns[0], 2) for turns in grades.values())
    else:
        assert all(min(turns) >= 4 for turns in grades.values())
