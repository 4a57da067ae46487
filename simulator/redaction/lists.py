"""Lists of names, one a line, read when they are first asked for."""

from functools import cache
from pathlib import Path
from typing import Literal

List = Literal[
    "family_ja",
    "family_ja_common",
    "given_ja",
    "given_ja_common",
    "family_kana",
    "given_kana",
    "given_en",
    "family_en",
]


@cache
def listed(name: List) -> frozenset[str]:
    """The names of one list."""
    path = Path(__file__).with_name("lists") / f"{name}.txt"
    return frozenset(path.read_text(encoding="utf-8").split())
