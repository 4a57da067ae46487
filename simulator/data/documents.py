"""Reads documents (Markdown, Word, PowerPoint, PDF, HTML) as text, and cuts them into passages.

A document too long for one passage is cut at headings first, then paragraphs, lines, sentences, words.
"""

import io
import logging
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple
from unicodedata import east_asian_width, normalize

from simulator.core.errors import CaseFileError
from simulator.core.messages import _, encodable
from simulator.data.files import language_of, read_archive, read_bytes, readable_or_error

# The length of a passage in characters; a kana or kanji says about as much as two letters.
MAX_LENGTH = {"ja": 600, "en": 1200}
_LONGEST_TITLE = 100

# Where a text is cut, best first: at headings, paragraphs, lines, sentences, words.
_BOUNDARIES = [
    re.compile(boundary)
    for boundary in (
        r"(?m)^(?=#{1,6} )",
        r"(?<=\n\n)(?=\S)",
        r"(?<=\n)",
        r"(?<=[。！？!?])|(?<=\.\s)",
        r"(?<=\s)|(?<=、)",
    )
]
_HEADING = re.compile(r"^#{1,6} +(\S.*)$", re.MULTILINE)
_FRONT_MATTER = re.compile(r"\A---\n(.*?\n)?---\n", re.DOTALL)
_FRONT_TITLE = re.compile(r"^title:(.+)$", re.MULTILINE)


class Document(NamedTuple):
    """A text and its title, which may be empty."""

    title: str
    text: str


def text_document(text: str) -> Document:
    """A Markdown or plain text; its title is from the front matter, the first heading or the first line."""
    front = _FRONT_MATTER.match(text)
    body = text[front.end() :].strip() if front else text.strip()
    titled = _FRONT_TITLE.search(front[1] or "") if front else None
    return Document(titled[1].strip(" \t\"'") if titled else _first_title(body), body)


def chunks(document: Document) -> Iterator[str]:
    """The passages of a document: all of it when it is short, else pieces that each begin with the title."""
    longest = MAX_LENGTH[language_of(document.text)]
    if len(document.text) <= longest:
        yield from filter(None, [document.text])
        return
    title = document.title[:_LONGEST_TITLE]
    for piece in _joined(_split(document.text, longest - len(title) - 1)):
        begins = piece.lstrip("# ").startswith(title)
        yield piece if begins else f"{title}\n{piece}"


def _first_title(body: str) -> str:
    if heading := _HEADING.search(body):
        return heading[1].rstrip(" #")
    first, _unused, rest = body.partition("\n")
    return first.strip() if rest and len(first) <= _LONGEST_TITLE else ""


def _split(text: str, longest: int, depth: int = 0) -> list[str]:
    """The text in pieces of at most `longest` characters, each as long as possible."""
    if len(text) <= longest:
        return [text]
    if depth == len(_BOUNDARIES):
        return [text[start : start + longest] for start in range(0, len(text), longest)]
    pieces: list[str] = []
    growing = False
    for part in filter(None, _BOUNDARIES[depth].split(text)):
        if growing and len(pieces[-1]) + len(part) <= longest:
            pieces[-1] += part
        else:
            pieces += _split(part, longest, depth + 1)
            growing = len(part) <= longest
    return pieces


def _joined(pieces: list[str]) -> Iterator[str]:
    """The pieces, stripped; a heading that was cut off is joined with its section again."""
    stripped = [piece.strip() for piece in pieces if piece.strip()]
    heading = ""
    for piece, following in pairwise([*stripped, ""]):
        if following and _HEADING.fullmatch(piece):
            heading += f"{piece}\n\n"
        else:
            yield heading + piece
            heading = ""


# Element names without namespace, which Word and PowerPoint share. Skipped are deleted text, ruby, field
# codes, and copies of text boxes for old programs.
_SKIPPED = frozenset(
    {"del", "moveFrom", "rt", "instrText", "Fallback", "pPr", "rPr", "sdtPr", "tblPr", "tcPr"}
)
_CHARACTERS = {"tab": "\t", "br": "\n", "cr": "\n", "noBreakHyphen": "-"}
_PICTURES = frozenset({"pic", "imagedata", "chart", "relIds"})
_OFFICE_HEADING = re.compile(r"heading (\d)", re.IGNORECASE)
_LIST = re.compile(r"list (?:bullet|number|paragraph)", re.IGNORECASE)
_DEEPEST_HEADING = 6

# The Markdown prefix of a paragraph: `# `, `- ` or nothing.
Prefix = Callable[[Any], str]


def word_document(path: Path) -> Document:
    """The text of a .docx file in reading order; headers, footers and footnotes are left out."""
    with _word(path) as file:
        styles = {style.style_id: _style_prefix(style) for style in file.styles}
        return text_document("\n\n".join(_blocks(file.element.body, lambda p: _prefix(p, styles))))


def count_word_pictures(path: Path) -> int:
    """The number of pictures, charts and diagrams in the text of a .docx file; none of them is read."""
    with _word(path) as file:
        return _pictures(file.element.body)


@contextmanager
def _word(path: Path) -> Iterator[Any]:
    with readable_or_error(path, "Word", "python-docx"):
        import docx

        yield docx.Document(read_archive(path, "Word"))


def presentation_document(path: Path) -> Document:
    """The text of a .pptx file: each slide's title as a heading, its text, tables and notes."""
    with _presentation(path) as file:
        return text_document("\n\n".join(block for slide in file.slides for block in _slide(slide)))


def count_presentation_pictures(path: Path) -> int:
    """The number of pictures, charts and diagrams on the slides; none of them is read."""
    with _presentation(path) as file:
        return sum(_pictures(slide.element) for slide in file.slides)


@contextmanager
def _presentation(path: Path) -> Iterator[Any]:
    with readable_or_error(path, "PowerPoint", "python-pptx"):
        import pptx

        yield pptx.Presentation(read_archive(path, "PowerPoint"))


def _slide(slide: Any) -> Iterator[str]:
    title = slide.shapes.title
    if title is not None and (heading := " ".join(title.text_frame.text.split())):
        yield f"## {heading}"
    for shape in slide.shapes._spTree:
        if title is None or shape is not title._element:
            yield from _blocks(shape, lambda _: "")
    if slide.has_notes_slide and (notes := slide.notes_slide.notes_text_frame):
        yield from filter(None, [notes.text.strip()])


def _style_prefix(style: Any) -> str:
    """The Markdown prefix of a paragraph style; a custom style has that of the style it is based on."""
    for _unused in range(10):
        name = str(style.name or "")
        if heading := _OFFICE_HEADING.fullmatch(name):
            return "#" * min(int(heading[1]), _DEEPEST_HEADING) + " "
        if name == "Title" or _LIST.match(name):
            return "# " if name == "Title" else "- "
        style = getattr(style, "base_style", None)
        if style is None:
            break
    return ""


def _prefix(paragraph: Any, styles: Mapping[str, str]) -> str:
    properties = {_name(each): each for part in paragraph if _name(part) == "pPr" for each in part}
    style = properties.get("pStyle")
    prefix = styles.get(next(iter(style.attrib.values()), ""), "") if style is not None else ""
    return prefix or ("- " if "numPr" in properties else "")


def _blocks(element: Any, prefix: Prefix) -> Iterator[str]:
    """The paragraphs and tables below an element that are not empty."""
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


def _pictures(element: Any) -> int:
    name = _name(element)
    if name in _SKIPPED:
        return 0
    return (name in _PICTURES) + sum(map(_pictures, element))


def _name(element: Any) -> str:
    """The name of an element without its namespace; empty for a comment."""
    return element.tag.rpartition("}")[2] if isinstance(element.tag, str) else ""


# Some PDF writers store 用 as the radical ⽤ that looks the same; ligatures likewise stand for letters.
_LOOKALIKES = re.compile("[\u2e9f\u2ef3\u2f00-\u2fd5\ufb00-\ufb06]")
_RADICALS = str.maketrans("⺠⻁⻄⻑⻘⻝⻣⻤⻨⻩⻫⻭⻯⻲", "民虎西長青食骨鬼麦黄斉歯竜亀")
_JAPANESE = "[ぁ-ゖァ-ヺー々〆〇㐀-鿿豈-﫿、]"
_WITHIN_JAPANESE = re.compile(rf"{_JAPANESE}\n{_JAPANESE}")
_WITHIN_ENGLISH = re.compile(r"[A-Za-z,]\n[a-z]")
# A line of at least this share of the widest one was broken by the margin, not by its author.
_FULL_LINE = 0.85


def pdf_document(path: Path) -> Document:
    """The text of all pages, without OCR; the title is that of the metadata if it occurs on a page."""
    with _pdf(path) as reader:
        text = "\n\n".join(_unwrapped(_normalised(page.extract_text())) for page in reader.pages)
        title = _normalised(str((reader.metadata and reader.metadata.title) or "")).strip()
    document = text_document(text)
    return Document(title, document.text) if title and title in document.text else document


def count_pdf_pictures(path: Path) -> int:
    """The number of images on the pages; none of them is read. A scanned page is an image."""
    with _pdf(path) as reader:
        return len({key for page in reader.pages for key in _images(page, 0)})


@contextmanager
def _pdf(path: Path) -> Iterator[Any]:
    with readable_or_error(path, "PDF", "pypdf"):
        import pypdf

        # It warns about every flaw that it can work around.
        logging.getLogger("pypdf").setLevel(logging.CRITICAL)
        reader = pypdf.PdfReader(io.BytesIO(read_bytes(path)))
        if reader.is_encrypted and not reader.decrypt(""):
            raise CaseFileError(_("{path}: protected with a password; save it without one.", path=path))
        yield reader


def _images(holder: Any, depth: int) -> Iterator[Any]:
    """A key for each image of a page, also for those in forms within the page."""
    resources = holder.get("/Resources")
    objects = resources.get_object().get("/XObject") if resources is not None else None
    for name, reference in (objects.get_object() if objects is not None else {}).items():
        item = reference.get_object()
        if item.get("/Subtype") == "/Image":
            yield getattr(reference, "idnum", None) or (id(holder), name)
        elif item.get("/Subtype") == "/Form" and depth < 5:
            yield from _images(item, depth + 1)


def _normalised(text: str) -> str:
    plain = _LOOKALIKES.sub(lambda match: normalize("NFKC", match[0]), text)
    return str(encodable(plain.translate(_RADICALS)))


def _unwrapped(page: str) -> str:
    """A page without the line breaks that are due to the margin."""
    lines = [line.rstrip() for line in page.split("\n")]
    widest = {"ja": 0, "en": 0}
    for line in lines:
        # Latin letters are narrower than half a kanji, so each script has its own full width.
        widest[language_of(line)] = max(widest[language_of(line)], _width(line))
    text = lines[0]
    for before, line in pairwise(lines):
        ends = f"{before[-1:]}\n{line[:1]}"
        separator = "\n"
        if _width(before) >= _FULL_LINE * widest[language_of(before)]:
            if _WITHIN_JAPANESE.fullmatch(ends):
                separator = ""
            elif _WITHIN_ENGLISH.fullmatch(ends):
                separator = " "
        text += separator + line
    return text


def _width(line: str) -> int:
    return sum(2 if east_asian_width(character) in "WFA" else 1 for character in line)


_SKIPPED_TAGS = frozenset({"script", "style", "noscript", "template", "svg"})
_BLOCK_TAGS = frozenset(
    {"address", "article", "aside", "blockquote", "dd", "details", "div", "dl", "dt", "fieldset", "figure"}
    | {"footer", "form", "header", "hr", "main", "nav", "ol", "p", "pre", "section", "summary", "table", "ul"}
)
# What stands in the text before the content of an element, and behind that of a block.
_OPENINGS = {
    **{f"h{level}": "\n\n" + "#" * level + " " for level in range(1, 7)},
    **dict.fromkeys(_BLOCK_TAGS, "\n\n"),
    **dict.fromkeys(("br", "tr", "option"), "\n"),
    **{"li": "\n- ", "td": " | ", "th": " | "},
}
_WIDE = "[ぁ-ヿ㐀-鿿、。「」（）！？]"
# A line break in the source is a space in English and nothing in Japanese.
_BREAK_IN_JAPANESE = re.compile(rf"(?<={_WIDE})[ \t]*\n\s*(?={_WIDE})")
# Conditional comments of Office and old browsers, on which the standard parser may give up.
_CONDITIONAL_COMMENT = re.compile(r"<!\[[^>]*(?:>|\Z)")


def web_document(html: str) -> Document:
    """The text of an HTML page without scripts and styles; the title is <title> or the first heading."""
    page = _Page()
    page.feed(_CONDITIONAL_COMMENT.sub("", html))
    page.close()
    text = "\n".join(re.sub(r"[ \t]+", " ", line).strip(" |") for line in "".join(page.parts).split("\n"))
    heading = re.search(r"(?m)^#+ (.+)$", text)
    title = " ".join("".join(page.title).split()) or (heading[1] if heading else "")
    return Document(title, re.sub(r"\n{3,}", "\n\n", text).strip())


class _Page(HTMLParser):
    """Collects the visible text of a page."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.parts: list[str] = []
        self.title: list[str] = []
        self._skipping = 0
        self._in_title = False
        self._in_pre = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Begins a heading, a block, a line or skipped content."""
        if tag in _SKIPPED_TAGS:
            self._skipping += 1
        elif tag == "title" and not self._skipping:
            self._in_title = True
        else:
            self._in_pre = self._in_pre or tag == "pre"
            self.parts.append(_OPENINGS.get(tag, ""))

    def handle_endtag(self, tag: str) -> None:
        """Ends it; an end tag without a start tag is ignored."""
        if tag in _SKIPPED_TAGS:
            self._skipping = max(0, self._skipping - 1)
        elif tag == "title":
            self._in_title = False
        else:
            self._in_pre = self._in_pre and tag != "pre"
            self.parts.append("\n\n" if _OPENINGS.get(tag, "").startswith("\n\n") else "")

    def handle_data(self, data: str) -> None:
        """Collects visible text, without line breaks of the source except in <pre>."""
        if self._skipping:
            return
        if self._in_title:
            self.title.append(data)
        elif self._in_pre:
            self.parts.append(data)
        else:
            self.parts.append(re.sub(r"[ \t\n\f]+", " ", _BREAK_IN_JAPANESE.sub("", data)))
