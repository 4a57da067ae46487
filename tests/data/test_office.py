"""Word and PowerPoint files are read in the order and with the marks that a reader sees."""

from pathlib import Path

import docx
import pptx
import pytest
from docx.oxml import parse_xml
from docx.oxml.ns import nsdecls
from pptx.util import Cm

from simulator.core.errors import CaseFileError
from simulator.data.documents import Document
from simulator.data.office import presentation_document, word_document

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
    """Headings, lists and tables come in their order; line breaks within a paragraph stay."""
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
        "# 解約の手引き\n\n## 手続き\n\n毎月20日までに\nお申し込みください。\n\n- 本人確認書類\n\n"
        "プラン | 月額\n1ギガ | 4,180円\n\n以上です。"
    )
    assert word_document(tmp_path / "a.docx") == Document("解約の手引き", text)


@pytest.mark.parametrize(
    ("run", "text"),
    [
        (f"<w:ins {W}><w:r><w:t>挿入</w:t></w:r></w:ins>", "挿入"),
        (f"<w:del {W}><w:r><w:delText>削除</w:delText></w:r></w:del>", ""),
        (f"<w:moveFrom {W}><w:r><w:t>移動前</w:t></w:r></w:moveFrom>", ""),
        (
            f"<w:r {W}><w:ruby><w:rt><w:r><w:t>かんじ</w:t></w:r></w:rt>"
            "<w:rubyBase><w:r><w:t>漢字</w:t></w:r></w:rubyBase></w:ruby></w:r>",
            "漢字",
        ),
        (f"<w:hyperlink {W}><w:r><w:t>リンク</w:t></w:r></w:hyperlink>", "リンク"),
        (f"<w:sdt {W}><w:sdtContent><w:r><w:t>入力欄</w:t></w:r></w:sdtContent></w:sdt>", "入力欄"),
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


def test_slides(tmp_path: Path) -> None:
    """Each slide gives its title as a heading, then its text, tables, groups and notes."""
    whole = pptx.Presentation()
    slide = whole.slides.add_slide(whole.slide_layouts[1])
    title, body = slide.shapes.title, slide.placeholders[1]
    assert title is not None
    title.text = "料金の\nご案内"
    body.text_frame.text = "月額4,180円\n工事費は無料"
    table = slide.shapes.add_table(2, 2, 0, 0, Cm(5), Cm(2)).table
    for place, text in enumerate("ABCD"):
        table.cell(place // 2, place % 2).text = text
    group = slide.shapes.add_group_shape()
    group.shapes.add_textbox(0, 0, Cm(2), Cm(2)).text_frame.text = "枠の中"
    notes = slide.notes_slide.notes_text_frame
    assert notes is not None
    notes.text = "値上げは来年です。"
    untitled = whole.slides.add_slide(whole.slide_layouts[6])
    untitled.shapes.add_textbox(0, 0, Cm(2), Cm(2)).text_frame.text = "題名なし"
    whole.save(str(tmp_path / "a.pptx"))

    assert presentation_document(tmp_path / "a.pptx") == Document(
        "料金の ご案内",
        "## 料金の ご案内\n\n月額4,180円\n\n工事費は無料\n\nA | B\nC | D\n\n枠の中\n\n"
        "値上げは来年です。\n\n題名なし",
    )


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "the file is empty"),
        (b"PK\x03\x04", "an incomplete Word file; save it again from Word"),
        (b"\xd0\xcf\x11\xe0" + "EncryptedPackage".encode("utf-16-le"), "protected with a password"),
    ],
)
def test_what_is_no_word_file(tmp_path: Path, data: bytes, message: str) -> None:
    """Broken and protected files are one line."""
    (tmp_path / "a.docx").write_bytes(data)

    with pytest.raises(CaseFileError, match=message):
        word_document(tmp_path / "a.docx")
