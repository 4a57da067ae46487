"""A JSON answer as texts by output, to be held against the reference's."""

import json
import re
from collections.abc import Collection, Iterator, Mapping
from typing import Any

from simulator.core.replies import encodable
from simulator.text.numerals import number_text

_FENCED = re.compile(r"```[^\n`]*\n(.*?)(?:```|\Z)", re.DOTALL)
_WHOLE_FENCE = re.compile(r"\s*```[^\n`]*\n(.*?)\n?\s*```\s*", re.DOTALL)
# So many braces are tried: what opens more of them and closes none is no JSON.
_MOST_BRACES = 300


# Numbers stay as they were written: no digits are lost, and none is too many.
_DECODER = json.JSONDecoder(parse_int=str, parse_float=str, parse_constant=str, strict=False)

Object = dict[str, Any]


def whole_object(text: str) -> Object | None:
    """The JSON object that a text is, also as one code block; None when it is anything else."""
    bare = unfenced(text).strip()
    found = _decoded(bare, 0) if bare.startswith("{") else None
    return found[0] if found and found[1] == len(bare) else None


def unfenced(text: str) -> str:
    """What is inside of a text that is nothing but one code block; every other text as it is."""
    fenced = _WHOLE_FENCE.fullmatch(text)
    return fenced[1] if fenced else text


def object_within(text: str, wanted: Collection[str] = ()) -> Object | None:
    """The JSON object of an answer, also in a code block or between sentences; None where there is none.

    Of several the last counts that has one of the wanted keys, or else the last.
    """
    if (whole := whole_object(text)) is not None:
        return whole
    found = [each for block in _FENCED.findall(text) for each in _objects(block)] or list(_objects(text))
    fitting = [each for each in found if not each.keys().isdisjoint(wanted)]
    chosen = fitting or found
    return chosen[-1] if chosen else None


def _objects(text: str) -> Iterator[Object]:
    """The outermost objects of a text, in order."""
    at, tried = text.find("{"), 0
    while at >= 0 and tried < _MOST_BRACES:
        decoded, tried = _decoded(text, at), tried + 1
        if decoded is not None:
            yield decoded[0]
        at = text.find("{", decoded[1] if decoded else at + 1)


def _decoded(text: str, at: int) -> tuple[Object, int] | None:
    try:
        value, end = _DECODER.raw_decode(text, at)
        value = encodable(value)
        _text(value)
    except (ValueError, RecursionError):  # what is too deep to be written again is as good as none
        return None
    return (value, end) if isinstance(value, dict) else None


def text_at(found: Mapping[str, Any], name: str) -> str | None:
    """The value of an output as text; `address.city` and `items.0` lead inside; None where it is missing.

    Texts stay as they are, numbers are in their plain form, lists and objects are canonical JSON: keys in
    order, no spaces.
    """
    if name in found:
        return output_text(found[name])
    value: Any = found
    for part in name.split("."):
        if isinstance(value, dict) and part in value:
            value = value[part]
        elif isinstance(value, list) and part.isdecimal() and int(part) < len(value):
            value = value[int(part)]
        else:
            return None
    return output_text(value)


def output_text(value: Any) -> str:
    """A JSON value as the text that is compared."""
    if isinstance(value, str):
        number = number_text(value)
        return str(value) if number is None else number
    return _text(value)


def _text(value: Any) -> str:
    """Canonical JSON; a number is the same whether it is in quotation marks or not."""
    if isinstance(value, str):
        number = number_text(value)
        return json.dumps(value, ensure_ascii=False) if number is None else number
    if isinstance(value, dict):
        inside = (f"{json.dumps(key, ensure_ascii=False)}:{_text(value[key])}" for key in sorted(value))
        return "{" + ",".join(inside) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(_text, value)) + "]"
    return json.dumps(value)
