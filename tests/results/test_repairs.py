"""`diff` over bots that were repaired, and over bots that were broken."""

import csv
import io
import json
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

import pytest

from simulator.cli.app import main

BOT = '''
import json
from pathlib import Path

from simulator import Passage

TOPICS = json.loads(Path(__file__).with_name("topics.json").read_text(encoding="utf-8"))


def connect(*, faults: str = ""):
    """A desk that knows its articles; each fault spoils some of its answers."""
    return lambda query: answer(query.text, faults.split("+"))


def answer(asked, faults):
    at = next((n for n, (question, _) in enumerate(TOPICS["known"]) if question == asked), None)
    if at is None:
        return invented(asked) if "inventing" in faults else TOPICS["refusal"]
    text = TOPICS["known"][at][1]
    if at < 7:
        if "missing" in faults:
            return invented(asked) if "inventing" in faults else TOPICS["refusal"]
        if "strict" in faults:
            return TOPICS["refusal"], [Passage(id=str(at), text=text)]
        if "silent" in faults:
            raise RuntimeError("503")
        if "wrong" in faults:
            return text.replace("00", "77"), [Passage(id=str(at), text=text)]
        if "wordy" in faults:
            return text + TOPICS["talk"], [Passage(id=str(at), text=text)]
    return text, [Passage(id=str(at), text=text)]


def invented(asked):
    return asked.rstrip("かはを、。?？") + "ます。費用は500円です。"
'''
TOPICS: dict[str, Any] = {
    "refusal": "申し訳ございません。手元の資料では確認できませんでした。"
    "窓口 0120-000-845 へお問い合わせください。",
    "talk": "なお、当店は1998年に駅前で開店し、店長は猫を3匹飼っています。夏には屋台を出します。",
    "known": [
        ["全国の送料はいくらですか", "全国の送料は一律600円です。"],
        ["名入れはいくらですか", "名入れは1本300円です。"],
        ["万年筆の修理代はいくらですか", "万年筆の修理代は1本2,500円です。"],
        ["ラッピングはいくらですか", "ラッピングは1点200円です。"],
        ["代引きの手数料はいくらですか", "代引きの手数料は400円です。"],
        ["インクの詰め替えはいくらですか", "インクの詰め替えは1回700円です。"],
        ["請求書の再発行はいくらですか", "請求書の再発行は1通100円です。"],
        ["沖縄への配送は何日かかりますか", "沖縄への配送は5日かかります。"],
        ["返品は何日以内ですか", "返品は到着から14日以内です。"],
        ["ポイントの期限はいつですか", "ポイントの期限は最後の購入から1年です。"],
    ],
    "unknown": [
        "駐車場は何台ありますか", "英会話の教室はありますか", "店長の趣味は何ですか",
        "猫を連れて入れますか",
        "株主優待はありますか", "アルバイトは募集していますか",
        "結婚式の招待状は作れますか", "海外の店はどこですか",
    ],
}  # fmt: skip
REPAIRS = [
    ("inventing", ""), ("missing", ""), ("strict", ""), ("wrong", ""), ("silent", ""), ("wordy", ""),
    ("inventing+missing", "missing"), ("inventing+missing", "inventing"),
]  # fmt: skip
BREAKAGES = ["inventing", "missing", "strict", "wrong", "silent"]


class Shop:
    """Rehearsals of the desk with its faults, and what `diff` says of two of them."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        (folder / "bot.py").write_text(BOT, encoding="utf-8")
        (folder / "topics.json").write_text(json.dumps(TOPICS), encoding="utf-8")
        found = [[f"known-{at}", *both, "yes"] for at, both in enumerate(TOPICS["known"], 1)]
        found += [[f"unknown-{at}", question, "", "no"] for at, question in enumerate(TOPICS["unknown"], 1)]
        with (folder / "cases.csv").open("w", encoding="utf-8", newline="") as file:
            csv.writer(file).writerows([["id", "question", "reference", "answerable"], *found])

        self.runs: dict[str, str] = {}

    def rehearsed(self, faults: str) -> str:
        """The run of the desk with these faults."""
        if faults not in self.runs:
            spoilt = ["--set", f"faults={faults}"] if faults else []
            bot = ["--adapter", f"{self.folder / 'bot.py'}:connect", *spoilt]
            asked = ["--cases", str(self.folder / "cases.csv"), "--language", "ja"]
            told, _ = self._said(["--offline", "--persona", "calm", "--turns", "1", *asked, *bot])
            self.runs[faults] = told["run"]
        return self.runs[faults]

    def compared(self, before: str, after: str) -> tuple[dict[str, Any], int]:
        """What `diff` says in JSON, and its exit code."""
        return self._said(["diff", self.rehearsed(before), self.rehearsed(after)])

    def _said(self, words: list[str]) -> tuple[dict[str, Any], int]:
        with redirect_stdout(io.StringIO()) as out:
            code = main([*words, "--runs", str(self.folder / "runs"), "--json"])
        return json.loads(out.getvalue()), code


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Shop:
    """The desk and its runs."""
    return Shop(tmp_path_factory.mktemp("shop"))


@pytest.mark.parametrize(("before", "after"), REPAIRS)
def test_a_repair_is_no_regression(shop: Shop, before: str, after: str) -> None:
    """Whatever other judges make of it: the score rose, and nothing turned red on balance."""
    told, code = shop.compared(before, after)

    assert (code, told["regression"]) == (0, False)
    assert told["after"]["score"] > told["before"]["score"]


@pytest.mark.parametrize("fault", BREAKAGES)
def test_a_breakage_is_a_regression(shop: Shop, fault: str) -> None:
    """An article that is gone, too strict a prompt, wrong amounts: exit code 1."""
    told, code = shop.compared("", fault)

    assert (code, told["regression"]) == (1, True)
