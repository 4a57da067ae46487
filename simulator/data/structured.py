"""Rows of JSON, JSONL and YAML files, each with the line it begins on."""

import json
import re
from collections.abc import Iterable, Iterator
from itertools import chain
from pathlib import Path
from typing import ClassVar

import yaml
from pydantic import JsonValue

from simulator.core.errors import CaseFileError
from simulator.core.messages import _
from simulator.data.files import MAX_AT_ONCE, printable, quote, too_large
from simulator.data.values import Row, RowFault, Rows, check_columns, is_storable, row_fault

_SPACE = " \t\n\r\ufeff"


def jsonl_rows(path: Path, lines: Iterator[str]) -> Rows:
    """The objects of a file that is read line by line.

    The first line that is not an object, and the rest of the file behind it, are read by `json_rows`.
    """
    for number, line in enumerate(lines, 1):
        start = _skip(line, 0)
        if start == len(line):
            continue
        try:
            value, end = _DECODER.raw_decode(line, start)
            whole = isinstance(value, dict) and _skip(line, end) == len(line)
        except (ValueError, RecursionError):
            whole = False
        if not whole:  # a list, an object over several lines or several on one, or a mistake
            yield from json_rows(path, "".join(_up_to_the_limit(path, chain((line,), lines))), number)
            return
        yield _row(path, number, value, line)


def _up_to_the_limit(path: Path, lines: Iterable[str]) -> Iterator[str]:
    held = 0
    for line in lines:
        held += len(line)
        if held > MAX_AT_ONCE:
            raise CaseFileError(_("{path}: {why}.", path=path, why=too_large(MAX_AT_ONCE, unpacked=False)))
        yield line


def json_rows(path: Path, text: str, first: int = 1) -> Rows:
    """The objects of a JSON list, or of a sequence of objects (JSONL), in one pass.

    `first` is the line that the text begins on. In a list nothing behind a mistake can be read.
    """
    position = _skip(text, 0)
    in_list = text[position] == "["
    position = _skip(text, position + in_list)
    line = first + text.count("\n", 0, position)
    while position < len(text) and not (in_list and text[position] == "]"):
        try:
            value, end = _decoded(path, line, text, position, first)
        except RowFault as fault:
            if in_list:
                raise
            yield fault
            end = text.find("\n", position) + 1 or len(text)
        else:
            row = _row(path, line, value, text[position:end])
            del value  # which may be as large as the file
            yield row
        after = _skip(text, end)
        if in_list and text.startswith(",", after):
            after = _skip(text, after + 1)
        elif in_list and after < len(text) and text[after] != "]":
            raise row_fault(path, line, _("a comma is missing after this object."))
        line += text.count("\n", position, after)
        position = after
    if in_list and position >= len(text):
        raise row_fault(path, line, _("the list is not closed with ]; the file was cut off."))


def _skip(text: str, position: int) -> int:
    while position < len(text) and text[position] in _SPACE:
        position += 1
    return position


# pandas and others write a missing value as NaN, which is not valid JSON.
_DECODER = json.JSONDecoder(parse_constant=lambda _: None)


def _decoded(path: Path, line: int, text: str, position: int, first: int) -> tuple[JsonValue, int]:
    try:
        return _DECODER.raw_decode(text, position)
    except json.JSONDecodeError as error:
        at = error.lineno + first - 1
        what = _(
            "not valid JSON ({problem}, at line {line:d}, character {column:d}).",
            problem=error.msg,
            line=at,
            column=error.colno,
        )
    except RecursionError:
        what = _("nested too deeply.")
    except ValueError:
        what = _("a number with too many digits; write it as text.")
    raise row_fault(path, line, what)


def _row(path: Path, line: int, value: JsonValue, raw: str) -> Row | RowFault:
    if not isinstance(value, dict):
        return row_fault(path, line, _('not an object; a row is written {{"question": "..."}}.'))
    check_columns(path, line, len(value))
    if "\\u" in raw and not is_storable(value):
        what = _("a text holds \\u0000 or half of a \\u pair, which cannot be stored; remove it.")
        return row_fault(path, line, what)
    return Row(line, value)


_TAG = "tag:yaml.org,2002:"
_PLAIN = frozenset(_TAG + kind for kind in ("str", "null", "bool", "int", "float", "seq", "map"))
_INTEGER = re.compile(r"-?(?:0|[1-9][0-9]{0,17})")
_DEEPEST = 100
_LIST = _('write "- question: ..." for each question, in a list or in one below "cases:"')


# libyaml composes ten times as fast as Python, but without a limit on the depth: see _composed.
_FASTEST = yaml.CSafeLoader if yaml.__with_libyaml__ else yaml.SafeLoader


class _AsWritten(_FASTEST):  # type: ignore[misc, valid-type]
    """The safe loader, with 001, 1:30, 2026-04-01, yes and no left as the text they are written as."""

    yaml_implicit_resolvers: ClassVar[dict[str, list[tuple[str, re.Pattern[str]]]]] = {}


for _kind, _words, _first in (
    ("null", r"(?:~|null|Null|NULL|)$", ["~", "n", "N", ""]),
    ("bool", r"(?:true|True|TRUE|false|False|FALSE)$", list("tTfF")),
    ("int", rf"{_INTEGER.pattern}$", list("-0123456789")),
):
    _AsWritten.add_implicit_resolver(_TAG + _kind, re.compile(_words), _first)


def yaml_rows(path: Path, text: str) -> Rows:
    """The mappings of a list, or of the list under `cases`. Raises RowFault for what is not plain."""
    root = _composed(path, text)
    if root is None:
        return
    if isinstance(root, yaml.MappingNode) and [key.value for key, _unused in root.value] == ["cases"]:
        root = root.value[0][1]
    if not isinstance(root, yaml.SequenceNode):
        raise row_fault(path, root.start_mark.line + 1, _("no list of questions; {list}.", list=_LIST))
    for node in root.value:
        line = node.start_mark.line + 1
        try:
            value = _value(path, node)
        except RowFault as fault:
            yield fault
            continue
        if not isinstance(value, dict):
            yield row_fault(path, line, _("{value} is not a row; {list}.", value=quote(value), list=_LIST))
        elif not is_storable(value):
            what = _("a text holds \\0 or half of a \\u pair, which cannot be stored; remove it.")
            yield row_fault(path, line, what)
        else:
            yield Row(line, value)


def _composed(path: Path, text: str) -> yaml.Node | None:
    try:
        depth = 0
        for event in yaml.parse(text, Loader=_AsWritten):
            depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
            line = event.start_mark.line + 1 if event.start_mark else 1
            if depth > _DEEPEST:
                raise row_fault(path, line, _("nested too deeply."))
            # A few of them can stand for more values than the memory holds.
            if isinstance(event, yaml.AliasEvent):
                raise row_fault(path, line, _("aliases (*name) are not read; write the values out."))
        return yaml.compose(text, Loader=_AsWritten)
    except yaml.YAMLError as error:
        raise _unreadable(path, text, error) from None


def _unreadable(path: Path, text: str, error: yaml.YAMLError) -> CaseFileError:
    mark = getattr(error, "problem_mark", None) or getattr(error, "context_mark", None)
    if mark is None:
        line = text.count("\n", 0, getattr(error, "position", 0)) + 1
        return row_fault(path, line, _("a control character, which YAML does not allow; remove it."))
    messages = (getattr(error, "context", None), getattr(error, "problem", None))
    problem = printable(", ".join(filter(None, messages)))
    what = _(
        "not valid YAML ({problem}); put a text with : or # in quotation marks, and indent with blanks.",
        problem=problem,
    )
    return row_fault(path, mark.line + 1, what)


def _value(path: Path, node: yaml.Node) -> JsonValue:
    """A mapping or a list, a text as written, or null, true, false or a plain whole number."""
    line = node.start_mark.line + 1
    if node.tag not in _PLAIN:
        what = _("the tag {tag} is not allowed; write plain values.", tag=quote(node.tag.replace(_TAG, "!!")))
        raise row_fault(path, line, what)
    if isinstance(node, yaml.SequenceNode):
        return [_value(path, item) for item in node.value]
    if isinstance(node, yaml.MappingNode):
        values: dict[str, JsonValue] = {}
        for key, inner in node.value:
            at = key.start_mark.line + 1
            if not isinstance(key, yaml.ScalarNode):
                raise row_fault(path, at, _("a name that is a list or a mapping; names are words."))
            if key.value in values:
                what = _("{key} occurs twice in one row; rename one of them.", key=quote(key.value))
                raise row_fault(path, at, what)
            values[key.value] = _value(path, inner)
        return values
    text = str(node.value)
    match node.tag.removeprefix(_TAG):
        case "null":
            return None
        case "bool":
            return text.lower() == "true"
        case "int" if _INTEGER.fullmatch(text):
            return int(text)
    return text
