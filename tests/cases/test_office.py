"""Word, PowerPoint and PDF files give the text that a reader sees, in its order."""

import io
from pathlib import Path

import docx
import pptx
import pypdf
import pytest
from docx.oxml import parse_xml
from docx.oxml.ns import nsdecls
from pptx.util import Cm

from simulator.cases.documents import Document
from simulator.cases.office import pdf_document, presentation_document, word_document
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


# Two kanji fonts, a picture, one page: made with reportlab's HeiseiMin-W3, which is not embedded.
GUIDE = FIXTURES / "guide.pdf"


def drawn(path: Path, *pages: list[str]) -> Path:
    """A new PDF with these lines in a Japanese font that is not embedded."""
    kids = " ".join(f"{5 + 2 * number} 0 R" for number in range(len(pages)))
    objects = [
        b"<</Type/Catalog/Pages 2 0 R>>",
        f"<</Type/Pages/Count {len(pages)}/Kids[{kids}]>>".encode(),
        b"<</Type/Font/Subtype/Type0/BaseFont/HeiseiMin-W3/Encoding/UniJIS-UTF16-H/DescendantFonts[4 0 R]>>",
        b"<</Type/Font/Subtype/CIDFontType0/BaseFont/HeiseiMin-W3/DW 1000"
        b"/CIDSystemInfo<</Registry(Adobe)/Ordering(Japan1)/Supplement 6>>>>",
    ]
    for number, lines in enumerate(pages):
        shown = "".join(f"<{line.encode('utf-16-be').hex()}> Tj 0 -16 Td " for line in lines)
        text = f"BT /F 11 Tf 50 800 Td {shown}ET".encode()
        page = f"<</Type/Page/Parent 2 0 R/Contents {6 + 2 * number} 0 R/Resources<</Font<</F 3 0 R>>>>>>"
        objects += [page.encode(), b"<</Length %d>>stream\n%s\nendstream" % (len(text), text)]
    data = io.BytesIO(b"%PDF-1.7\n")
    data.seek(0, io.SEEK_END)
    places = []
    for number, written in enumerate(objects, 1):
        places.append(data.tell())
        data.write(b"%d 0 obj\n%s\nendobj\n" % (number, written))
    start = data.tell()
    data.write(b"xref\n0 %d\n0000000000 65535 f \n" % (len(objects) + 1))
    data.write(b"".join(b"%010d 00000 n \n" % place for place in places))
    data.write(b"trailer<</Size %d/Root 1 0 R>>\nstartxref\n%d\n%%%%EOF" % (len(objects) + 1, start))
    path.write_bytes(data.getvalue())
    return path


def test_a_japanese_guide() -> None:
    """①, ㈱ and 髙 are read; a sentence that the margin broke is whole again, list lines stay apart."""
    whole = pdf_document(GUIDE)

    assert whole.title == "解約の手引き"
    assert whole.text.startswith("解約の手引き\n解約は毎月20日までにお申し込みいただくと、")
    assert "①契約者ご本人からのお申し込みに限ります。㈱ミズナラの髙橋が承ります。\n" in whole.text
    assert "\n・違約金は9,500円～です。\n・撤去工事費は無料です。\n" in whole.text
    assert "without any further charge for as long" in whole.text


def test_lines_that_the_margin_did_not_break(tmp_path: Path) -> None:
    """Short lines, ends of sentences and list marks keep their line breaks."""
    lines = [
        "長い一行目は紙の右の端まで続いています。",
        "次の文は新しい行に書かれて右の端まで続",
        "きました。",
        "・料金",
        "金額",
    ]

    assert pdf_document(drawn(tmp_path / "a.pdf", lines)).text.split("\n") == [
        lines[0],
        lines[1] + lines[2],
        *lines[3:],
    ]


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


@pytest.mark.parametrize("data", [b"", b"%PDF-1.7\n", b"not a PDF", GUIDE.read_bytes()[:1500]])
def test_broken_files(tmp_path: Path, data: bytes) -> None:
    """What is no whole PDF is one line."""
    path = tmp_path / "a.pdf"
    path.write_bytes(data)

    with pytest.raises(
        CaseFileError, match=r"a\.pdf: not a readable PDF file \(.*\); save it again"
    ) as caught:
        pdf_document(path)
    assert str(caught.value).isprintable()
