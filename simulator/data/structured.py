"""Rows of JSON, JSONL and YAML files, each with the line it begins on."""

import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import ClassVar

import yaml
from pydantic import JsonValue

from simulator.core.errors import CaseFileError
from simulator.core.messages import _
from simulator.data.files import MAX_LINE, printable, quote
from simulator.data.values import Row, RowFault, Rows, check_columns, is_storable, row_fault

_FILLED = re.compile(r"[^ \t\n\r\ufeff]")
# pandas and others write a missing value as NaN, which is not valid JSON.
_DECODER = json.JSONDecoder(parse_constant=lambda _: None)
# A name that JSON allows for a value is so long at most: an error before the end may be the end's.
_CUT = len("-Infinity")
# About what an object, a list, a further value and a name take in memory, and what a row may with its text.
_BYTES = {"{": 184, "[": 64, ",": 64, ":": 150}
_MOST_HELD = 180_000_000


class _Window:
    """The text of a file, about as much at a time as the row takes that is being read."""

    def __init__(self, path: Path, pieces: Iterator[str]) -> None:
        self._path, self._pieces = path, pieces
        self.text, self.position, self.line = "", 0, 1
        # Characters of the first line of the text that are no longer held.
        self._gone = 0

    def more(self) -> bool:
        """Whether there was more to read; raises RowFault where one row would take too much memory."""
        kept = self.text[self.position :]
        self._gone = self._column(self.position)
        parts, size = [kept], len(kept)
        for piece in self._pieces:
            parts.append(piece)
            size += len(piece)
            if size > 2 * len(kept):
                break
        self.text, self.position = "".join(parts), 0
        held = sys.getsizeof(self.text) + sum(self.text.count(sign) * n for sign, n in _BYTES.items())
        if len(kept) > MAX_LINE or held > _MOST_HELD:
            what = _(
                "this object is too large to be read at once;"
                " write a list of smaller ones, or one on each line."
            )
            raise row_fault(self._path, self.line, what)
        return len(parts) > 1

    def next(self) -> str:
        """The next character that is no space, to which it goes; empty at the end."""
        while True:
            found = _FILLED.search(self.text, self.position)
            self.go(found.start() if found else len(self.text))
            if found or not self.more():
                return found[0] if found else ""

    def go(self, position: int) -> None:
        """Goes there, and counts the lines."""
        self.line += self.text.count("\n", self.position, position)
        self.position = position

    def skip_line(self) -> None:
        """Goes to the beginning of the next line."""
        while (end := self.text.find("\n", self.position)) < 0:
            self.go(len(self.text))
            if not self.more():
                return
        self.go(end + 1)

    def value(self) -> tuple[JsonValue, str]:
        """The value that begins here, and how it is written. Raises RowFault for none."""
        try:
            value, end = _DECODER.raw_decode(self.text, self.position)
        except json.JSONDecodeError as error:
            is_cut = error.msg.startswith("Unterminated string") or error.pos > len(self.text) - _CUT
            if is_cut and self.more():
                return self.value()
            what = _(
                "not valid JSON ({problem}, at line {line:d}, character {column:d}).",
                problem=error.msg,
                line=self.line + self.text.count("\n", self.position, error.pos),
                column=self._column(error.pos) + 1,
            )
        except RecursionError:
            what = _("nested too deeply.")
        except ValueError:
            what = _("a number with too many digits; write it as text.")
        else:
            raw = self.text[self.position : end]
            self.go(end)
            return value, raw
        raise row_fault(self._path, self.line, what)

    def _column(self, position: int) -> int:
        """How many characters of its line stand before it."""
        newline = self.text.rfind("\n", 0, position)
        return position - newline - 1 if newline >= 0 else self._gone + position


def json_rows(path: Path, pieces: Iterator[str]) -> Rows:
    """The objects of a JSON list, or of a sequence of objects (JSONL), as they are read.

    In a list nothing behind a mistake can be read.
    """
    window = _Window(path, pieces)
    if in_list := window.next() == "[":
        window.go(window.position + 1)
    while (first := window.next()) and not (in_list and first == "]"):
        line = window.line
        try:
            value, raw = window.value()
        except RowFault as fault:
            if in_list:
                raise
            yield fault
            window.skip_line()
            continue
        row = _row(path, line, value, raw)
        del value, raw  # which may be as large as the file
        yield row
        del row
        if in_list and (behind := window.next()) == ",":
            window.go(window.position + 1)
        elif in_list and behind not in ("]", ""):
            raise row_fault(path, line, _("a comma is missing after this object."))
    if in_list and not first:
        raise row_fault(path, window.line, _("the list is not closed with ]; the file was cut off."))


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
