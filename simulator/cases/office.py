"""Reads Word and PDF files as text; pictures in them are not read.

Only a knowledge base with such files imports this: each takes a library of its own. What comes out of Word is
Markdown, so that a long document is cut at its headings: styles named "Heading 2" become ##, tables a line
for each row with bars between the cells. Deleted text of tracked changes, ruby (the readings above kanji),
headers, footers and footnotes are left out.
"""

import io
import logging
import re
from collections.abc import Callable, Iterator, Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any
from unicodedata import normalize

from simulator.cases.documents import Document, text_document
from simulator.cases.files import read_archive, read_bytes, readable_or_error
from simulator.core.errors import CaseFileError
from simulator.core.messages import _, encodable
from simulator.text.typography import language_of

# Element names without namespace. Skipped are deleted text, ruby, field
# codes, and copies of text boxes for old programs.
_SKIPPED = frozenset(
    {"del", "moveFrom", "rt", "instrText", "Fallback", "pPr", "rPr", "sdtPr", "tblPr", "tcPr"}
)
_CHARACTERS = {"tab": "\t", "br": "\n", "cr": "\n", "noBreakHyphen": "-"}
_OFFICE_HEADING = re.compile(r"heading (\d)", re.IGNORECASE)
_DEEPEST_HEADING = 6

# The Markdown prefix of a paragraph: `# ` or nothing.
Prefix = Callable[[Any], str]


def word_document(path: Path) -> Document:
    """The text of a .docx file in reading order; headers, footers and footnotes are left out."""
    with readable_or_error(path, "Word", "python-docx"):
        import docx

        file = docx.Document(read_archive(path, "Word"))
        styles = {style.style_id: _style_prefix(style) for style in file.styles}
        return text_document("\n\n".join(_blocks(file.element.body, lambda p: _prefix(p, styles))))


def _style_prefix(style: Any) -> str:
    """The Markdown prefix of a paragraph style; a custom style has that of the style it is based on."""
    while style is not None:
        name = str(style.name or "")
        if heading := _OFFICE_HEADING.fullmatch(name):
            return "#" * min(int(heading[1]), _DEEPEST_HEADING) + " "
        if name == "Title":
            return "# "
        style = getattr(style, "base_style", None)
    return ""


def _prefix(paragraph: Any, styles: Mapping[str, str]) -> str:
    style = next((entry for part in paragraph if _name(part) == "pPr" for entry in part
                  if _name(entry) == "pStyle"), None)  # fmt: skip
    return "" if style is None else styles.get(next(iter(style.attrib.values()), ""), "")


def _blocks(element: Any, prefix: Prefix) -> Iterator[str]:
    """The paragraphs and tables below an element that are not empty, text boxes behind their paragraph."""
    name = _name(element)
    if name == "p":
        if text := "".join(_inline(element)).strip():
            yield prefix(element) + text
        for box in _inside(element, "txbxContent"):
            yield from _blocks(box, prefix)
    elif name == "tbl":
        yield from filter(None, ["\n".join(filter(None, map(_table_row, _inside(element, "tr"))))])
    elif name not in _SKIPPED:
        for child in element:
            yield from _blocks(child, prefix)


def _table_row(row: Any) -> str:
    cells = [" ".join(" ".join(_blocks(cell, lambda _: "")).split()) for cell in _inside(row, "tc")]
    return " | ".join(cells) if any(cells) else ""


def _inline(element: Any) -> Iterator[str]:
    """The text of a paragraph, without that of text boxes in it."""
    for child in element:
        name = _name(child)
        if name == "t":
            yield child.text or ""
        elif name in _CHARACTERS:
            yield _CHARACTERS[name]
        elif name not in _SKIPPED and name != "txbxContent":
            yield from _inline(child)


def _inside(element: Any, name: str) -> Iterator[Any]:
    """The outermost elements with this name below an element."""
    for child in element:
        if _name(child) == name:
            yield child
        elif _name(child) not in _SKIPPED:
            yield from _inside(child, name)


def _name(element: Any) -> str:
    """The name of an element without its namespace; empty for a comment."""
    return element.tag.rpartition("}")[2] if isinstance(element.tag, str) else ""


# Some PDF writers store 用 as the radical ⽤ that looks the same; ligatures likewise stand for letters.
_LOOKALIKES = "[\u2e9f\u2ef3\u2f00-\u2fd5\ufb00-\ufb06]"
# Radicals that NFKC does not know as the kanji that they look like.
_RADICALS = str.maketrans("⺠⻁⻄⻑⻘⻝⻣⻤⻨⻩⻫⻭⻯⻲", "民虎西長青食骨鬼麦黄斉歯竜亀")
_JAPANESE = "[ぁ-ゖァ-ヺー々〆〇㐀-鿿豈-﫿、]"
# A line of at least this share of the longest one was broken by the margin, not by its author.
_FULL_LINE = 0.85
_MOST_UNPACKED = 1 << 24
# A manual with pictures is large; its text is not.
_MAX_PDF = 1 << 29


def pdf_document(path: Path) -> Document:
    """The text of all pages, without OCR; the title is that of the metadata if it occurs on a page.

    Metadata mostly name the template or the program ("Microsoft Word - Document1"). Encrypted files that open
    without a password are read. A stream unpacks to at most `_MOST_UNPACKED` bytes.
    """
    with readable_or_error(path, "PDF", "pypdf"):
        import pypdf

        pypdf.apply_configuration(zlib_maximum_output_length=_MOST_UNPACKED)
        # It warns about every flaw that it can work around.
        logging.getLogger("pypdf").setLevel(logging.CRITICAL)
        reader = pypdf.PdfReader(io.BytesIO(read_bytes(path, _MAX_PDF)))
        if reader.is_encrypted and not reader.decrypt(""):
            raise CaseFileError(_("{path}: protected with a password; save it without one.", path=path))
        text = "\n\n".join(_unwrapped(_normalised(page.extract_text())) for page in reader.pages)
        title = _normalised(str((reader.metadata and reader.metadata.title) or "")).strip()
    document = text_document(text)
    return Document(title, document.text) if title and title in document.text else document


def _normalised(text: str) -> str:
    plain = re.sub(_LOOKALIKES, lambda match: normalize("NFKC", match[0]), text)
    return str(encodable(plain.translate(_RADICALS)))


def _unwrapped(page: str) -> str:
    """A page without the line breaks that are due to the margin: a full line goes on in the next one.

    In Japanese without a space, in English with one, where it goes on in lower case.
    """
    lines = page.split("\n")
    longest = {language: max((len(line) for line in lines if language_of(line) == language), default=0)
               for language in ("ja", "en")}  # fmt: skip
    text = lines[0]
    for before, line in pairwise(lines):
        is_full = len(before) >= _FULL_LINE * longest[language_of(before)]
        ends = before[-1:] + line[:1]
        separator = "\n"
        if is_full and re.fullmatch(f"{_JAPANESE}{{2}}", ends):
            separator = ""
        elif is_full and re.fullmatch("[A-Za-z,][a-z]", ends):
            separator = " "
        text += separator + line
    return text
