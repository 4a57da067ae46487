"""The figures of the simulated customers beside real ones, on tiny corpora of the same shape."""

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from benchmarks import customers, customers_data
from benchmarks.customers import Column, main, told_apart
from simulator.stats.figures import CustomerSummary
from tests.customer_conversations import a_case, a_run, a_talk

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


def test_cases_have_the_matters_of_real_customers(corpora: Path) -> None:
    """Their first line, their instructions as facts, and what the real desk said."""
    hotel, chat, bank = customers_data.corpora(2)

    assert len(hotel.cases) == 2
    assert hotel.cases[0].question == TURNS[0]["content"]
    assert hotel.cases[0].facts.knows[0] == "人数は2名"
    assert [answer.text for answer in hotel.cases[0].recorded] == [
        TURNS[at]["content"] for at in (1, 3, 5, 7)
    ]
    assert hotel.real["asdc/0"] == tuple(TURNS[at]["content"] for at in (2, 4, 6))
    assert chat.real["mtrag-un/0"][-1] == "And then?"
    assert [case.question for case in bank.cases] == [
        "Hi, how do I stop a payment that is already on its way?"
    ]
    assert bank.cases[0].facts.knows == ("I have a Silver Card.", "I want to stop a payment.")


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
    assert "real customers accused of a fault" in shown
    assert "real or simulated (3-grams, AUROC)" in shown

    first = min(path for path in runs.iterdir())
    assert main(["--run", str(first)]) == 0
    assert "4 conversations" in capsys.readouterr().out


def a_column(real: str, simulated: str) -> Column:
    conversations = [
        a_talk(
            ("はじめまして。", "はい。"), (f"{simulated}{n}", "はい。"), case=a_case(id=f"c{n}"), id=f"t{n}"
        )
        for n in range(20)
    ]
    said = {f"c{n}": (f"{real}{n}",) for n in range(20)}
    return Column("x", "ja", a_run(*conversations), CustomerSummary(), said)


def test_lines_of_two_kinds_are_told_apart_and_of_one_kind_are_not() -> None:
    """An AUROC of 1 where they share nothing, about one half where they are the same."""
    apart, same = (
        told_apart(a_column("泊まりたいです", "いい加減にして")),
        told_apart(a_column("同じです", "同じです")),
    )

    assert apart == (1, 40)
    assert same[0] == pytest.approx(0.5, abs=0.15)
