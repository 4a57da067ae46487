"""What of a customer's words must stay as it is, however they are put: codes, addresses, numbers, negations.

Found by their form, without a dictionary, for Japanese and English alike.
"""

import re
from collections import Counter

from simulator.counting.polarity import denied
from simulator.counting.quantities import quantities
from simulator.counting.segments import normalise
from simulator.typography import straight

# Full-width forms as plain ones, character for character, so that positions stay the same.
_PLAIN = str.maketrans(
    {code: code - 0xFEE0 for code in range(0xFF01, 0xFF5F)} | {0x3000: 0x20, 0xFFE5: 0xA5, 0xFFE1: 0xA3}
)
_ADDRESS = (
    r"[A-Za-z][A-Za-z0-9+.\-]{1,15}://[!-~]+"
    r"|[A-Za-z0-9._%+\-]{1,64}@[A-Za-z0-9\-]+(?:\.[A-Za-z0-9\-]+)+"
    r"|[A-Za-z0-9\-]{1,63}(?:\.[A-Za-z0-9\-]{1,63})*\.[A-Za-z]{2,}(?![A-Za-z0-9])(?:/[!-~]*)?"
)
_MONEY = (
    r"[¥$€£]\s?\d[\d,.]*"
    r"|\d[\d,.]*\s?(?:[千万億]\s?\d*\s?)*(?:円|ドル|ユーロ|(?:yen|dollars?|euros?|pounds?|cents?|usd|jpy|eur)\b)"
)
# Words, numbers and what joins them; a code is one with a digit and with a letter or a joint in it:
# E-205, 10GB, 0120-000-371, 9:00, 3.5.
_RUN = r"(?P<run>[A-Za-z0-9]+(?:[-_./:#][A-Za-z0-9]+)*)"
_NEGATION = (
    r"な(?:[いくし]|かっ|けれ)|(?:ませ|まへ)ん|[^ま]ずに|[不無未非]|禁止|対象外|[だダ][めメ]|無理"
    r"|\b[A-Za-z]+n't\b|\b(?:not|no|never|none|nothing|nobody|nowhere|neither|nor|without|cannot|unable)\b"
)
_EXACT = re.compile(f"{_ADDRESS}|{_MONEY}|{_NEGATION}|{_RUN}", re.IGNORECASE)
_CODES = re.compile(f"{_ADDRESS}|{_RUN}", re.IGNORECASE)
_DIGITS = re.compile(r"\d+")


def half_width(text: str) -> str:
    """The text with full-width letters, digits and signs, and curly marks, as plain ones, in place."""
    return straight(text).translate(_PLAIN)


def exact_spans(text: str) -> list[tuple[int, int]]:
    """Where (start, end) codes, addresses, telephone numbers, amounts of money and negations stand."""
    return [match.span() for match in _EXACT.finditer(half_width(text)) if _is_exact(match)]


def codes(text: str) -> Counter[str]:
    """The codes, addresses and telephone numbers in plain lower case, and how often each is there."""
    return Counter(match[0].lower() for match in _CODES.finditer(half_width(text)) if _is_exact(match))


def is_same_matter(one: str, other: str) -> bool:
    """Whether two ways of typing a line have the same codes, numbers and negations, in the same order."""
    told = ((_exact(text), quantities(text), denied(text)) for text in (one, other))
    return next(told) == next(told)


def _is_exact(match: re.Match[str]) -> bool:
    run = match["run"]
    return run is None or (not run.isdigit() and any(map(str.isdigit, run)))


def _exact(text: str) -> tuple[list[str], list[str]]:
    parts = [half_width(text)[start:end].lower() for start, end in exact_spans(text)]
    return parts, _DIGITS.findall(normalise(text))
