"""The patterns of patterns.toml, compiled, each with its check."""

import re
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from simulator.core.templates import read_toml
from simulator.core.types import Language
from simulator.redaction.addresses import CHECKS as ADDRESSES
from simulator.redaction.checks import CHECKS as NUMBERS
from simulator.redaction.checks import Span, value
from simulator.redaction.names import CHECKS as NAMES

FILE = Path(__file__).with_name("patterns.toml")
_PART = re.compile("«([a-z_]+)»")
_CHECKS = NUMBERS | NAMES | ADDRESSES

Check = Callable[[re.Match[str]], Span | None]


class Pattern(NamedTuple):
    """One kind of personal data in one form; `check` gives what of a match is masked, or None.

    What a text must have for any match is told by `needs`, so that most patterns are not tried on most texts.
    """

    kind: str
    needs: frozenset[str]
    regex: re.Pattern[str]
    check: Check


@cache
def patterns() -> tuple[Pattern, ...]:
    """All patterns, the one that names an overlap first."""
    tables = read_toml(FILE)
    return tuple(
        Pattern(
            table["kind"],
            frozenset(table.get("needs", "").split()),
            re.compile(_filled(table["pattern"], tables["parts"])),
            _CHECKS[table["check"]] if "check" in table else value,
        )
        for table in tables["find"]
    )


@cache
def mask(kind: str, language: Language) -> str:
    """What stands for something of this kind: [電話番号] or [phone number]."""
    return str(read_toml(FILE)["masks"][kind][language == "en"])


@cache
def masks() -> re.Pattern[str]:
    """Every mask in either language."""
    both = [one for pair in read_toml(FILE)["masks"].values() for one in pair]
    return re.compile("|".join(map(re.escape, both)))


@cache
def kinds_of_masks() -> dict[str, str]:
    """The kind that each mask of either language stands for."""
    return {one: kind for kind, pair in read_toml(FILE)["masks"].items() for one in pair}


_SIGNS = {
    "digit": re.compile(r"\d"),
    "latin": re.compile("[A-Za-zÀ-žḀ-ỿ]"),
    "japanese": re.compile("[々-〇ぁ-ヿ㐀-鿿豈-﫿ｦ-ﾟ𠀀-𯨟]"),
    "mask": re.compile("\ue000"),
}


def signs(text: str) -> frozenset[str]:
    """Which of digits, Latin letters, Japanese ones and masks a text has."""
    return frozenset(name for name, sign in _SIGNS.items() if sign.search(text))


def _filled(pattern: str, parts: dict[str, Any]) -> str:
    while _PART.search(pattern):
        pattern = _PART.sub(lambda part: str(parts[part[1]]), pattern)
    return pattern
