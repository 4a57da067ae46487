"""A document of a knowledge base: its title and text, and the passages that it is cut into."""

import re
from collections.abc import Iterator
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
# YAML between two lines of --- at the top, of which the title alone is used.
_FRONT_MATTER = re.compile(r"\A---\n(.*?\n)?---\n", re.DOTALL)
_FRONT_TITLE = re.compile(r"^title:(.+)$", re.MULTILINE)


class Document(NamedTuple):
    """A text and its title, which may be empty."""

    title: str
    text: str


def text_document(text: str) -> Document:
    """A Markdown or plain text; its title is from the front matter, the first heading or the first line.

    The first line only where there are more lines, and it is no longer than a title.
    """
    front = _FRONT_MATTER.match(text)
    body = text[front.end() :].strip() if front else text.strip()
    titled = _FRONT_TITLE.search(front[1] or "") if front else None
    return Document(titled[1].strip(" \t\"'") if titled else _first_title(body), body)


def chunks(document: Document) -> Iterator[str]:
    """The passages of a document: all of it when it is short, else pieces that each begin with the title.

    At most `MAX_LENGTH` characters with the title. A piece alone has to say what it is about, because it is
    retrieved alone.
    """
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
    """The text in pieces of at most `longest` characters, each as long as possible.

    At the first kind of boundary that gives small enough pieces; a piece that is still too long is cut at the
    next kind, and a run without any boundary wherever it must be.
    """
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
