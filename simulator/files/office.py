"""The text of Word and PowerPoint files, with headings, lists and tables as in Markdown."""

import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from simulator.files.chunks import Document, document
from simulator.files.extras import needed, readable
from simulator.files.packages import package

# By their names without namespace: Word and PowerPoint call paragraphs, texts and tables alike.
# Left out are what was deleted, ruby, field codes, and copies of text boxes for old programs.
_UNREAD = frozenset(
    {"del", "moveFrom", "rt", "instrText", "Fallback", "pPr", "rPr", "sdtPr", "tblPr", "tcPr"}
)
_SIGNS = {"tab": "\t", "br": "\n", "cr": "\n", "noBreakHyphen": "-"}
_PICTURES = frozenset({"pic", "imagedata", "chart", "relIds"})
_HEADING = re.compile(r"heading (\d)", re.IGNORECASE)
_LIST = re.compile(r"list (?:bullet|number|paragraph)", re.IGNORECASE)
_DEEPEST_HEADING = 6

Mark = Callable[[Any], str]


def word_document(path: Path) -> Document:
    """The text of a .docx file in reading order; headers, footers and footnotes are left out."""
    with needed(path, "python-docx"):
        import docx
    data = package(path, "Word")
    with readable(path, "Word"):
        whole = docx.Document(data)
        styles = {style.style_id: _mark_of(style) for style in whole.styles}
        return document("\n\n".join(_blocks(whole.element.body, lambda p: _mark(p, styles))))


def word_pictures(path: Path) -> int:
    """How many pictures, charts and diagrams the text of a .docx file holds, none of which is read."""
    with needed(path, "python-docx"):
        import docx
    data = package(path, "Word")
    with readable(path, "Word"):
        return _pictures(docx.Document(data).element.body)


def presentation(path: Path) -> Document:
    """The text of a .pptx file: each slide's title as a heading, its text, tables and notes."""
    with needed(path, "python-pptx"):
        import pptx
    data = package(path, "PowerPoint")
    with readable(path, "PowerPoint"):
        slides = pptx.Presentation(data).slides
        return document("\n\n".join(block for slide in slides for block in _slide(slide)))


def presentation_pictures(path: Path) -> int:
    """How many pictures, charts and diagrams the slides hold, none of which is read."""
    with needed(path, "python-pptx"):
        import pptx
    data = package(path, "PowerPoint")
    with readable(path, "PowerPoint"):
        return sum(_pictures(slide.element) for slide in pptx.Presentation(data).slides)


def _slide(slide: Any) -> Iterator[str]:
    title = slide.shapes.title
    if title is not None and (said := " ".join(title.text_frame.text.split())):
        yield f"## {said}"
    for shape in slide.shapes._spTree:
        if title is None or shape is not title._element:
            yield from _blocks(shape, lambda _: "")
    if slide.has_notes_slide and (notes := slide.notes_slide.notes_text_frame):
        yield from filter(None, [notes.text.strip()])


def _mark_of(style: Any) -> str:
    """What a paragraph style is in Markdown; a style of one's own is what it is based on."""
    for _ in range(10):
        name = str(style.name or "")
        if heading := _HEADING.fullmatch(name):
            return "#" * min(int(heading[1]), _DEEPEST_HEADING) + " "
        if name == "Title" or _LIST.match(name):
            return "# " if name == "Title" else "- "
        style = getattr(style, "base_style", None)
        if style is None:
            break
    return ""


def _mark(paragraph: Any, styles: Mapping[str, str]) -> str:
    properties = {_name(each): each for part in paragraph if _name(part) == "pPr" for each in part}
    style = properties.get("pStyle")
    mark = styles.get(next(iter(style.attrib.values()), ""), "") if style is not None else ""
    return mark or ("- " if "numPr" in properties else "")


def _blocks(element: Any, mark: Mark) -> Iterator[str]:
    """The paragraphs and tables below an element that say something."""
    name = _name(element)
    if name == "p":
        if text := "".join(_inline(element)).strip():
            yield mark(element) + text
        for box in _inside(element, "txbxContent"):
            yield from _blocks(box, mark)
    elif name == "tbl":
        yield from filter(None, ["\n".join(filter(None, map(_table_row, _inside(element, "tr"))))])
    elif name not in _UNREAD:
        for child in element:
            yield from _blocks(child, mark)


def _table_row(row: Any) -> str:
    cells = [" ".join(" ".join(_blocks(cell, lambda _: "")).split()) for cell in _inside(row, "tc")]
    return " | ".join(cells) if any(cells) else ""


def _inline(element: Any) -> Iterator[str]:
    """The text of a paragraph, without that of text boxes in it."""
    for child in element:
        name = _name(child)
        if name == "t":
            yield child.text or ""
        elif name in _SIGNS:
            yield _SIGNS[name]
        elif name not in _UNREAD and name != "txbxContent":
            yield from _inline(child)


def _inside(element: Any, name: str) -> Iterator[Any]:
    """The elements of a name below this one, but not those inside of each other."""
    for child in element:
        if _name(child) == name:
            yield child
        elif _name(child) not in _UNREAD:
            yield from _inside(child, name)


def _pictures(element: Any) -> int:
    name = _name(element)
    if name in _UNREAD:
        return 0
    return (name in _PICTURES) + sum(map(_pictures, element))


def _name(element: Any) -> str:
    """An element's name without its namespace; a comment has none."""
    return element.tag.rpartition("}")[2] if isinstance(element.tag, str) else ""
