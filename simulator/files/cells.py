"""What a worksheet's cell shows, as text: 7 in the format 000 is 007."""

import re
from datetime import date, datetime, time, timedelta
from decimal import ROUND_HALF_UP, Decimal, localcontext

from simulator.core.replies import encodable

# A number format's pieces: a quoted or escaped literal, a space or filling, digits, any other character.
_PIECE = re.compile(r'"(?P<quoted>[^"]*)"|\\(?P<escaped>.)|[_*].|(?P<digits>[0#,.]*[0#]%?)|(?P<other>.)')
# Colours, conditions and locales; `[$¥-411]` is the currency ¥.
_BRACKETS = re.compile(r"\[(?:\$(?P<currency>[^\]\-\"]*))?[^\]]*\]")
_LARGEST = 10**15
_MOST_PLACES = 30
_DIGITS = re.compile(r"(?P<whole>[#,0]*)(?:\.(?P<places>0+))?(?P<percent>%?)")
_ESCAPED = re.compile("_x([0-9A-Fa-f]{4})_")


def shown_text(value: object, number_format: str = "General") -> str:
    """The text that a cell with this value and this number format shows.

    Dates are ISO 8601; a format that this cannot follow gives the plain number.
    """
    match value:
        case None:
            return ""
        case str():
            return _ESCAPED.sub(_character, value).replace("\r\n", "\n").replace("\r", "\n")
        case bool():
            return str(value).upper()
        case date() | time() | timedelta():
            return _moment(value)
        case int() | float() if abs(value) < _LARGEST:
            return _formatted(Decimal(repr(value)), number_format) or _plain(value)
    return str(value)


def _character(escaped: re.Match[str]) -> str:
    return str(encodable(chr(int(escaped[1], 16))))


def _moment(value: date | time | timedelta) -> str:
    """A day without a time that nobody wrote; hours go beyond 24."""
    if isinstance(value, timedelta):
        minutes, seconds = divmod(round(value.total_seconds()), 60)
        return f"{minutes // 60}:{minutes % 60:02}:{seconds:02}"
    if isinstance(value, datetime) and value.time() == time():
        return value.date().isoformat()
    return value.isoformat()


def _plain(value: float) -> str:
    """As Excel shows it: 15 digits, and no decimals where there are none."""
    return str(int(value)) if int(value) == value else f"{value:.15g}"


def _formatted(value: Decimal, number_format: str) -> str:
    """A number in a format of literals around one group of digits; empty for any other format."""
    positive, _, rest = number_format.partition(";")
    negative = rest.partition(";")[0]
    section = negative if value < 0 and negative else positive
    section = _BRACKETS.sub(lambda found: f'"{found["currency"] or ""}"', section)
    pieces = list(_PIECE.finditer(section))
    groups = [piece for piece in pieces if piece["digits"]]
    strange = any(re.match(r"[\w?@/,.]", piece["other"] or " ", re.ASCII) for piece in pieces)
    parts = _DIGITS.fullmatch(groups[0]["digits"]) if len(groups) == 1 and not strange else None
    if parts is None or "0" not in parts[0] or len(parts["places"] or "") > _MOST_PLACES:
        return ""
    number = _digits(abs(value), parts)
    text = "".join(number if piece["digits"] else _literal(piece) for piece in pieces).strip()
    return f"-{text}" if value < 0 and not negative else text


def _literal(piece: re.Match[str]) -> str:
    return piece["quoted"] or piece["escaped"] or piece["other"] or ""


def _digits(value: Decimal, parts: re.Match[str]) -> str:
    places = len(parts["places"] or "")
    with localcontext(prec=50):
        scaled = value * 100 if parts["percent"] else value
        whole, _, decimals = str(scaled.quantize(Decimal(1).scaleb(-places), ROUND_HALF_UP)).partition(".")
    padded = whole.zfill(parts["whole"].count("0"))
    grouped = f"{int(padded):,}" if "," in parts["whole"] else padded
    return grouped + (f".{decimals}" if decimals else "") + parts["percent"]
