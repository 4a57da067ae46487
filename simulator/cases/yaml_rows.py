"""Rows of YAML files, each with the line it begins on.

    cases:
      - id: 007            -> "007", as written
        answerable: no     -> "no", which the field reads

YAML 1.1 would make 7 and False of these, and a date of 2026-04-01; here all but null is the text that is
written. Aliases are refused: nine lines of them can stand for more than the memory holds. The depth is
counted on the events first, because libyaml composes recursively in C and would end the process.
"""

from pathlib import Path

import yaml
from pydantic import JsonValue

from simulator.cases.row import Row, RowFault, Rows, is_storable
from simulator.core.errors import CaseFileError
from simulator.core.messages import _, printable, quote

_DEEPEST = 100
_NULL = frozenset({"", "~", "null", "Null", "NULL"})
_LIST = _('write "- question: ..." for each question, in a list or in one below "cases:"')
# All scalars are texts. libyaml composes ten times as fast as Python, but without a limit on the depth.
_LOADER = yaml.CBaseLoader if yaml.__with_libyaml__ else yaml.BaseLoader


def yaml_rows(path: Path, text: str) -> Rows:
    """The mappings of a list, or of the list under `cases`. Raises RowFault for anything else."""
    root = _composed(path, text)
    if root is None:
        return
    if isinstance(root, yaml.MappingNode) and [key.value for key, _unused in root.value] == ["cases"]:
        root = root.value[0][1]
    if not isinstance(root, yaml.SequenceNode):
        raise RowFault(path, root.start_mark.line + 1, _("no list of questions; {list}.", list=_LIST))
    for node in root.value:
        line = node.start_mark.line + 1
        try:
            value = _value(path, node)
        except RowFault as fault:
            yield fault
            continue
        if not isinstance(value, dict):
            yield RowFault(path, line, _("{value} is not a row; {list}.", value=quote(value), list=_LIST))
        elif not is_storable(value):
            what = _("a text holds \\0 or half of a \\u pair, which cannot be stored; remove it.")
            yield RowFault(path, line, what)
        else:
            yield Row(line, value)


def _composed(path: Path, text: str) -> yaml.Node | None:
    """The document as nodes. Raises RowFault for what is nested too deeply, aliases, and invalid YAML."""
    try:
        depth = 0
        for event in yaml.parse(text, Loader=_LOADER):
            depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
            line = event.start_mark.line + 1 if event.start_mark else 1
            if depth > _DEEPEST:
                raise RowFault(path, line, _("nested too deeply."))
            # A few of them can stand for more values than the memory holds.
            if isinstance(event, yaml.AliasEvent):
                raise RowFault(path, line, _("aliases (*name) are not read; write the values out."))
        return yaml.compose(text, Loader=_LOADER)
    except yaml.YAMLError as error:
        raise _unreadable(path, text, error) from None


def _unreadable(path: Path, text: str, error: yaml.YAMLError) -> CaseFileError:
    mark = getattr(error, "problem_mark", None) or getattr(error, "context_mark", None)
    if mark is None:
        line = text.count("\n", 0, getattr(error, "position", 0)) + 1
        return RowFault(path, line, _("a control character, which YAML does not allow; remove it."))
    messages = (getattr(error, "context", None), getattr(error, "problem", None))
    problem = printable(", ".join(filter(None, messages)))
    what = _(
        "not valid YAML ({problem}); put a text with : or # in quotation marks, and indent with blanks.",
        problem=problem,
    )
    return RowFault(path, mark.line + 1, what)


def _value(path: Path, node: yaml.Node) -> JsonValue:
    """A mapping, a list, or a text as written; None for null."""
    if isinstance(node, yaml.SequenceNode):
        return [_value(path, item) for item in node.value]
    if isinstance(node, yaml.MappingNode):
        values: dict[str, JsonValue] = {}
        for key, inner in node.value:
            at = key.start_mark.line + 1
            if not isinstance(key, yaml.ScalarNode):
                raise RowFault(path, at, _("a name that is a list or a mapping; names are words."))
            # YAML lets the second one win, which loses a question without a word.
            if key.value in values:
                what = _("{key} occurs twice in one row; rename one of them.", key=quote(key.value))
                raise RowFault(path, at, what)
            values[key.value] = _value(path, inner)
        return values
    text = str(node.value)
    is_plain = not getattr(node, "style", None)
    return None if is_plain and text in _NULL else text
