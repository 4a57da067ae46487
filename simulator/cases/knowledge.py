"""Reads a knowledge base into passages: a file or a folder of texts, web pages, tables and documents.

A document too long for one passage is cut at headings first, then paragraphs, lines, sentences, words.

    kb/ja/01-plans.md (short)      -> passage "ja/01-plans"
    kb/ja/02-fees.md (long)        -> "ja/02-fees", "ja/02-fees#2" ..., each beginning with the title
    kb/faq.csv with a column id    -> one passage a row, by its own id
    kb/faq.csv without             -> "faq#1", "faq#2" ...
    kb/prices.xlsx                 -> rows where a worksheet has a column of texts, else one document each

Ids are what questions name in their column `passages`, so they must not depend on the machine: files are
sorted by path, names are in NFC (macOS splits が), and two passages of one id are an error.
"""

import os
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path

from simulator.cases.chunks import chunks
from simulator.cases.documents import Document, text_document
from simulator.cases.files import MAX_TEXT, WORKBOOKS, is_hidden, plain_suffix, read_text
from simulator.cases.headings import ARTICLE_HEADINGS, NAMES, is_empty
from simulator.cases.office import pdf_document, word_document
from simulator.cases.row import Row, RowFault, raise_faults
from simulator.cases.rows import read_rows
from simulator.cases.web import HTML, web_document
from simulator.cases.workbooks import column_row, read_workbook, worksheet_rows, worksheet_text
from simulator.core.errors import InputError
from simulator.core.messages import Message, _, quote, system_error
from simulator.core.types import Passage

# Suffixes of plain texts; all of them are read as Markdown, which leaves other texts alone.
_TEXTS = frozenset({".md", ".markdown", ".mdx", ".txt", ".text", ".rst"})
# What reads the documents of office programs, by suffix.
_OFFICE: Mapping[str, Callable[[Path], Document]] = {".docx": word_document, ".pdf": pdf_document}
_PAGES = frozenset({".html", ".htm", ".xhtml"})
_ROWS = frozenset({".csv", ".tsv", ".jsonl", ".ndjson", ".json"})
_READABLE = _TEXTS | frozenset(_OFFICE) | _PAGES | WORKBOOKS | _ROWS
KINDS = _("Markdown, text, HTML, CSV, JSONL, Excel, Word or PDF, each also as .gz")


def read_knowledge(path: str | Path) -> Iterator[Passage]:
    """The passages of a file, or of all files below a folder sorted by path, read as they are used.

    The passages of a document get its path without suffix as their id (`ja/01-plans`, then `ja/01-plans#2`);
    a row keeps its own id. The worksheets of an Excel file with several are named like files in a folder.
    Hidden files and files of other kinds (see `unread_files`) are skipped. Raises InputError.
    """
    root = Path(path)
    files = [file for file in _files(root) if _is_readable(file)]
    if not files:
        raise InputError(_("{root}: no readable files; articles can be {kinds}.", root=root, kinds=KINDS))
    return _with_distinct_ids(root, files)


def unread_files(path: str | Path) -> tuple[Message | str, ...]:
    """What is not read of a knowledge base: files of other kinds, empty ones, documents of pictures alone.

    Named once, so that a folder of scans is not taken for a bot that knows nothing.
    """
    root, unread = Path(path), list[Message | str]()
    for file in _files(root):
        name = _relative(root, file)
        if not _is_readable(file):
            unread.append(name)
        elif plain_suffix(file) in _OFFICE and not _document(file).text:
            unread.append(_("{file}: no text in it, perhaps a scan", file=name))
    return tuple(unread)


def _document(file: Path) -> Document:
    if read := _OFFICE.get(plain_suffix(file)):
        return read(file)
    text = read_text(file, may_be_empty=True, most_bytes=MAX_TEXT)
    return web_document(text) if plain_suffix(file) in _PAGES else text_document(text)


def _files(root: Path) -> list[Path]:
    try:
        if not root.is_dir():
            root.stat()
            return [root]
        files = []
        for folder, subfolders, names in os.walk(root, onerror=_stop):
            # Changed in place, by which os.walk does not go into them.
            subfolders[:] = [name for name in subfolders if not is_hidden(name)]
            files += [Path(folder, name) for name in names if not is_hidden(name)]
        return sorted(files, key=lambda file: file.relative_to(root).parts)
    except FileNotFoundError:
        msg = _("{root}: no such file or folder; check the path of the articles.", root=root)
        raise InputError(msg) from None
    except OSError as error:
        msg = _(
            "{filename}: cannot be read ({strerror}).",
            filename=error.filename or root,
            strerror=system_error(error),
        )
        raise InputError(msg) from None


def _stop(error: OSError) -> None:
    # Without it os.walk skips a folder without permission silently.
    raise error


def _is_readable(file: Path) -> bool:
    suffix = plain_suffix(file)
    return suffix in _READABLE and file.is_file() and file.stat().st_size > 0


def _relative(root: Path, file: Path) -> str:
    """The path below the root, in NFC: macOS stores が as two characters, and people type ids."""
    inside = file.relative_to(root if root.is_dir() else root.parent)
    return unicodedata.normalize("NFC", inside.as_posix())


def _with_distinct_ids(root: Path, files: Iterable[Path]) -> Iterator[Passage]:
    places: dict[str, str] = {}
    names: set[str] = set()
    for file in files:
        place = _relative(root, file)
        for passage in _passages(file, place, _name(place, names)):
            if passage.id in places:
                msg = _(
                    "{file}: the article id {passage} is already in {places}; use each id once.",
                    file=file,
                    passage=quote(passage.id),
                    places=places[passage.id],
                )
                raise InputError(msg)
            places[passage.id] = place
            yield passage
    # Files were there, and no text in any of them: scans, pages of scripts, empty worksheets.
    if not places:
        msg = _("{root}: no text in it; articles can be {kinds}.", root=root, kinds=KINDS)
        if inside := unread_files(root)[:3]:
            text = _("{root}: no text in it ({inside:clauses}); articles can be {kinds}.")
            msg = text.format(root=root, inside=inside, kinds=KINDS)
        raise InputError(msg)


def _name(place: str, names: set[str]) -> str:
    """The path without its suffix, or with it when the name is taken (`a.md` beside `a.html`).

    The first one in the order of paths keeps the short name.
    """
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
    else:
        yield from _from_document(_document(file), place, name)


def _from_document(whole: Document, place: str, name: str) -> Iterator[Passage]:
    for number, text in enumerate(chunks(whole), 1):
        yield Passage(id=name if number == 1 else f"{name}#{number}", text=text, source=place)


def _from_workbook(file: Path, place: str, name: str) -> Iterator[Passage]:
    """The rows of worksheets that have a column of texts; any other worksheet is one document."""
    sheets = [sheet for sheet in read_workbook(file) if sheet.lines]
    several = len(sheets) > 1
    for sheet in sheets:
        inside = f"{name}/{sheet.name}" if several else name
        if column_row(sheet, _has_text) is None:
            whole = Document(sheet.name, worksheet_text(sheet))
            yield from _from_document(whole, f"{place}#{sheet.name}" if several else place, inside)
        else:
            rows = raise_faults(worksheet_rows(file, sheet, _has_text, named=several))
            yield from _from_rows(file, rows, place, inside)


def _from_rows(file: Path, rows: Iterable[Row], place: str, name: str) -> Iterator[Passage]:
    for number, row in enumerate(rows, 1):
        if not _has_text(row.values):
            what = _(
                "no text column. Found: {columns}. Name one of them: {text}.",
                columns=tuple(map(quote, list(row.values)[:20])),
                text=", ".join(NAMES["article"]["text"] + NAMES["article"]["answer"]),
            )
            raise RowFault(file, row, what)
        said, unusable = _by_field(row)
        # In a list of questions and answers, both of them, whatever the questions are called.
        names = ("question", "text", "answer") if "answer" in said else ("text",)
        text = "\n".join(said[name] for name in names if name in said)
        if "text" in said or "answer" in said:
            source = said.get("title") or said.get("source") or place
            yield Passage(id=said.get("id") or f"{name}#{number}", text=text, source=source)
        # A row without a text is left out silently; one whose text is a list or an object is a fault.
        elif unusable:
            raise RowFault(file, row, _("column '{column}' holds no text.", column=unusable))


def _has_text(headers: Iterable[str]) -> bool:
    return not {"text", "answer"}.isdisjoint(map(ARTICLE_HEADINGS.field_of, headers))


def _by_field(row: Row) -> tuple[dict[str, str], str]:
    """The texts of a row by what they are, and the first column that should hold its text and does not."""
    said, unusable = dict[str, str](), ""
    for header, field in ARTICLE_HEADINGS.in_order(tuple(row.values)):
        value = row.values[header]
        if isinstance(value, (str, int, float)):
            if not is_empty(value):
                # Articles of a helpdesk are HTML as a whole; a <br> within Markdown makes none.
                text = str(value).strip()
                said.setdefault(field, web_document(text).text if HTML.match(text) else text)
        elif field in {"text", "answer"} and not is_empty(value):
            unusable = unusable or header
    return said, unusable
