"""Regular expressions that are compiled when they are first used: a run uses half of all, help none."""

import re
from collections.abc import Callable, Iterator
from functools import cached_property
from typing import Any


class LazyPattern:
    """What `re.compile` returns, from its first use on."""

    def __init__(self, text: str, flags: int = 0) -> None:
        """`text` and `flags` as of `re.compile`."""
        self.text, self.flags = text, flags

    @cached_property
    def compiled(self) -> re.Pattern[str]:
        """The pattern of `re`. Raises re.error for what is none."""
        return re.compile(self.text, self.flags)

    def search(self, text: str, at: int = 0) -> re.Match[str] | None:
        """The first match from a place on; None without one."""
        return self.compiled.search(text, at)

    def match(self, text: str, at: int = 0) -> re.Match[str] | None:
        """The match that begins at a place; None without one."""
        return self.compiled.match(text, at)

    def fullmatch(self, text: str) -> re.Match[str] | None:
        """The match that is the whole text; None without one."""
        return self.compiled.fullmatch(text)

    def sub(self, by: str | Callable[[re.Match[str]], str], text: str) -> str:
        """The text with every match replaced."""
        return self.compiled.sub(by, text)

    def findall(self, text: str) -> list[Any]:
        """All matches: texts, or tuples of the groups."""
        return self.compiled.findall(text)

    def finditer(self, text: str, at: int = 0) -> Iterator[re.Match[str]]:
        """All matches in order."""
        return self.compiled.finditer(text, at)

    def split(self, text: str) -> list[str | Any]:
        """The text between the matches, with the groups of these."""
        return self.compiled.split(text)
