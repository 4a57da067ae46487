"""Lists of names and words, and names in Latin letters of Japanese ones; read when first asked for."""

import re
from functools import cache
from pathlib import Path
from typing import Literal
from unicodedata import normalize

from simulator.prompts import read_toml

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


@cache
def words(key: str) -> frozenset[str]:
    """The words of one list of names.toml."""
    return frozenset(str(read_toml(Path(__file__).with_name("names.toml"))[key]).split())


@cache
def any_of(*keys: str, of: tuple[List, ...] = (), without: tuple[str, ...] = ()) -> frozenset[str]:
    """The words of some lists of names.toml, and of the long lists, without those of others."""
    found = frozenset[str]().union(*map(words, keys), *map(listed, of))
    return found.difference(*map(words, without))


def katakana(told: str) -> str:
    """A word in hiragana or half-width kana as the lists have it."""
    return "".join(chr(ord(c) + 0x60) if "ぁ" <= c <= "ゖ" else c for c in normalize("NFKC", told))


@cache
def in_latin(name: List) -> frozenset[str]:
    """The names of a katakana list in Latin letters, as `latin_key` writes them."""
    return frozenset(latin_key(_latin(kana)) for kana in listed(name))


def latin_key(told: str) -> str:
    """Ohno, Oono and Ōno as one: long vowels and the n before b, m and p are written in many ways."""
    plain = normalize("NFKD", told.lower())
    plain = re.sub(r"[^a-z]", "", plain)
    plain = re.sub(r"oh(?![aeiouy])|o[uo]", "o", plain)
    return re.sub(r"m(?=[bmp])", "n", plain.replace("uu", "u"))


def _latin(kana: str) -> str:
    signs = _signs()
    told = "".join(signs.get(sign, "") for sign in re.findall(".[ャュョ]|.", kana))
    return re.sub(r"Q(.)", r"\1\1", told).replace("cch", "tch").replace("Q", "")


@cache
def _signs() -> dict[str, str]:
    pairs = str(read_toml(Path(__file__).with_name("names.toml"))["romaji"]).split()
    return dict(zip(pairs[::2], pairs[1::2], strict=True))
