"""Web and e-mail addresses, telephone numbers, and codes such as order numbers."""

import re
from collections.abc import Iterator

from simulator.specifics.meanings import Found, Kind, Token

_TOP = (
    r"(?:jp|com|net|org|info|biz|io|me|tv|app|dev|shop|site|online|cloud|example|test|gov|edu|uk|us|eu|de|fr)"
)
# Signs that end an address in running text, be they its last part or a full-width bracket behind it.
_PATH = r"[a-z0-9\-._~:/?#@$&'*+=%]"
_LAST = ".:?*'~_-&=#$+@"
_URL = re.compile(
    rf"(?:https?|ftp)://{_PATH}++"
    rf"|(?<![a-z0-9.@_%+/\-])(?:[a-z0-9\-]{{1,63}}+\.){{1,8}}{_TOP}(?![a-z0-9\-]|\.[a-z0-9])(?![a-z0-9._%+\-]{{0,64}}@)(?:[/?#]{_PATH}*+)?",
    re.IGNORECASE | re.ASCII,
)
_EMAIL = re.compile(
    r"(?<![a-z0-9._%+\-])[a-z0-9._%+\-]{1,64}+@(?:[a-z0-9\-]{1,63}+\.){1,8}[a-z]{2,24}", re.ASCII
)
_DASH = r"\-ー"
_GAP = rf"[ {_DASH}.・]{{0,2}}"
_PHONE = re.compile(
    rf"(?<![\d.,])(?<!\d[{_DASH}/])(?:\+\d{{1,3}}{_GAP}(?:\(0\){_GAP})?)?\(?\d{{1,5}}\)?{_GAP}\(?\d{{1,4}}\)?"
    rf"(?:{_GAP}\d{{2,4}}){{1,2}}(?![\da-z,]|[{_DASH}]\d)"
)
_FREEPHONE = re.compile(rf"(?:1{_GAP})?\(?([2-9]\d\d)\)?[ {_DASH}.]{{1,2}}(\d{{3}})[ {_DASH}.](\d{{4}})")
_SHORT = re.compile(r"(?<![\d.])(?:#\d{4}|1\d\d(?=番(?![号目地]))|(?<=call )1\d\d|(?<=dial )1\d\d)(?![\d,])")
_CODE = re.compile(
    rf"(?<![a-z0-9{_DASH}_.,#])[a-z0-9]{{1,40}}+(?:[{_DASH}_][a-z0-9]{{1,40}}+){{0,8}}+(?![a-z0-9]|,\d{{3}})"
)
# From as many digits on, a number without unit is a code: an order, a contract, a customer.
_FEWEST, _LONGEST = 5, 40


def urls(text: str) -> Iterator[Found]:
    """Web addresses, the same with and without scheme and final slash; capitals count in the path."""
    for match in _URL.finditer(text):
        written = re.split(r"(?<=.)(?:https?|ftp)://", match[0], flags=re.IGNORECASE)[0].rstrip(_LAST)
        host, slash, path = re.sub(r"^\w+://", "", written).partition("/")
        if "." in host or host.startswith("localhost"):
            token = Token("url", "https://" + (host.lower() + slash + path).rstrip(_LAST + "/"))
            yield Found(match.start(), match.start() + len(written), "url", token)


def emails(text: str) -> Iterator[Found]:
    """E-mail addresses; capitals do not count."""
    for match in _EMAIL.finditer(text):
        yield Found(*match.span(), "email", Token("email", match[0].strip(".")))


def phones(text: str) -> Iterator[Found]:
    """Telephone numbers as their national digits: +81-3-1234-5678 is 0312345678; also #9110 and 188番."""
    for match in _PHONE.finditer(text):
        if number := _national(match[0]):
            opens_around = match[0].startswith("(") and ")" not in match[0]
            yield Found(match.start() + opens_around, match.end(), "phone", Token("phone", number))
    for match in _SHORT.finditer(text):
        if match[0].startswith("#"):
            yield Found(*match.span(), "phone", Token("phone", match[0]))
        else:
            yield Found(*match.span(), "phone", Token("phone", f"{match[0]}番"))


def codes(text: str) -> Iterator[Found]:
    """Order numbers and other codes: at least five digits, with or without letters and hyphens."""
    for match in _CODE.finditer(text):
        plain = re.sub(rf"[{_DASH}_]", "", match[0])
        # Letters at the end are rather a unit that nobody listed.
        is_code = sum(map(str.isdigit, plain)) >= _FEWEST and plain[-1].isdigit()
        if not is_code or len(plain) > _LONGEST:
            continue
        is_phone = plain.isdigit() and plain[0] == "0" and len(plain) in (10, 11)
        kind: Kind = "phone" if is_phone else "number"
        yield Found(*match.span(), kind, Token(kind, plain))


def _national(written: str) -> str:
    """The digits a caller within the country dials, or '' when this is no telephone number."""
    digits = re.sub(r"\D", "", written)
    if written.startswith(("+81", "+44")):
        digits = "0" + digits[2:].removeprefix("0")
        return digits if len(digits) in (10, 11) else ""
    american = _FREEPHONE.fullmatch(written.removeprefix("+"))
    if american:
        return "-".join(american.groups())
    if written.startswith("+"):
        return "+" + digits if 8 <= len(digits) <= 15 else ""
    # Digits in groups, so that a long number without any is left to be a code.
    return digits if digits.startswith("0") and len(digits) in (10, 11) else ""
