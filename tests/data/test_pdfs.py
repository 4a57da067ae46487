"""PDF files give the text that their writers meant."""

import io
from pathlib import Path

import pypdf
import pytest

from simulator.core.errors import CaseFileError
from simulator.data.office import pdf_document
from tests.paths import FIXTURES

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
