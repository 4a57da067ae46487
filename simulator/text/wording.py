"""The sentences of the stand-in judges, in wording.toml, Japanese and English side by side.

A judge that counts says its reason in the language of the question, not in that of the terminal, so these are
no messages of the catalogue. Each key has a template per language; what fills it may come from a bot, and is
never searched for variables again.
"""

from collections.abc import Sequence
from functools import cache
from pathlib import Path
from string import Template

from simulator.core.templates import read_toml
from simulator.core.types import Language

FILE = Path(__file__).with_name("wording.toml")
# Of what is missing or unsupported so many are named, each cut to so many characters: a reason is one
# sentence.
MOST_ITEMS = 3
LONGEST_QUOTE = 40


class Wording:
    """The sentences in one language."""

    def __init__(self, language: Language) -> None:
        """Reads the file."""
        self._language = language
        self._table = read_toml(FILE)[language]

    def __call__(self, key: str, **values: str) -> str:
        """A rendered sentence; what fills it is never searched for variables again."""
        return Template(self._table[key]).substitute(values)

    def together(self, said: Sequence[str]) -> str:
        """Sentences in a row, without the empty ones."""
        return ("" if self._language == "ja" else " ").join(filter(None, said))

    def listed(self, items: Sequence[str]) -> str:
        """At most three items in a row."""
        return str(self._table["joint"]).join(items[:MOST_ITEMS])


def quoted(text: str) -> str:
    """A piece of a text that is short enough for a sentence, without the marks at its ends.

    On one line, at most `LONGEST_QUOTE` characters, the last of them … where something was cut.
    """
    plain = " ".join(text.split()).strip("、。,.;；「」\"' ")
    return plain if len(plain) <= LONGEST_QUOTE else plain[: LONGEST_QUOTE - 1] + "…"


def percent(share: float) -> str:
    """A share (0..1) as a whole percentage; only a full one is called 100."""
    return str(min(round(100 * share), 99) if share < 1 else 100)


@cache
def wording(language: Language) -> Wording:
    """The sentences of a language, read once."""
    return Wording(language)
