"""Lists of names and words, in names.toml and lists/, each read when it is first asked for."""

import re
from functools import cache
from pathlib import Path
from typing import Literal
from unicodedata import normalize

from simulator.core.templates import read_toml

# Start and end of what is masked.
Span = tuple[int, int]

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
# Long lists, grouped by the first sign.
Rare = Literal[
    "rare_family_ja",
    "rare_family_ja_common",
    "rare_given_ja",
    "rare_family_kana",
    "rare_foreign_kana",
    "places_ja",
    "rare_family_en",
    "rare_given_en",
    "rare_given_en_common",
]
# 髙﨑, 邊: names are written with old forms and looked up with the usual ones.
_USUAL = str.maketrans(
    "﨑碕髙濵濱嶋嶌邊邉齋齊斉澤廣國德櫻條眞惠榮龍圓壽彌實藏關藪淺淵渕廐瀧槇禮晄峯冨羣鷗靜豐會國靏鐵",
    "崎崎高浜浜島島辺辺斎斎斎沢広国徳桜条真恵栄竜円寿弥実蔵関薮浅渕渕厩滝槙礼晃峰富群鴎静豊会国鶴鉄",
)


@cache
def _grouped(name: Rare) -> dict[str, tuple[str, str]]:
    """By the first sign of a name: the second ones of names of two, and the rests of longer ones."""
    path = Path(__file__).with_name("lists") / f"{name}.txt"
    lines = (line.split(" ", 2) for line in path.read_text(encoding="utf-8").splitlines())
    return {first: (seconds, f" {' '.join(longer)} ") for first, seconds, *longer in lines}


def is_rare(text: str, *names: Rare) -> bool:
    """Whether a name stands in one of the grouped lists."""
    rest = text[1:]
    for name in names if rest and " " not in rest else ():
        seconds, longer = _grouped(name).get(text[0], ("", ""))
        if (rest in seconds) if len(rest) == 1 else (f" {rest} " in longer):
            return True
    return False


def usual_kanji(text: str) -> str:
    """A name with the usual forms of its kanji: 髙﨑 as 高崎."""
    return text.translate(_USUAL)


@cache
def name_list(name: List) -> frozenset[str]:
    """The names of one list."""
    path = Path(__file__).with_name("lists") / f"{name}.txt"
    return frozenset(path.read_text(encoding="utf-8").split())


@cache
def word_list(key: str) -> frozenset[str]:
    """The words of one list of names.toml."""
    return frozenset(str(read_toml(Path(__file__).with_name("names.toml"))[key]).split())


@cache
def any_of(*keys: str, of: tuple[List, ...] = (), without: tuple[str, ...] = ()) -> frozenset[str]:
    """The words of some lists of names.toml, and of the long lists, without those of others."""
    found = frozenset[str]().union(*map(word_list, keys), *map(name_list, of))
    return found.difference(*map(word_list, without))


def katakana(text: str) -> str:
    """A word in hiragana or half-width kana as the lists have it."""
    return "".join(chr(ord(c) + 0x60) if "ぁ" <= c <= "ゖ" else c for c in normalize("NFKC", text))


@cache
def latin_forms(name: List) -> frozenset[str]:
    """The names of a katakana list in Latin letters, as `latin_key` writes them."""
    return frozenset(latin_key(_latin(kana)) for kana in name_list(name))


def latin_key(text: str) -> str:
    """Ohno, Oono and Ōno as one: long vowels and the n before b, m and p are written in many ways."""
    plain = normalize("NFKD", text.lower())
    plain = re.sub(r"[^a-z]", "", plain)
    plain = re.sub(r"oh(?![aeiouy])|o[uo]", "o", plain)
    return re.sub(r"m(?=[bmp])", "n", plain.replace("uu", "u"))


def _latin(kana: str) -> str:
    signs = _signs()
    text = "".join(signs.get(sign, "") for sign in re.findall(".[ャュョ]|.", kana))
    return re.sub(r"Q(.)", r"\1\1", text).replace("cch", "tch").replace("Q", "")


@cache
def _signs() -> dict[str, str]:
    pairs = str(read_toml(Path(__file__).with_name("names.toml"))["romaji"]).split()
    return dict(zip(pairs[::2], pairs[1::2], strict=True))


def masked_part(match: re.Match[str]) -> Span:
    """The part of a match that is to be masked: its group `v`, or all of it."""
    return match.span("v") if "v" in match.re.groupindex else match.span()
