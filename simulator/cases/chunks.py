"""The passages that a document is cut into."""

import re
from collections.abc import Iterator
from itertools import pairwise

from simulator.cases.documents import HEADING, LONGEST_TITLE, Document
from simulator.text.typography import language_of

# The length of a passage in characters; a kana or kanji says about as much as two letters.
MAX_LENGTH = {"ja": 600, "en": 1200}
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


def chunks(document: Document) -> Iterator[str]:
    """The passages of a document: all of it when it is short, else pieces that each begin with the title.

    At most `MAX_LENGTH` characters with the title. A piece alone has to say what it is about, because it is
    retrieved alone.
    """
    longest = MAX_LENGTH[language_of(document.text)]
    if len(document.text) <= longest:
        yield from filter(None, [document.text])
        return
    title = document.title[:LONGEST_TITLE]
    for piece in _joined(_split(document.text, longest - len(title) - 1)):
        begins = piece.lstrip("# ").startswith(title)
        yield piece if begins else f"{title}\n{piece}"


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
        if following and HEADING.fullmatch(piece):
            heading += f"{piece}\n\n"
        else:
            yield heading + piece
            heading = ""
