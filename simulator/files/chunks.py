"""Documents cut into passages: at headings first, then paragraphs, lines, sentences, words."""

import re
from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

from simulator.files.text import language_of

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
