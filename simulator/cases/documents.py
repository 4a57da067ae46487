"""A document of a knowledge base: its title and text."""

import re
from typing import NamedTuple

LONGEST_TITLE = 100
HEADING = re.compile(r"^#{1,6} +(\S.*)$", re.MULTILINE)
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


def _first_title(body: str) -> str:
    if heading := HEADING.search(body):
        return heading[1].rstrip(" #")
    first, _unused, rest = body.partition("\n")
    return first.strip() if rest and len(first) <= LONGEST_TITLE else ""
