"""Word and PDF files give the text that a reader sees, in its order."""

from pathlib import Path

import docx
import pypdf
import pytest
from docx.oxml import parse_xml
from docx.oxml.ns import nsdecls

from simulator.cases.documents import Document
from simulator.cases.office import pdf_document, word_document
from simulator.core.errors import CaseFileError
from tests.paths import FIXTURES

W = nsdecls("w")


def written(folder: Path, *blocks: tuple[str, str] | str) -> Path:
    """A Word file of paragraphs, each with its style, or as XML within a paragraph."""
    whole = docx.Document()
    for block in blocks:
        if isinstance(block, str):
            whole.add_paragraph()._p.append(parse_xml(block))
        else:
            whole.add_paragraph(block[1], style=block[0])
    whole.save(str(folder / "a.docx"))
    return folder / "a.docx"


def test_word(tmp_path: Path) -> None:
    """Headings and tables come in their order; line breaks within a paragraph stay."""
    whole = docx.Document()
    whole.add_heading("解約の手引き", 0)
    whole.add_heading("手続き", 2)
    whole.add_paragraph("毎月20日までに\nお申し込みください。")
    whole.add_paragraph("本人確認書類", style="List Bullet")
    table = whole.add_table(2, 2)
    for cell, text in zip(table._cells, ["プラン", "月額", "1ギガ", "4,180円"], strict=True):
        cell.text = text
    whole.add_paragraph("以上です。")
    whole.save(str(tmp_path / "a.docx"))

    text = (
        "# 解約の手引き\n\n## 手続き\n\n毎月20日までに\nお申し込みください。\n\n本人確認書類\n\n"
        "プラン | 月額\n1ギガ | 4,180円\n\n以上です。"
    )
    assert word_document(tmp_path / "a.docx") == Document("解約の手引き", text)


@pytest.mark.parametrize(
    ("run", "text"),
    [
        (f"<w:ins {W}><w:r><w:t>挿入</w:t></w:r></w:ins>", "挿入"),
        (f"<w:del {W}><w:r><w:delText>削除</w:delText></w:r></w:del>", ""),
        (
            f"<w:r {W}><w:ruby><w:rt><w:r><w:t>かんじ</w:t></w:r></w:rt>"
            "<w:rubyBase><w:r><w:t>漢字</w:t></w:r></w:rubyBase></w:ruby></w:r>",
            "漢字",
        ),
        (f"<w:r {W}><w:instrText>PAGE</w:instrText><w:t>a</w:t><w:tab/><w:t>b</w:t></w:r>", "a\tb"),
        (
            f"<w:r {W}><w:pict><w:txbxContent><w:p><w:r><w:t>枠</w:t></w:r></w:p></w:txbxContent></w:pict>"
            "<w:t>本文</w:t></w:r>",
            "本文\n\n枠",
        ),
    ],
)
def test_what_a_reader_of_word_sees(tmp_path: Path, run: str, text: str) -> None:
    """Insertions, links, form fields and text boxes are read; deletions, ruby and field codes are not."""
    assert word_document(written(tmp_path, run)).text == text


# Two kanji fonts, a picture, one page: made with reportlab's HeiseiMin-W3, which is not embedded.
GUIDE = FIXTURES / "guide.pdf"


def test_a_japanese_guide() -> None:
    """①, ㈱ and 髙 are read; a sentence that the margin broke is whole again, list lines stay apart."""
    whole = pdf_document(GUIDE)

    assert whole.title == "解約の手引き"
    assert "①契約者ご本人からのお申し込みに限ります。㈱ミズナラの髙橋が承ります。\n" in whole.text
    assert "\n・違約金は9,500円～です。\n・撤去工事費は無料です。\n" in whole.text
    assert "without any further charge for as long" in whole.text


def locked(folder: Path, password: str, owner: str) -> Path:
    """The guide, encrypted."""
    writer = pypdf.PdfWriter(clone_from=GUIDE)
    writer.encrypt(password, owner, algorithm="AES-256")
    writer.write(folder / "locked.pdf")
    return folder / "locked.pdf"


def test_passwords(tmp_path: Path) -> None:
    """A PDF that anybody may open is read although it is encrypted; a protected one is one line."""
    assert pdf_document(locked(tmp_path, "", "owner")).title == "解約の手引き"
    with pytest.raises(CaseFileError, match=r"locked\.pdf: protected with a password; save it without one"):
        pdf_document(locked(tmp_path, "secret", "owner"))


@pytest.mark.parametrize("data", [b"not a PDF", GUIDE.read_bytes()[:1500]])
def test_broken_files(tmp_path: Path, data: bytes) -> None:
    """What is no whole PDF is one line."""
    path = tmp_path / "a.pdf"
    path.write_bytes(data)

    with pytest.raises(
        CaseFileError, match=r"a\.pdf: not a readable PDF file \(.*\); export it again"
    ) as caught:
        pdf_document(path)
    assert str(caught.value).isprintable()
