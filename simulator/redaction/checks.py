"""What besides its form makes a number one of its kind: check digits, lengths, and the words around it."""

import re
from string import ascii_uppercase

Span = tuple[int, int]
_FEWEST, _MANY = 3, 5
# ZX81KP, as airlines and hotels give them
_LOCATOR = re.compile(r"(?=[A-Z]*\d)[A-Z0-9]{5,8}")
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
    if written.startswith("+"):
        return value(match) if 8 <= len(digits) <= 15 else None
    national = digits.startswith("0") and not digits.startswith("00")
    return value(match) if national and len(digits) in (10, 11) else None


def code(match: re.Match[str]) -> Span | None:
    """A number somebody is known by: three digits at least, or capitals with a digit, or a user name."""
    told = match["v"]
    enough = sum(map(str.isdigit, told)) >= _FEWEST or _LOCATOR.fullmatch(told)
    return value(match) if enough or _USER_NAME.search(told) else None


def long_code(match: re.Match[str]) -> Span | None:
    """As `code`, where only a bare "order" or "#" stands before it: five digits at least."""
    enough = sum(map(str.isdigit, match["v"])) >= _MANY
    return value(match) if enough or _USER_NAME.search(match["v"]) else None


def spelt_email(match: re.Match[str]) -> Span | None:
    """An address spelt with at and dot; two plain words around an "at" are none."""
    return value(match) if re.search(r"dot|ドット|[(\[]at|アット", match[0]) else None


CHECKS = {
    "luhn": luhn,
    "my_number": my_number,
    "iban": iban,
    "phone": phone,
    "code": code,
    "long_code": long_code,
    "spelt_email": spelt_email,
}
