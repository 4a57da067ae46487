"""Lists of names and words, and names in Latin letters of Japanese ones; read when first asked for."""

import re
from functools import cache
from pathlib import Path
from string import ascii_uppercase
from typing import Literal
from unicodedata import normalize

from simulator.core.templates import read_toml

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


def is_rare(told: str, *names: Rare) -> bool:
    """Whether a name stands in one of the grouped lists."""
    rest = told[1:]
    for name in names if rest and " " not in rest else ():
        seconds, longer = _grouped(name).get(told[0], ("", ""))
        if (rest in seconds) if len(rest) == 1 else (f" {rest} " in longer):
            return True
    return False


def usual(told: str) -> str:
    """A name with the usual forms of its kanji: 髙﨑 as 高崎."""
    return told.translate(_USUAL)


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


Span = tuple[int, int]
_FEWEST, _MANY = 3, 5
# Japanese numbers that are free to call or of a company's choice: no person has one.
_NOBODYS = ("0120", "0800", "0570", "0990")
_NOBODYS_NUMBER = re.compile(
    r"(?:(?:0120|0570|0990)(?:[- ]?\d{3}){2}|(?:0120|0570|0990)[- ]?\d{2}[- ]?\d{4}"
    r"|0800[- ]?\d{3}[- ]?\d{4})$"
    r"|(?:\+?1[-. ]?)?\(?8(?:00|33|44|55|66|77|88)\)?[-. ]\d{3}[-. ]\d{4}$"
    r"|0(?:800|808|845|870|300|330|345) \d{3} ?\d{3,4}$"
)
# ZX81KP, as airlines and hotels give them
_LOCATOR = re.compile(r"(?=[A-Z]*\d)[A-Z0-9]{5,8}")
# s.tachibana91, behind a word such as login ID
_LOGIN = re.compile(r"[a-z]{1,12}[.-]?[a-z]{2,16}\d{2,4}")
# NS-1004, A1B2C3D4: what a system numbers
_SERIES = re.compile(
    r"[A-Z]{2,5}-?\d{3,8}(?:-[A-Z0-9]{1,4})?|[A-Z]-\d{4,8}|(?=[A-Z]*\d[A-Z]*\d[A-Z]*\d)(?=\d*[A-Z])[A-Z0-9]{6,12}"
)
# taro_yamada, hiro_0423
_USER_NAME = re.compile(r"[a-z]_[a-z0-9]")


def value(match: re.Match[str]) -> Span:
    """The part of a match that is to be masked: its group `v`, or all of it."""
    return match.span("v") if "v" in match.re.groupindex else match.span()


def luhn(match: re.Match[str]) -> Span | None:
    """A payment card: the digits' Luhn sum is right (ISO/IEC 7812)."""
    digits = [int(d) for d in re.sub(r"\D", "", match[0])]
    doubled = [sum(divmod(2 * d, 10)) for d in digits[-2::-2]]
    return value(match) if len(set(digits)) > 1 and (sum(digits[-1::-2]) + sum(doubled)) % 10 == 0 else None


def my_number(match: re.Match[str]) -> Span | None:
    """A Japanese Individual Number: the twelfth digit checks the eleven before it."""
    digits = [int(d) for d in re.sub(r"\D", "", match[0])]
    rest = sum(d * w for d, w in zip(digits[:11], (6, 5, 4, 3, 2, 7, 6, 5, 4, 3, 2), strict=True)) % 11
    right = 0 if rest <= 1 else 11 - rest
    return value(match) if len(set(digits)) > 1 and digits[11] == right else None


def iban(match: re.Match[str]) -> Span | None:
    """An international bank account number: 1 modulo 97 (ISO 13616)."""
    plain = match[0].replace(" ", "")
    number = "".join(str(10 + ascii_uppercase.index(c)) if c.isalpha() else c for c in plain[4:] + plain[:4])
    return value(match) if 15 <= len(plain) <= 34 and int(number) % 97 == 1 else None


def phone(match: re.Match[str]) -> Span | None:
    """A telephone number: 10 or 11 digits within the country, 8 to 15 with its code; dates are none."""
    written = re.split(r"内線|[a-z]", match[0], flags=re.IGNORECASE)[0]
    digits = re.sub(r"\D", "", written)
    start, end = value(match)
    span = start + (written.startswith("(") and ")" not in written), end
    if written.startswith("+"):
        return span if 8 <= len(digits) <= 15 else None
    national = digits.startswith("0") and not digits.startswith(("00", *_NOBODYS))
    return span if national and len(digits) in (10, 11) else None


def somebodys(match: re.Match[str]) -> Span | None:
    """A telephone number behind a word for one, or of ten digits; free ones are nobody's."""
    told = match["v"] if "v" in match.re.groupindex else match[0]
    return None if is_nobodys(told) else value(match)


def is_nobodys(told: str) -> bool:
    """Whether a number is free to call or a service's: 0120-, 0570-, 1-800-, 0808 ."""
    return bool(_NOBODYS_NUMBER.match(told))


def either(match: re.Match[str]) -> Span | None:
    """The one of the groups `v` and `w` that matched."""
    return match.span("v") if match["v"] else match.span("w")


def abroad(match: re.Match[str]) -> Span | None:
    """A telephone number with 00 and the code of a country."""
    return value(match) if 10 <= len(re.sub(r"\D", "", match[0])) <= 16 else None


def code(match: re.Match[str]) -> Span | None:
    """A number somebody is known by: three digits at least, or capitals with a digit, or a user name."""
    told = match["v"]
    if is_nobodys(told):
        return None
    enough = sum(map(str.isnumeric, told)) >= _FEWEST or _LOCATOR.fullmatch(told) or _LOGIN.fullmatch(told)
    return value(match) if enough or _USER_NAME.search(told) else None


def long_code(match: re.Match[str]) -> Span | None:
    """As `code`, where only a bare "order" or "#" stands before it: five digits at least."""
    if is_nobodys(match["v"]):
        return None
    enough = sum(map(str.isnumeric, match["v"])) >= _MANY or _SERIES.fullmatch(match["v"])
    return value(match) if enough or _USER_NAME.search(match["v"]) else None


def labelled_code(match: re.Match[str]) -> Span | None:
    """A code behind a word and "number", unless it numbers things: 型番号, part number."""
    label = match["label"]
    things = any(label.endswith(word) for word in words("no_label_ja")) or label.lower() in words(
        "no_label_en"
    )
    return None if things else code(match)


def long_labelled_code(match: re.Match[str]) -> Span | None:
    """As `labelled_code`, further away from its label: five digits at least."""
    return labelled_code(match) if long_code(match) else None


def past_date(match: re.Match[str]) -> Span | None:
    """A whole date of the last century that no word such as "since" makes the day of something else."""
    before = match.string[max(0, match.start() - 24) : match.start()]
    behind = match.string[match.end() : match.end() + 12]
    return None if _OTHER_DAY.search(before) or _SINCE.match(behind) else value(match)


_OTHER_DAY = re.compile(
    r"(?i:since|founded|built|established|released|launched|opened|signed|dated|effective|bought|made|joined)"
    r"|創業|創立|設立|発売|開業|開店|施行|制定|竣工|購入|契約|加入|製造|入会|改正|築"
)
_SINCE = re.compile(
    r"に?(?:創業|創立|設立|発売|開業|施行|制定|竣工|購入|契約|加入|製造|入会|改正|から|以降|以前|まで|付|の?地震|の?法)"
)


def spelt_number(match: re.Match[str]) -> Span | None:
    """A telephone number in kanji digits, or a number in spelt digits of seven at least."""
    return value(match) if 10 <= len(re.sub(r"[^〇零一二三四五六七八九]", "", match["v"])) <= 11 else None


def spaced_email(match: re.Match[str]) -> Span | None:
    """Taro_1 @ example.jp: with spaces around the sign, only what no plain word stands before."""
    local = match[0].split("@")[0].strip()
    if re.match(r"\S+@\S+\.[A-Za-z]{2,24}\. ", match[0]):
        return None  # an address, and the sentence behind it
    return value(match) if re.search(r"[\d._+-]", local) or not match[0].startswith(local + " ") else None


def spelt_email(match: re.Match[str]) -> Span | None:
    """An address spelt with signs or words for @ and the dot; two plain words around an "at" are none."""
    return value(match) if _SPELT.search(match[0]) else None


_SPELT = re.compile(r"dot|ド[ッっ]ト|どっと|[(\[]at|アット|あっと|[☆■◎●★◆]")


CHECKS = {
    "somebodys": somebodys,
    "either": either,
    "abroad": abroad,
    "luhn": luhn,
    "my_number": my_number,
    "iban": iban,
    "phone": phone,
    "code": code,
    "long_code": long_code,
    "spelt_email": spelt_email,
    "labelled_code": labelled_code,
    "long_labelled_code": long_labelled_code,
    "past_date": past_date,
    "spelt_number": spelt_number,
    "spaced_email": spaced_email,
}
