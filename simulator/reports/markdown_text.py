"""Texts of others made safe for Markdown."""

import re

from simulator.reports.words import Words, plain

_SPECIAL = re.compile(r"([\\`*_{}\[\]()#+\-.!|<>~&])")


def escaped(text: str) -> str:
    """Text of others on one line: no markup, no link, and nobody is called by name."""
    line = " ".join(plain(text).split())
    return _SPECIAL.sub(r"\\\1", line).replace("@", "@\u2060").replace("://", ":\u2060//")


def stand_in(words: Words) -> str:
    """That nothing here was said or judged by a model, as a quotation that stands out."""
    return f"> **{words('standin')}** {words('standin_why')}"
