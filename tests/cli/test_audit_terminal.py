"""What bots, cases and knowledge hold of control codes, formulas and paths: no command lets it through."""

import json
import re
from collections.abc import Sequence
from pathlib import Path

import pytest

from simulator.cli.app import main

# A cleared screen, a title, a link, one C1 code, a bell, a turned direction, and a line that is written over.
HOSTILE = "\x1b[2J\x1b]0;owned\x07\x1b]8;;http://evil\x1b\\X\x9b31m\x07\u202e\r\x08"
FORMULA = '=HYPERLINK("http://evil","x")'
CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
BOT = f"""
CODES = {HOSTILE!r}

def answer(question):
    found = CODES + "資料。送料は550円です。"
    return {{"answer": CODES + {FORMULA!r} + "返品は30日以内です。" + CODES, "passages": [found]}}

def other(question):
    return {{"answer": CODES + "送料は550円です。@SUM(1)", "passages": [CODES + "別の資料です。"]}}

def fails(question):
    raise RuntimeError(CODES)
"""


@pytest.fixture
def runs(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> list[str]:
    """Three runs of a bot that speaks in control codes, about cases that do."""
    rows = [
        {"id": f"q{n}", "question": f"送料{n}は？{HOSTILE}", "references": f"{HOSTILE}550円です。",
         "goal": HOSTILE, "tags": [HOSTILE], "facts": [f"{HOSTILE}会員です"]}
        for n in (1, 2)
    ]  # fmt: skip
    lines = "\n".join(json.dumps(row, ensure_ascii=False) for row in rows)
    (tmp_path / "cases.jsonl").write_text(lines, encoding="utf-8")
    (tmp_path / "bot.py").write_text(BOT, encoding="utf-8")
    for name in ("answer", "other", "fails"):
        code = main([
            "--cases", "cases.jsonl", "--adapter", f"bot.py:{name}", "--offline", "--persona", "angry",
            "--turns", "1", "--to", "csv,markdown,json",
        ])  # fmt: skip
        assert code in {0, 1, 3}
    told = capfd.readouterr()
    assert_plain(told.out + told.err)
    return sorted(path.name for path in (tmp_path / "runs").iterdir())


def assert_plain(text: str) -> None:
    """Nothing in it moves a cursor, sets a title or turns the direction of writing."""
    found = CONTROL.search(text)
    assert found is None, repr(text[max(0, found.start() - 60) : found.end() + 20])


def test_no_command_prints_control_codes(runs: Sequence[str], capfd: pytest.CaptureFixture[str]) -> None:
    """fixes, diff, history, compare, consistency, report, review, doctor, and errors."""
    first, second, failed = runs
    for command in (
        ("fixes", first), ("fixes", failed), ("fixes", first, "--markdown", "f.md"),
        ("fixes", second, "--focus", "focus.jsonl"), ("diff", first, second, "--markdown", "d.md"),
        ("history",), ("compare", first, second),
        ("consistency", first), ("report", first, "--to", "csv,markdown"),
        ("report", first, second), ("review", first),
        ("purge", HOSTILE, "--yes"), ("fixes", HOSTILE), ("list",),
        ("doctor", "--cases", "cases.jsonl", "--adapter", "bot.py:fails", "--offline"),
        ("--adapter", f"{HOSTILE}\nbot.py:answer", "--offline"),
    ):  # fmt: skip
        main(list(command))
        told = capfd.readouterr()
        assert "Traceback" not in told.err, command
        assert_plain(told.out + told.err)


NAMES = ("../../x", "/etc/passwd", "..\\..\\x", "CON", "a" * 5000, "~", "$(id)", "%2e%2e/x", "-rf")


def test_ids_lead_nowhere(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """An id of a case or run names no file: nothing is made outside the folder of the runs."""
    (tmp_path / "in").mkdir()
    lines = (json.dumps({"id": name, "question": "送料は？"}) for name in NAMES)
    (tmp_path / "cases.jsonl").write_text("\n".join(lines), encoding="utf-8")

    def files() -> set[Path]:
        return {p for p in tmp_path.rglob("*") if p.relative_to(tmp_path).parts[0] not in {"in", "cache"}}

    before = files()
    options = ["--cases", "cases.jsonl", "--adapter", "demo", "--offline", "--runs", "in/runs"]
    assert main([*options, "--turns", "1", "--persona", "calm", "--to", "csv,xlsx,json"]) == 0
    for name in NAMES:
        for command in (("report", name), ("fixes", name), ("--resume", name), ("--persona", name)):
            assert main([*command, "--runs", "in/runs"]) == 2, command
    assert files() == before
    assert "Traceback" not in capfd.readouterr().err
