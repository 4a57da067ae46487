"""The words of reports on single-turn data sets, which tell of rows and not of conversations."""

import tomllib
from functools import cache, partial
from pathlib import Path
from string import Template
from typing import Protocol

from simulator.prompts import Texts, one
from simulator.types import Language

FILE = Path(__file__).with_name("rows.toml")


class Say(Protocol):
    """A text of one language by its key, its variables filled."""

    def __call__(self, key: str, /, **values: str) -> str:
        """The text."""
        ...


@cache
def instead(table: str, language: Language) -> dict[str, str]:
    """The texts of a table that stand for others where rows are told of, by their keys."""
    found = tomllib.loads(FILE.read_text(encoding="utf-8"))
    return {key: pair[language] for key, pair in found.get(table, {}).items()}


def saying(texts: Texts, table: str, language: Language, *, rows: bool) -> Say:
    """The texts of one language, those of a table of rows.toml before all others where rows are told of."""
    return partial(_said, texts, table, language) if rows else partial(texts, language)


def _said(texts: Texts, table: str, language: Language, key: str, /, **values: str) -> str:
    own = instead(table, language).get(key)
    if own is None:
        return texts(language, key, **values)
    return Template(one(own, values) if language == "en" else own).substitute(values)
