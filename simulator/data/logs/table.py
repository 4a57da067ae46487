"""Any table with one message a row: who speaks, what was said, and to which conversation it belongs.

    conversation_id,sender,message,time
    c1,customer,How much?,2026/1/5 9:05
    c1,bot,5 yen.,2026/1/5 9:06
        -> conversation c1: one turn

Columns are found by their usual names (columns.toml, `message`), in Japanese as well, or given by --columns.
A row without a speaker is about the whole conversation: a rating, a language. Rows that only the desk may see
are counted and left out, by a column such as 内部メモ or is_public.
"""

from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any

from simulator.core.errors import UnknownName
from simulator.core.messages import _
from simulator.data.logs.talks import Part
from simulator.data.logs.values import Line, decoded, plain, role_of, seconds, text_of, with_besides
from simulator.data.values import NAMES, by_word, normalised

# The columns, by every name that is known for them, in the order in which they are taken.
COLUMNS: dict[str, list[str]] = NAMES["message"]
_KNOWN = {normalised(name): field for name, field in by_word(COLUMNS).items()}


def columns_of(headers: Any) -> dict[str, str]:
    """By field the column that holds it: the first of its names that there is."""
    found: dict[str, tuple[int, str]] = {}
    for header in headers:
        name = normalised(str(header))
        if field := _KNOWN.get(name):
            rank = [normalised(each) for each in COLUMNS[field]].index(name)
            found[field] = min(found.get(field, (rank, header)), (rank, header))
    return {field: header for field, (_rank, header) in found.items()}


def renamed(record: Any, columns: Mapping[str, str]) -> dict[str, Any]:
    """A record with the columns that `--columns` names under the names that are known here.

    Raises UnknownName for a field that a message does not have, and for a column that the file does not have.
    """
    for field, column in columns.items():
        if field not in COLUMNS:
            raise UnknownName(_("field of a message in --columns"), field, COLUMNS)
        if column not in record:
            raise UnknownName(_("column in --columns"), column, record)
    return {COLUMNS[field][0]: record[column] for field, column in columns.items()}


def matches(record: Any) -> bool:
    """Columns for who speaks and what was said, and none for the answer."""
    named = columns_of(record)
    # A table with questions and answers has one row a turn, and is read as a question file.
    has_answer = any(
        normalised(str(key)) in {"answer", "回答", "response", "question", "質問"} for key in record
    )
    texts = (str, list, dict, type(None))
    return (
        {"role", "text"} <= named.keys() and isinstance(record.get(named["text"]), texts) and not has_answer
    )


def joins(record: Any) -> bool:
    """Whether this can be a row about a whole conversation, in a table of its own."""
    return "id" in record or "id" in columns_of(record)


def parts(records: Iterator[Any]) -> Iterator[Part]:
    """The rows as lines; rows of one conversation may stand apart, and some be about the whole of it."""
    for record in records:
        columns = _columns(tuple(record))
        value = {field: record.get(column) for field, column in columns.items()}
        talk = value.get("id")
        # In a table about conversations their own id stands under `id`.
        if talk is None and "text" not in columns:
            talk = record.get("id")
        about = Line(
            "", "", seconds(value.get("time")), str(talk or "1"),
            {columns["rating"]: value["rating"]} if value.get("rating") not in (None, "") else {},
            language=str(value.get("language") or ""),
        )  # fmt: skip
        if not {"role", "text"} <= columns.keys():
            yield about
        elif not (role := role_of(value["role"])) or _is_hidden(columns, value):
            yield _("rows of neither a customer nor the desk (notes, the system)")
        elif text := plain(text_of(decoded(value["text"]))):
            # In a table, `error` means something else.
            yield with_besides(about._replace(role=role, text=text), record)._replace(error="")


@lru_cache(16)
def _columns(names: tuple[str, ...]) -> dict[str, str]:
    return columns_of(names)


def _is_hidden(columns: dict[str, str], value: dict[str, Any]) -> bool:
    column = normalised(columns.get("visible", ""))
    flag = str(value.get("visible")).strip().lower()
    # "internal: yes" hides a row, "public: no" does so as well.
    if any(word in column for word in ("internal", "private", "内部", "非公開")):
        return flag in ("true", "1", "yes", "はい", "内部")
    return flag in ("false", "0", "no", "いいえ", "非公開")
