"""Documents as texts with a title (Markdown, plain text, HTML), and how they are cut into passages.

A document too long for one passage is cut at headings first, then paragraphs, lines, sentences, words.
"""

import re
from collections.abc import Iterator
from html.parser import HTMLParser
from itertools import pairwise
from typing import NamedTuple

from simulator.data.files import language_of

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
