"""Numbers as Japanese and English write them: 12,345.6, 1万5千, 一万五千, 二〇二四, two, 1.5 million.

`NUMERAL` is the pattern that finds a number in a normalised text (NFKC, lower case), `value_of` what it is
worth. What stands beside a number (a unit, a currency, a date) is no matter of this
module: who reads it builds a pattern around `NUMERAL`.

    1万5千, 一万五千       -> 15000
    二〇二四, 2024         -> 2024 (digits in a row are read as digits)
    1.5 million            -> 1500000
    twenty-four            -> 24
    万                     -> None, which counts nothing

Values are `Decimal`: 0.1 + 0.2 has to be 0.3 where an answer is held against a reference.
"""

import re
from decimal import Context, Decimal

from simulator.text.typography import nfkc, straight

# The formal digits 壱, 弐 and 参 are those of contracts and banknotes.
_DIGITS = {digit: value for value, digit in enumerate("〇一二三四五六七八九")} | {
    "零": 0, "壱": 1, "弐": 2, "参": 3,
}  # fmt: skip
_TENS = {"十": 10, "拾": 10, "百": 100, "千": 1000}
_MYRIADS = {"万": 10**4, "億": 10**8, "兆": 10**12}
_WORDS = {
    "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6,
    "seven": 7, "eight": 8, "nine": 9, "ten": 10, "eleven": 11, "twelve": 12,
    "thirteen": 13, "fourteen": 14, "fifteen": 15, "sixteen": 16, "seventeen": 17, "eighteen": 18,
    "nineteen": 19, "twenty": 20, "thirty": 30, "forty": 40, "fifty": 50, "sixty": 60,
    "seventy": 70, "eighty": 80, "ninety": 90,
}  # fmt: skip
_POWERS = {"hundred": 100, "thousand": 1000, "million": 10**6, "billion": 10**9}
# More digits than any numeral that is read can have, so that nothing is rounded.
_EXACT = Context(prec=80)

KANJI = "".join((*_DIGITS, *_TENS, *_MYRIADS))
# Digits with commas between thousands and a decimal part. Bounded: what is longer is no number of anything.
PLAIN = r"\d{1,18}+(?:,\d{3}(?!\d)){0,5}(?:\.\d{1,6}+)?(?!\d)"
# Digits with powers behind them: 1万5千, 2億3,000万, 1.5 million.
_SCALED = (
    rf"{PLAIN}(?:[百千万億兆]{{1,2}}+(?:{PLAIN})?+){{0,4}}+(?: ?(?:hundred|thousand|million|billion)\b)?"
)
_ONES = "|".join(sorted(_WORDS, key=len, reverse=True))
# twenty-four, two hundred thousand: at most six words, so that no text makes it slow.
_SPELT = rf"\b(?:{_ONES})(?:[- ](?:{'|'.join(_POWERS)}|{_ONES})){{0,5}}\b"
# Not within another number, nor in 数千, 第三, 三分の一.
NUMERAL = rf"(?:(?<![\d{KANJI}数何幾第])(?<![\d][.,])(?:{_SCALED}|[{KANJI}]{{1,24}}+)|{_SPELT})"

_MOST_PIECES = 40
_SPLIT = re.compile(rf"{PLAIN}|[{KANJI}]|[a-z]+")


def value_of(numeral: str) -> Decimal | None:
    """The value of a numeral in lower case; None for what counts nothing (万), and from 10 to the 18th on.

    Kanji digits in a row (二〇二四) have no such limit. A numeral of more than `_MOST_PIECES` pieces has no
    value; every digit in kanji is a piece.
    """
    pieces = _SPLIT.findall(numeral)
    if not 0 < len(pieces) <= _MOST_PIECES:
        return None
    if all(piece in _DIGITS for piece in pieces) and len(pieces) > 1:
        return Decimal("".join(str(_DIGITS[piece]) for piece in pieces))
    total = _spelt(pieces) if pieces[0] in _WORDS else _summed(pieces)
    return None if total is None or total >= 10**18 else total


def digits_of(value: Decimal) -> str:
    """The value without exponent and needless zeros: 10000, 0.5.

    As a text, because it is the canonical spelling by which details are looked up.
    """
    return f"{value.normalize(_EXACT):f}" if value else "0"


def _summed(pieces: list[str]) -> Decimal | None:
    """Powers of ten below 10,000 gather in a section, 万 and 億 close it; a lone 万 counts nothing.

    2億3,000万 is 2 x 10^8 + 3,000 x 10^4. "two hundred thousand" multiplies within its section likewise.
    """
    total, section = Decimal(0), Decimal(0)
    last: Decimal | None = None
    for piece in pieces:
        if piece in _TENS:
            section, last = section + _TENS[piece] * (last or 1), None
        elif power := _MYRIADS.get(piece) or _POWERS.get(piece):
            section += last or 0
            if not section:
                return None
            total, section, last = total + section * power, Decimal(0), None
        elif last is not None or (last := _single(piece)) is None:
            return None
    return total + section + (last or 0)


def _single(piece: str) -> Decimal | None:
    if piece in _DIGITS:
        return Decimal(_DIGITS[piece])
    return Decimal(piece.replace(",", "")) if piece[0].isdecimal() else None


def _spelt(words: list[str]) -> Decimal:
    """English words: tens and ones add up, hundred multiplies, thousand and above close a section."""
    total = section = 0
    for word in words:
        power = _POWERS.get(word)
        if power is None:
            section += _WORDS.get(word, 0)
        elif power == 100:
            section *= power
        else:
            total, section = total + section * power, 0
    return Decimal(total + section)


# Numbers of more digits than this are codes, and a larger exponent would write a page of zeros.
_LONGEST = 40
# A whole text that is one number: -5, 1,000, .5, 1e3. No leading zero (007), no sign alone, no unit; the
# comma only where it parts thousands.
_NUMBER = re.compile(
    r"[+-]?(?:[1-9][0-9]{0,2}(?:,[0-9]{3})+|0|[1-9][0-9]*)?(?:(?<=[0-9])|(?=\.))(?:\.[0-9]+)?(?:[eE][+-]?[0-9]{1,2})?"
)


def number_text(text: str) -> str | None:
    """A text that is nothing but a number, written plainly; None for every other text.

    「１，０００」 is 1000, 1.50 is 1.5, 1e3 is 1000. With a leading zero it is a code, not a number: 007.
    """
    plain = nfkc(straight(text)).strip()
    if len(plain) > _LONGEST or not plain or not _NUMBER.fullmatch(plain):
        return None
    written = f"{Decimal(plain.replace(',', '')):f}"
    if "." in written:
        written = written.rstrip("0").rstrip(".")
    return "0" if written in ("-0", "") else written
