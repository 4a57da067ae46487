"""A knowledge base is read as passages with ids that question files can name."""

import gzip
import json
import shutil
from pathlib import Path
from typing import Any

import docx
import openpyxl
import pypdf
import pytest

from simulator.cases.chunks import MAX_LENGTH
from simulator.cases.knowledge import read_knowledge, unread_files
from simulator.core.errors import InputError
from tests.case_files import as_workbook
from tests.paths import FIXTURES

GUIDE = FIXTURES / "guide.pdf"


def grown(folder: Path, **files: str) -> Path:
    """A folder with these files; `__` in a name stands for a subfolder, `_` for the dot of the suffix."""
    for name, text in files.items():
        path = folder / name.replace("__", "/").replace("_", ".")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return folder


def test_folder(tmp_path: Path) -> None:
    """Files of all kinds are read in the order of their paths; hidden ones are passed over in silence."""
    grown(
        tmp_path,
        b_md="# B",
        a__z_txt="Z",
        a__c_html="<p>C</p>",
        c_csv="タイトル,本文\n見出し,D\n",
        _hidden_md="no",
        d_jsonl='{"id": "row-1", "title": null, "text": "E"}',
    )
    grown(tmp_path / ".git", e_md="no")

    passages = list(read_knowledge(tmp_path))

    assert [(p.id, p.text, p.source) for p in passages] == [
        ("a/c", "C", "a/c.html"),
        ("a/z", "Z", "a/z.txt"),
        ("b", "# B", "b.md"),
        ("c#1", "D", "見出し"),
        ("row-1", "E", "d.jsonl"),
    ]
    assert unread_files(tmp_path) == ()


def test_skipped_files_are_named(tmp_path: Path) -> None:
    """Files of other kinds and empty ones are skipped and can be named in a note."""
    grown(tmp_path, a_md="A", b__c_doc="old", d_md="", e="no suffix")

    assert [passage.id for passage in read_knowledge(tmp_path)] == ["a"]
    assert unread_files(tmp_path) == ("b/c.doc", "d.md", "e")


def test_office_documents(tmp_path: Path) -> None:
    """PDF and Word files are passages like any text."""
    shutil.copy(GUIDE, tmp_path / "guide.pdf")
    word = docx.Document()
    word.add_heading("料金", 1)
    word.add_paragraph("月額4,180円です。" * 200)
    word.save(str(tmp_path / "plans.docx"))

    passages = list(read_knowledge(tmp_path))

    assert [(p.id, p.source) for p in passages if not p.id.startswith("plans#")] == [
        ("guide", "guide.pdf"),
        ("plans", "plans.docx"),
    ]
    assert all(p.text.startswith(("# 料金", "料金\n")) for p in passages if p.source == "plans.docx")
    assert max(len(p.text) for p in passages) <= MAX_LENGTH["ja"]
    assert unread_files(tmp_path) == ()


def test_worksheets(tmp_path: Path) -> None:
    """A worksheet with a column of texts is rows without hidden ones, another is a text."""
    faq: list[list[Any]] = [
        ["よくある質問"],
        [],
        ["番号", "質問", "回答"],
        ["001", "解約は?", "20日まで"],
        [2, "料金は?", "4,180円"],
    ]
    prices: list[list[Any]] = [["プラン", "月額"], ["1ギガ", 4180]]
    path = as_workbook(tmp_path / "kb.xlsx", {"FAQ": faq, "料金表": prices, "空": []}, B2='#,##0"円"')

    assert [(p.id, p.text, p.source) for p in read_knowledge(path)] == [
        ("001", "解約は?\n20日まで", "kb.xlsx"),
        ("2", "料金は?\n4,180円", "kb.xlsx"),
        ("kb/料金表", "# 料金表\n\nプラン | 月額\n1ギガ | 4,180円", "kb.xlsx#料金表"),
    ]
    as_workbook(path, {"FAQ": [["本文"], ["a"], ["old"], ["b"]]})
    book = openpyxl.load_workbook(path)
    book.worksheets[0].row_dimensions[3].hidden = True
    book.save(path)
    assert [(p.id, p.text) for p in read_knowledge(path)] == [("kb#1", "a"), ("kb#2", "b")]


def test_scanned_pages(tmp_path: Path) -> None:
    """A document of pictures alone is named, beside others that are read, too."""
    writer = pypdf.PdfWriter(clone_from=GUIDE)
    writer.remove_text()
    writer.write(tmp_path / "scan.pdf")

    with pytest.raises(
        InputError, match=r"no text in it \(scan\.pdf: no text in it, perhaps a scan\); articles can be"
    ):
        list(read_knowledge(tmp_path / "scan.pdf"))
    (tmp_path / "plans.md").write_text("# Plans", encoding="utf-8")
    assert list(map(str, unread_files(tmp_path))) == ["scan.pdf: no text in it, perhaps a scan"]


def test_gzipped_rows_keep_their_ids(tmp_path: Path) -> None:
    """A gzipped corpus runs as it is: ids and texts unchanged, the title is the source."""
    row = {"id": "doc_(general)_001", "dataset": "x", "title": "口座", "text": "長い" * 2000, "type": "faq"}
    (tmp_path / "corpus.jsonl.gz").write_bytes(gzip.compress(json.dumps(row).encode()))

    (passage,) = read_knowledge(tmp_path)

    assert (passage.id, passage.text, passage.source) == ("doc_(general)_001", "長い" * 2000, "口座")


def test_articles_of_a_helpdesk(tmp_path: Path) -> None:
    """A page of its interface holds them, each in HTML; a line break in Markdown makes no HTML."""
    html = {"id": 1, "title": "料金", "body": "<h1>料金</h1><p>月額&amp;税</p>"}
    page = {"count": 2, "articles": [html, {"id": 2, "body": "a\n\nb<br>c"}]}
    (tmp_path / "page.json").write_text(json.dumps(page), encoding="utf-8")

    texts = {passage.id: passage.text for passage in read_knowledge(tmp_path)}
    assert texts == {"1": "# 料金\n\n月額&税", "2": "a\n\nb<br>c"}
    (tmp_path / "page.json").write_text(
        '{"data": [{"content": "料金は?", "answer": "5円"}]}', encoding="utf-8"
    )
    assert [passage.text for passage in read_knowledge(tmp_path)] == ["料金は?\n5円"]


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("a.doc", "x", "no readable files; articles can be Markdown"),
        ("a.jsonl", '{"title": "x", "answer": {"a": 1}}', "a.jsonl, line 1: column 'answer' holds no text"),
        ("a.pdf", "%PDF", "not a readable PDF file"),
        ("a.docx", "x", "not a file of Word"),
        ("b.docx", "PK", "an incomplete Word file"),
        ("a.xlsx", "x", "not a file of Excel"),
        ("a.md", " \n", "no text in it"),
        (
            "a.csv",
            "見出し\nx\n",
            "a.csv, line 2: no text column. Found: '見出し'. Name one of them: text, 本文",
        ),
        ("a.jsonl", '{"text": ["x"]}', "a.jsonl, line 1: column 'text' holds no text"),
        (
            "a.jsonl",
            '{"id": 1, "text": "x"}\n{"id": 1, "text": "y"}',
            "the article id '1' is already in a.jsonl",
        ),
    ],
)
def test_mistakes(tmp_path: Path, name: str, text: str, message: str) -> None:
    """What cannot be a knowledge base is one line that names the file."""
    (tmp_path / name).write_text(text, encoding="utf-8")

    with pytest.raises(InputError) as caught:
        list(read_knowledge(tmp_path))

    assert message in str(caught.value)
    assert str(tmp_path) in str(caught.value)


def test_links_are_no_trap(tmp_path: Path) -> None:
    """A link into the void is skipped, and a folder that links to itself is not walked for ever."""
    grown(tmp_path, a_md="A")
    (tmp_path / "b.md").symlink_to(tmp_path / "gone.md")
    (tmp_path / "loop").symlink_to(tmp_path)

    assert [passage.id for passage in read_knowledge(tmp_path)] == ["a"]
    assert unread_files(tmp_path) == ("b.md",)
    with pytest.raises(InputError, match="no such file or folder; check the path of the articles"):
        read_knowledge(tmp_path / "gone")
