"""Parts of an add-on's report in words, before they are painted: a lead, facts, a table, a list."""

from collections.abc import Callable
from typing import NamedTuple

# The text of a key, with its variables filled.
Say = Callable[..., str]


class Item(NamedTuple):
    """A line of a list, and lines that explain it, each with what it is called."""

    text: str
    beneath: tuple[tuple[str, str], ...] = ()


class Section(NamedTuple):
    """A part of a report: what it says in words, facts by name, a table with its header, a list.

    `more` counts what the list leaves out, `aside` stands below in small print, and with `alarm` the items
    of the list stand out.
    """

    title: str = ""
    lead: str = ""
    facts: tuple[tuple[str, str], ...] = ()
    table: tuple[tuple[str, ...], ...] = ()
    items: tuple[Item, ...] = ()
    more: int = 0
    aside: str = ""
    alarm: bool = False
