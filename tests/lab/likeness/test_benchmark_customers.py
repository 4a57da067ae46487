"""The figures of the simulated customers beside real ones, on tiny corpora of the same shape."""

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from benchmarks import customers, customers_data
from benchmarks.customers import main

TURNS: list[dict[str, str]] = [
    line
    for asked, said in (
        ("8月10日に2名で泊まりたいです。", "かしこまりました。地域はお決まりでしょうか？"),
        ("箱根がいいです。", "お食事はいかがいたしましょうか？"),
        ("朝食だけで大丈夫です。", "お部屋のご希望はございますか？"),
        ("和室がいいですね。", "かしこまりました。"),
    )
    for line in ({"role": "user", "content": asked}, {"role": "assistant", "content": said})
]
SCENARIO = """**Your character:** Marcus, 42.

**Your situation:** You have a Silver Card. You want to stop a payment.

1. **Start naturally:** "Hi, how do I stop a payment that is already on its way?"
"""


def packed(path: Path, rows: list[dict[str, Any]]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    text = "\n".join(json.dumps(row, ensure_ascii=False) for row in rows)
    path.write_bytes(gzip.compress(text.encode()) if path.suffix == ".gz" else text.encode())


@pytest.fixture
def corpora(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Three corpora of a few rows each."""
    goal = {"conditions": ["人数は2名", "場所は箱根", "食事は朝食のみ", "部屋は和室"]}
    hotel = [{"id": f"asdc/{n}", "goal": goal, "turns": TURNS} for n in range(6)]
    chat = [{"group": str(n), "history": TURNS, "question": "And then?"} for n in range(3)]
    packed(tmp_path / "asdc" / "user_goals_asdc_ja_dev.jsonl.gz", hotel)
    packed(tmp_path / "mtrag_un" / "rag_conversations_mtrag_un_dev.jsonl.gz", chat)
    packed(
        tmp_path / "tau2_banking" / "user_goals_tau2_banking_en_dev.jsonl",
        [{"id": "tau2/1", "goal": SCENARIO}, {"id": "tau2/2", "goal": "no scenario"}],
    )
    bank = [{"id": "stop", "title": "Stop payments", "text": "A payment can be stopped in the app."}]
    packed(tmp_path / "tau2_banking" / "rag_corpus_tau2_banking_en.jsonl.gz", bank)
    for module in (customers, customers_data):
        monkeypatch.setattr(module, "DATA", tmp_path)
    return tmp_path


def test_every_corpus_is_played_and_measured_offline(
    corpora: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """One table each, which --run prints again from the run files."""
    runs = tmp_path / "runs"
    only = ["--only", "asdc", "--only", "tau2_banking", "--offline", "--keep", str(runs)]

    assert main([*only, "--limit", "4"]) == 0
    shown = capsys.readouterr().out
    assert "asdc ja: 4 conversations, customers played by lexical" in shown
    assert "tau2_banking en: 1 conversations" in shown
    assert "real or simulated (3-grams, AUROC)" in shown

    first = min(path for path in runs.iterdir())
    assert main(["--run", str(first)]) == 0
    assert "4 conversations" in capsys.readouterr().out


def test_prompts_and_guard_are_measured(corpora: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """How long the prompts are, what of the planted lines is caught, whom of the real ones it accuses."""
    assert main(["--prompts"]) == 0

    shown = capsys.readouterr().out
    assert "prompt en " in shown
    assert "guard ja  planted: 36 of 36 caught" in shown
    assert "guard ja  real customers: 0 of 24 lines accused" in shown
