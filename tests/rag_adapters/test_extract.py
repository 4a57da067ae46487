"""Answers in the passages' own sentences."""

import pytest
from simulator.shelves.rag_adapters.demo import Extract, build, extract, sentences

from simulator import Passage

TEXT = """# 解約の手続き

光の解約は、毎月20日までに申し込みます。「解約」を押すと完了です！よろしいですか？

- 解約金は4,180円です。2年たつとかかりません。
* 機器は返却します
1. ONUを外します。
"""
PASSAGES = [
    Passage(id="cancel", text=TEXT),
    Passage(
        id="fees", text="料金の案内です。\n\nマンション1ギガは月額4,180円です。ホーム1ギガは月額5,280円です。"
    ),
]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("It costs 4.5 yen. Ask us!", ["It costs 4.5 yen.", "Ask us!"]),
        ('Press "Cancel". "Really?" it asks. Yes.', ['Press "Cancel".', '"Really?" it asks.', "Yes."]),
        ("「はい。」と答えます。次へ。", ["「はい。」と答えます。", "次へ。"]),
        ("e.g. this one", ["e.g. this one"]),
        ("", []),
    ],
)
def test_sentences_end_where_people_end_them(text: str, expected: list[str]) -> None:
    """Decimals, quotations and abbreviations are no ends."""
    assert [sentence for line in sentences(text) for sentence in line] == expected


def found(question: str, top: int = 2) -> Extract:
    """What is answered from the two passages."""
    index = build(PASSAGES)
    return extract(question, index.search(question, top), index.weighed)
