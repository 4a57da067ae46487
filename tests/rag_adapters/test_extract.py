"""Answers in the passages' own sentences."""

import pytest

from rag_adapters.demo import Extract, build, extract, sentences
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


def test_sentences_of_japanese_markdown() -> None:
    """Headings go, bullets lose their marks, and each line is cut at its full stops."""
    assert sentences(TEXT) == [
        ["光の解約は、毎月20日までに申し込みます。", "「解約」を押すと完了です！", "よろしいですか？"],
        ["解約金は4,180円です。", "2年たつとかかりません。"],
        ["機器は返却します"],
        ["ONUを外します。"],
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


def test_the_sentence_that_says_most_of_the_question_and_the_next() -> None:
    """An answer goes on where its first sentence ended, within the same line."""
    assert found("解約金はいくらですか").sentences == ("解約金は4,180円です。", "2年たつとかかりません。")


def test_sentences_keep_the_order_of_the_material() -> None:
    """Two things asked for are answered in the order in which the passages have them."""
    answer = found("ホーム1ギガとマンション1ギガの月額")

    assert answer.sentences == ("マンション1ギガは月額4,180円です。", "ホーム1ギガは月額5,280円です。")


def test_at_most_three_sentences() -> None:
    """However much is asked, the answer stays short."""
    question = "解約 20日 解約金 4,180円 機器 返却 ONU マンション1ギガ ホーム1ギガ 月額"

    assert len(found(question).sentences) == 3


def test_coverage_tells_how_much_of_the_question_was_found() -> None:
    """All of it for a quotation, next to nothing for another subject."""
    assert found("解約金は4,180円です。").coverage > 0.9
    assert found("Where is the nearest station?").coverage < 0.05


@pytest.mark.parametrize("passages", [[], [Passage(id="1", text="# 見出しだけ")]])
def test_nothing_to_choose_from(passages: list[Passage]) -> None:
    """Without a sentence there is no answer."""
    assert extract("解約", passages, build(PASSAGES).weighed) == Extract((), 0.0)
