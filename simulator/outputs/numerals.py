"""Numbers as people and models write them, in one form: 1.0, "１" and 1 are the same."""

import re
import unicodedata
from decimal import Decimal

from simulator.typography import straight

# Numbers of more digits than this are codes, and a larger exponent would write a page of zeros.
_LONGEST = 40
_NUMBER = re.compile(
    r"[+-]?(?:[1-9][0-9]{0,2}(?:,[0-9]{3})+|0|[1-9][0-9]*)?(?:(?<=[0-9])|(?=\.))(?:\.[0-9]+)?(?:[eE][+-]?[0-9]{1,2})?"
)


def number_text(text: str) -> str | None:
    """A text that is nothing but a number, written plainly; None for every other text.

    「１，０００」 is 1000, 1.50 is 1.5, 1e3 is 1000. With a leading zero it is a code, not a number: 007.
    """
    plain = unicodedata.normalize("NFKC", straight(text)).strip()
    if len(plain) > _LONGEST or not plain or not _NUMBER.fullmatch(plain):
        return None
    written = f"{Decimal(plain.replace(',', '')):f}"
    if "." in written:
        written = written.rstrip("0").rstrip(".")
    return "0" if written in ("-0", "") else written
