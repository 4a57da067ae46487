"""A knowledge base as passages: a file or a folder of texts, web pages, tables and office documents."""

import os
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path

from pydantic import JsonValue

from simulator.core.errors import InputError
from simulator.core.types import Passage
from simulator.data.documents import (
    Document,
    chunks,
    document,
    pdf_document,
    pdf_pictures,
    presentation,
    presentation_pictures,
    web_page,
    word_document,
    word_pictures,
)
from simulator.data.files import plain_suffix, read_text, shown, workbook_pictures
from simulator.data.readers import WORKBOOKS, read_rows
from simulator.data.values import Row, fault, is_empty, normalised

_DOCUMENTS: Mapping[str, Callable[[str], Document]] = {
    **dict.fromkeys((".md", ".markdown", ".mdx", ".txt", ".text", ".rst"), document),
    **dict.fromkeys((".html", ".htm", ".xhtml"), web_page),
}
_FOREIGN: Mapping[str, Callable[[Path], Document]] = {
    ".docx": word_document,
    ".pptx": presentation,
    ".pdf": pdf_document,
}
_PICTURES: Mapping[str, Callable[[Path], int]] = {
    ".docx": word_pictures,
    ".pptx": presentation_pictures,
    ".pdf": pdf_pictures,
    **dict.fromkeys(WORKBOOKS, workbook_pictures),
}
_ROWS = frozenset({".csv", ".tsv", ".jsonl", ".ndjson", ".json"})
_READABLE = frozenset(_DOCUMENTS) | frozenset(_FOREIGN) | WORKBOOKS | _ROWS
KINDS = "Markdown, text, HTML, CSV, JSONL, Excel, Word, PowerPoint or PDF, each also as .gz"

# What holds a row's text, its title and its id; the earliest that is not empty counts.
_TEXT = ("text", "本文", "content", "contents", "body", "page_content", "passage", "内容", "文章", "説明")
_REPLY = ("answer", "回答", "応答", "回答文")
_ASKED = ("question", "質問", "質問文", "問い合わせ")
_TITLE = ("title", "タイトル", "題名", "件名", "見出し", "name")
_ORIGIN = ("source", "url", "出典")
_ID = ("id", "passage_id", "doc_id", "document_id", "番号", "文書ID", "no")


def read_knowledge(path: str | Path) -> Iterator[Passage]:
    """The passages of a file or of a folder with all below it, sorted by path, read as they are used.

    A document's passages are called by its path without suffix (`ja/01-plans`, then `ja/01-plans#2`);
    a row keeps its own id. Where an Excel file has several worksheets, each is called like a file in
    a folder. Hidden files and files of other kinds (see `unread`) are skipped.
    """
    root = Path(path)
    files = [file for file in _files(root) if _is_readable(file)]
    if not files:
        msg = f"{root}: nothing readable in it; knowledge is {KINDS}."
        raise InputError(msg)
    return _distinct(root, files)


def unread(path: str | Path) -> tuple[str, ...]:
    """What of a knowledge base is not read: files of other kinds, empty files, and pictures in documents.

    A file is named alone, or with how many pictures it holds: `guide.pdf: 2 pictures inside`.
    """
    root = Path(path)
    return tuple(_relative(root, file) + note for file in _files(root) if (note := _unread(file)) is not None)


def _unread(file: Path) -> str | None:
    if not _is_readable(file):
        return ""
    count = _PICTURES.get(plain_suffix(file))
    pictures = count(file) if count else 0
    return f": {pictures} picture{'s' * (pictures > 1)} inside" if pictures else None


def _files(root: Path) -> list[Path]:
    try:
        if not root.is_dir():
            root.stat()
            return [root]
        return sorted(_below(root), key=lambda file: file.relative_to(root).parts)
    except FileNotFoundError:
        msg = f"{root}: no such file or folder; check the path of the knowledge base."
        raise InputError(msg) from None
    except OSError as error:
        msg = f"{error.filename or root}: cannot be read ({error.strerror})."
        raise InputError(msg) from None


def _below(root: Path) -> Iterator[Path]:
    for folder, subfolders, names in os.walk(root, onerror=_stop):
        subfolders[:] = [name for name in subfolders if not _is_hidden(name)]
        yield from (Path(folder, name) for name in names if not _is_hidden(name))


def _stop(error: OSError) -> None:
    """A folder without permission is an error: os.walk alone would pass over it in silence."""
    raise error


def _is_hidden(name: str) -> bool:
    """Dot files, and what Office and macOS leave beside documents."""
    return name.startswith((".", "~$", "__MACOSX"))


def _is_readable(file: Path) -> bool:
    suffix = plain_suffix(file)
    return suffix in _READABLE and file.is_file() and file.stat().st_size > 0


def _relative(root: Path, file: Path) -> str:
    """The path below the root; composed, because macOS stores が as か and a mark, and people type ids."""
    inside = file.relative_to(root if root.is_dir() else root.parent)
    return unicodedata.normalize("NFC", inside.as_posix())


def _distinct(root: Path, files: Iterable[Path]) -> Iterator[Passage]:
    places: dict[str, str] = {}
    names: set[str] = set()
    for file in files:
        place = _relative(root, file)
        for passage in _passages(file, place, _name(place, names)):
            if passage.id in places:
                msg = (
                    f"{file}: the passage id {shown(passage.id)} is already in {places[passage.id]};"
                    " ids must differ within a knowledge base."
                )
                raise InputError(msg)
            places[passage.id] = place
            yield passage
    if not places:
        inside = f" ({'; '.join(notes[:3])})" if (notes := unread(root)) else ""
        msg = f"{root}: no text in it{inside}; knowledge is {KINDS}."
        raise InputError(msg)


def _name(place: str, names: set[str]) -> str:
    """The path without suffix; with it when `a.md` stands beside `a.html`."""
    plain = place[:-3] if place.lower().endswith(".gz") else place
    stem = plain.removesuffix(Path(plain).suffix)
    name = place if stem in names else stem
    names.add(name)
    return name


def _passages(file: Path, place: str, name: str) -> Iterator[Passage]:
    suffix = plain_suffix(file)
    if suffix in _ROWS:
        yield from _from_rows(file, read_rows(file, _has_text), place, name)
    elif suffix in WORKBOOKS:
        yield from _from_workbook(file, place, name)
    elif suffix in _FOREIGN:
        yield from _from_document(_FOREIGN[suffix](file), place, name)
    else:
        yield from _from_document(_DOCUMENTS[suffix](read_text(file, may_be_empty=True)), place, name)


def _from_document(whole: Document, place: str, name: str) -> Iterator[Passage]:
    for number, text in enumerate(chunks(whole), 1):
        yield Passage(id=name if number == 1 else f"{name}#{number}", text=text, source=place)


def _from_workbook(file: Path, place: str, name: str) -> Iterator[Passage]:
    """The rows of worksheets that have a column of texts; another worksheet is one text."""
    # Loaded here: a knowledge base without Excel files starts without their reader.
    from simulator.data.workbooks import column_row, read_workbook, worksheet_rows, worksheet_text

    sheets = [sheet for sheet in read_workbook(file) if sheet.lines]
    several = len(sheets) > 1
    for sheet in sheets:
        inside = f"{name}/{sheet.name}" if several else name
        if column_row(sheet, _has_text) is None:
            whole = Document(sheet.name, worksheet_text(sheet))
            yield from _from_document(whole, f"{place}#{sheet.name}" if several else place, inside)
        else:
            rows = worksheet_rows(file, sheet, _has_text, named=several)
            yield from _from_rows(file, rows, place, inside)


def _from_rows(file: Path, rows: Iterable[Row], place: str, name: str) -> Iterator[Passage]:
    for number, row in enumerate(rows, 1):
        if not _has_text(row.values):
            raise _no_text(file, row)
        columns = {normalised(column): value for column, value in row.values.items()}
        if text := _row_text(file, row, columns):
            source = _first(columns, _TITLE) or _first(columns, _ORIGIN) or place
            yield Passage(id=_first(columns, _ID) or f"{name}#{number}", text=text, source=source)


def _has_text(headers: Iterable[str]) -> bool:
    wanted = {*map(normalised, (*_TEXT, *_REPLY))}
    return any(normalised(header) in wanted for header in headers)


def _no_text(file: Path, row: Row) -> InputError:
    there = ", ".join(map(shown, list(row.values)[:20]))
    return fault(file, row, f"no text column. Found: {there}. Name one of them: {', '.join(_TEXT + _REPLY)}.")


def _row_text(file: Path, row: Row, columns: Mapping[str, JsonValue]) -> str:
    """The text of a row; of a list of questions and answers, both."""
    text = _first(columns, _TEXT)
    if not text and (reply := _first(columns, _REPLY)):
        text = "\n".join(filter(None, [_first(columns, _ASKED), reply]))
    if not text and (
        odd := [name for name in (*_TEXT, *_REPLY) if not is_empty(columns.get(normalised(name)))]
    ):
        raise fault(file, row, f"column '{odd[0]}' holds no text.")
    return text


def _first(columns: Mapping[str, JsonValue], names: Iterable[str]) -> str:
    for name in map(normalised, names):
        value = columns.get(name)
        if not is_empty(value) and isinstance(value, (str, int, float)):
            return str(value).strip()
    return ""
