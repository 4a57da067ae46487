"""Documents become passages that are short enough, begin with their title and lose no word."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simulator.cases.chunks import MAX_LENGTH, chunks
from simulator.cases.documents import Document, text_document

LINES = st.lists(
    st.text(st.sampled_from("料金は。、 abc.#"), max_size=400) | st.just("## 見出し") | st.just(""),
    max_size=12,
)


def letters(text: str) -> str:
    """A text without blanks, which cutting may drop."""
    return re.sub(r"\s", "", text)


def test_long_document_is_cut_at_headings() -> None:
    """Sections stay whole while they fit, and each passage begins with the document's title."""
    text = "# 案内\n\n" + "\n\n".join(f"## 第{number}章\n\n{'これは説明です。' * 40}" for number in (1, 2, 3))

    first, second, third = chunks(text_document(text))

    assert first.startswith("# 案内\n\n## 第1章\n\n")
    assert second.startswith("案内\n## 第2章\n\n")
    assert third.startswith("案内\n## 第3章\n\n")


def test_long_paragraphs_are_cut_at_sentences() -> None:
    """A paragraph that is too long by itself is cut after sentences; its heading stays with its beginning."""
    text = "# 規約\n\n## 解約\n\n" + "解約は毎月20日までにお申し込みください。" * 60

    pieces = list(chunks(text_document(text)))

    assert pieces[0].startswith("# 規約\n\n## 解約\n\n解約は")
    assert all(piece.endswith("ください。") for piece in pieces)
    # What has no boundary is cut wherever it must be.
    assert [len(piece) for piece in chunks(Document("", "x" * 3000))] == [1199, 1199, 602]


@given(lines=LINES, title=st.sampled_from(["", "ご案内", "t" * 300]))
def test_nothing_is_lost_and_nothing_is_too_long(lines: list[str], title: str) -> None:
    """Without the repeated title the passages are the text; only a kept heading may exceed the limit."""
    text = "\n".join(lines).strip()
    pieces = list(chunks(Document(title, text)))
    shown = title[:100]

    bare = [piece.removeprefix(f"{shown}\n") if len(pieces) > 1 and shown else piece for piece in pieces]

    assert letters("".join(bare)) == letters(text)
    assert all(len(piece) <= MAX_LENGTH["en"] + text.count("##") * 10 for piece in pieces)


@pytest.mark.parametrize(
    ("text", "title", "body"),
    [
        ("# 料金 #\n本文", "料金", "# 料金 #\n本文"),
        ('---\ntitle: "料金"\nlang: ja\n---\n本文', "料金", "本文"),
        ("料金のご案内\n\n本文です。", "料金のご案内", "料金のご案内\n\n本文です。"),
        ("一行だけ", "", "一行だけ"),
        ("---\n区切り線の下", "---", "---\n区切り線の下"),
    ],
)
def test_titles(text: str, title: str, body: str) -> None:
    """A title comes from front matter, the first heading or a short first line."""
    assert text_document(text) == Document(title, body)
