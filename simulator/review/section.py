"""The parts that a review is shown in, before they are painted on a terminal or in Markdown."""

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from simulator.prompts import Texts
from simulator.types import Language

WORDS = Texts(Path(__file__).with_name("words.toml"))
# Shown of each list; the rest is in `--json`.
SHOWN = 5

# The text of a key, with its variables filled.
Say = Callable[..., str]


class Item(NamedTuple):
    """A line of a list, and lines that explain it, each with what it is called."""

    text: str
    beneath: tuple[tuple[str, str], ...] = ()


class Section(NamedTuple):
    """A part of the review: what it says in words, facts by name, a table with its header, a list.

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


def words_in(language: Language) -> Say:
    """The texts of `review` in a language, numbers with their thousands apart."""

    def say(key: str, **values: object) -> str:
        texts = {name: f"{v:,}" if isinstance(v, int) else str(v) for name, v in values.items()}
        return WORDS(language, key, **texts)

    return say


def percent(share: float) -> str:
    """A share 0..1 of a hundred, without decimals."""
    return f"{100 * share:.0f}"
