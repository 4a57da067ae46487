"""Documents cut into passages: at headings first, then paragraphs, lines, sentences, words."""

import io
import logging
import re
from collections.abc import Callable, Iterator, Mapping
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple
from unicodedata import east_asian_width, normalize

from simulator.core.errors import CaseFileError
from simulator.core.replies import encodable
from simulator.data.files import language_of, needed, package, read_bytes, readable

# Characters that an embedding model and a reader take in at once; a kana or kanji says about twice as much.
LONGEST = {"ja": 600, "en": 1200}
_LONGEST_TITLE = 100

_BOUNDARIES = tuple(
    map(
        re.compile,
        (
            r"(?m)^(?=#{1,6} )",
            r"(?<=\n\n)(?=\S)",
            r"(?<=\n)",
            r"(?<=[。！？!?])|(?<=\.\s)",
            r"(?<=\s)|(?<=、)",
        ),
    )
)
_HEADING = re.compile(r"^#{1,6} +(\S.*)$", re.MULTILINE)
_FRONT_MATTER = re.compile(r"\A---\n(.*?\n)?---\n", re.DOTALL)
_FRONT_TITLE = re.compile(r"^title:(.+)$", re.MULTILINE)


class Document(NamedTuple):
    """A text and what it is called; the title is empty when it has none."""

    title: str
    text: str


def document(text: str) -> Document:
    """A Markdown or plain text; its title is in the front matter, the first heading or the first line."""
    front = _FRONT_MATTER.match(text)
    body = text[front.end() :].strip() if front else text.strip()
    titled = _FRONT_TITLE.search(front[1] or "") if front else None
    return Document(titled[1].strip(" \t\"'") if titled else _first_title(body), body)


def chunks(whole: Document) -> Iterator[str]:
    """The passages of a document: itself when it is short, else pieces that each begin with its title."""
    longest = LONGEST[language_of(whole.text)]
    if len(whole.text) <= longest:
        yield from filter(None, [whole.text])
        return
    title = whole.title[:_LONGEST_TITLE]
    for piece in _joined(_split(whole.text, longest - len(title) - 1)):
        begins = piece.lstrip("# ").startswith(title)
        yield piece if begins else f"{title}\n{piece}"


def _first_title(body: str) -> str:
    if heading := _HEADING.search(body):
        return heading[1].rstrip(" #")
    first, _, rest = body.partition("\n")
    return first.strip() if rest and len(first) <= _LONGEST_TITLE else ""


def _split(text: str, longest: int, depth: int = 0) -> list[str]:
    """The text in pieces of at most `longest`; parts that fit are packed together, longer ones cut finer."""
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
    """The pieces without blanks around them; a heading cut off from its section goes back to it."""
    stripped = [piece.strip() for piece in pieces if piece.strip()]
    heading = ""
    for piece, following in pairwise([*stripped, ""]):
        if following and _HEADING.fullmatch(piece):
            heading += f"{piece}\n\n"
        else:
            yield heading + piece
            heading = ""


# By their names without namespace: Word and PowerPoint call paragraphs, texts and tables alike.
# Left out are what was deleted, ruby, field codes, and copies of text boxes for old programs.
_UNREAD = frozenset(
    {"del", "moveFrom", "rt", "instrText", "Fallback", "pPr", "rPr", "sdtPr", "tblPr", "tcPr"}
)
_SIGNS = {"tab": "\t", "br": "\n", "cr": "\n", "noBreakHyphen": "-"}
_PICTURES = frozenset({"pic", "imagedata", "chart", "relIds"})
_OFFICE_HEADING = re.compile(r"heading (\d)", re.IGNORECASE)
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
        if heading := _OFFICE_HEADING.fullmatch(name):
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


# Some PDF writers store 用 as the radical ⽤ that looks the same; ligatures likewise stand for letters.
_LOOKALIKES = re.compile("[\u2e9f\u2ef3\u2f00-\u2fd5\ufb00-\ufb06]")
_RADICALS = str.maketrans("⺠⻁⻄⻑⻘⻝⻣⻤⻨⻩⻫⻭⻯⻲", "民虎西長青食骨鬼麦黄斉歯竜亀")
_JAPANESE = "[ぁ-ゖァ-ヺー々〆〇㐀-鿿豈-﫿、]"
_WITHIN_JAPANESE = re.compile(rf"{_JAPANESE}\n{_JAPANESE}")
_WITHIN_ENGLISH = re.compile(r"[A-Za-z,]\n[a-z]")
# A line that reaches this share of the widest one was broken by the margin, not by its writer.
_FULL = 0.85


def pdf_document(path: Path) -> Document:
    """The text of all pages, read without recognising images; the title is the file's if it is on a page."""
    reader = _reader(path)
    with readable(path, "PDF"):
        text = "\n\n".join(_unbroken(_meant(page.extract_text())) for page in reader.pages)
        title = _meant(str((reader.metadata and reader.metadata.title) or "")).strip()
    whole = document(text)
    return Document(title, whole.text) if title and title in whole.text else whole


def pdf_pictures(path: Path) -> int:
    """How many images the pages hold, none of which is read; a scanned page is an image."""
    reader = _reader(path)
    with readable(path, "PDF"):
        return len({key for page in reader.pages for key in _images(page, 0)})


def _reader(path: Path) -> Any:
    with needed(path, "pypdf"):
        import pypdf
    # It reports every flaw that it gets over.
    logging.getLogger("pypdf").setLevel(logging.CRITICAL)
    data = read_bytes(path)
    with readable(path, "PDF"):
        reader = pypdf.PdfReader(io.BytesIO(data))
        if reader.is_encrypted and not reader.decrypt(""):
            msg = f"{path}: protected with a password; save it without one."
            raise CaseFileError(msg)
    return reader


def _images(holder: Any, depth: int) -> Iterator[Any]:
    """What tells the images of a page apart; forms within the page may hold more of them."""
    resources = holder.get("/Resources")
    held = resources.get_object().get("/XObject") if resources is not None else None
    for name, reference in (held.get_object() if held is not None else {}).items():
        item = reference.get_object()
        if item.get("/Subtype") == "/Image":
            yield getattr(reference, "idnum", None) or (id(holder), name)
        elif item.get("/Subtype") == "/Form" and depth < 5:
            yield from _images(item, depth + 1)


def _meant(text: str) -> str:
    plain = _LOOKALIKES.sub(lambda found: normalize("NFKC", found[0]), text)
    return str(encodable(plain.translate(_RADICALS)))


def _unbroken(page: str) -> str:
    """A page without the line breaks that only the margin made."""
    lines = [line.rstrip() for line in page.split("\n")]
    widest = {"ja": 0, "en": 0}
    for line in lines:
        # Latin letters are narrower than half a kanji, so each script has its own full width.
        widest[language_of(line)] = max(widest[language_of(line)], _width(line))
    seams = (
        _seam(before, line) if _width(before) >= _FULL * widest[language_of(before)] else "\n"
        for before, line in pairwise(lines)
    )
    return lines[0] + "".join(seam + line for seam, line in zip(seams, lines[1:], strict=True))


def _seam(before: str, line: str) -> str:
    """What stands between two lines of which the first is full."""
    ends = f"{before[-1:]}\n{line[:1]}"
    if _WITHIN_JAPANESE.fullmatch(ends):
        return ""
    return " " if _WITHIN_ENGLISH.fullmatch(ends) else "\n"


def _width(line: str) -> int:
    return sum(2 if east_asian_width(character) in "WFA" else 1 for character in line)


_WEBPAGES_UNREAD = frozenset({"script", "style", "noscript", "template", "svg"})
_BLOCKS = frozenset(
    {"address", "article", "aside", "blockquote", "dd", "details", "div", "dl", "dt", "fieldset", "figure"}
    | {"footer", "form", "header", "hr", "main", "nav", "ol", "p", "pre", "section", "summary", "table", "ul"}
)
_LINES = frozenset({"br", "tr", "option"})
_HEADINGS = {f"h{level}": level for level in range(1, 7)}
_WEBPAGES_JAPANESE = "[ぁ-ヿ㐀-鿿、。「」（）！？]"
# A line break in the source is a space in English and nothing in Japanese.
_BREAK_IN_JAPANESE = re.compile(rf"(?<={_WEBPAGES_JAPANESE})[ \t]*\n\s*(?={_WEBPAGES_JAPANESE})")
# Office and old browsers leave these; the standard parser gives up on unknown ones.
_CONDITIONS = re.compile(r"<!\[[^>]*(?:>|\Z)")


def web_page(html: str) -> Document:
    """The text of an HTML page without scripts and styles; the title is <title> or the first heading."""
    page = _Page()
    page.feed(_CONDITIONS.sub("", html))
    page.close()
    text = "\n".join(re.sub(r"[ \t]+", " ", line).strip(" |") for line in "".join(page.parts).split("\n"))
    heading = re.search(r"(?m)^#+ (.+)$", text)
    title = " ".join("".join(page.title).split()) or (heading[1] if heading else "")
    return Document(title, re.sub(r"\n{3,}", "\n\n", text).strip())


class _Page(HTMLParser):
    """Collects what a reader sees."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.parts: list[str] = []
        self.title: list[str] = []
        self._unread = 0
        self._in_title = False
        self._as_written = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Opens what the tag stands for."""
        if tag in _WEBPAGES_UNREAD:
            self._unread += 1
        elif tag == "title" and not self._unread:
            self._in_title = True
        else:
            self._as_written = self._as_written or tag == "pre"
            self.parts.append(_opening(tag))

    def handle_endtag(self, tag: str) -> None:
        """Closes it; an end without a beginning is ignored."""
        if tag in _WEBPAGES_UNREAD:
            self._unread = max(0, self._unread - 1)
        elif tag == "title":
            self._in_title = False
        else:
            self._as_written = self._as_written and tag != "pre"
            self.parts.append("\n\n" if tag in _BLOCKS or tag in _HEADINGS else "")

    def handle_data(self, data: str) -> None:
        """Keeps text that is shown, with line breaks only where the page breaks lines."""
        if self._unread:
            return
        if self._in_title:
            self.title.append(data)
        elif self._as_written:
            self.parts.append(data)
        else:
            self.parts.append(re.sub(r"[ \t\n\f]+", " ", _BREAK_IN_JAPANESE.sub("", data)))


def _opening(tag: str) -> str:
    if tag in _HEADINGS:
        return "\n\n" + "#" * _HEADINGS[tag] + " "
    if tag in _BLOCKS:
        return "\n\n"
    if tag in _LINES:
        return "\n"
    return {"li": "\n- ", "td": " | ", "th": " | "}.get(tag, "")
