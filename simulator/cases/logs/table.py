"""Any table with one message a row: who speaks, what was said, and to which conversation it belongs.

    conversation_id,sender,message,time
    c1,customer,How much?,2026/1/5 9:05
    c1,bot,5 yen.,2026/1/5 9:06
        -> conversation c1: one turn

Columns are found by their usual names (headings.toml, `message`), in Japanese as well, by what stands in them
(`contents`), or given by --columns, which also says who the words of the column of speakers are (`Layout`).
A row without a speaker is about the whole conversation: a rating, a language. Rows that only the desk may see
are counted and left out, by a column such as 内部メモ or is_public.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from simulator.cases.fields import role_of, text_of
from simulator.cases.headings import MESSAGE_HEADINGS, NAMES, normalised
from simulator.cases.logs.values import LogLine, decoded, plain, seconds, with_besides
from simulator.core.errors import CaseFileError, UnknownName
from simulator.core.messages import Message, _

# The columns, by every name that is known for them, in the order in which they are taken.
COLUMNS: dict[str, list[str]] = NAMES["message"]
# What --columns may say of the words for speakers: user=1,agent=2|3; * stands for every other word.
SPEAKERS = ("user", "assistant", "agent")
ANYBODY = "*"
# Characters of what a column of speakers holds at most; more is no name for one.
_LONGEST_SPEAKER = 80
# What people put behind a word for a speaker: a number, a note in brackets, a name behind a colon.
_ADDED = re.compile(r"\s*(?:[#_-]?\d+|側|様|さん|の?(?:発言|発話)|[(\[（【].*[)\]）】]|[:：/].*)$", re.DOTALL)


class LogLayout(NamedTuple):
    """Which column holds which field of a message, and who the words of the column of speakers are.

    `speakers` are words with user, assistant or agent, for words that nobody else knows. Without a column of
    speakers the word `ANYBODY` says who said all of it.
    """

    columns: tuple[tuple[str, str], ...]
    speakers: tuple[tuple[str, str], ...] = ()

    def parts(self, records: Iterator[Any]) -> Iterator[LogLine | Message]:
        """The rows as lines."""
        columns, codes = dict(self.columns), dict(self.speakers)
        for number, record in enumerate(records, 1):
            yield _part(record, columns, codes, number)


def speaker(word: Any, codes: Mapping[str, str] = {}) -> str:
    """user, assistant or agent, also with something behind it: オペレーター（佐藤）, Agent 2, 顧客側."""
    text = "" if word is None else str(word).strip()
    role = codes.get(text.casefold()) or role_of(text)
    if not role and len(text) <= _LONGEST_SPEAKER:
        role = role_of(_ADDED.sub("", text))
    return role or (codes.get(ANYBODY, "") if text and normalised(text) not in _SILENT else "")


# Who is neither a customer nor the desk.
_SILENT = frozenset(map(normalised, NAMES["silent"]["words"]))


def is_silent(word: str) -> bool:
    """Whether a word for a speaker is one of the system, of tools or of notes."""
    return normalised(word) in _SILENT


def layout_named(given: Mapping[str, str], headers: Mapping[str, Any]) -> LogLayout:
    """The layout that `--columns` names, with the other columns by their usual names.

    Raises UnknownName for a field that a message does not have, and for a column that the file does not have.
    """
    columns: dict[str, str] = {}
    speakers: dict[str, str] = {}
    for field, column in given.items():
        if field in SPEAKERS:
            speakers |= {word.strip().casefold(): field for word in column.split("|")}
        elif field not in COLUMNS:
            raise UnknownName(_("field of a message in --columns"), field, (*COLUMNS, *SPEAKERS))
        elif column not in headers:
            raise UnknownName(_("column in --columns"), column, headers)
        else:
            columns[field] = column
    others = MESSAGE_HEADINGS.columns_of(header for header in headers if header not in columns.values())
    if "role" not in columns and ANYBODY in speakers:
        others.pop("role", None)
    layout = LogLayout(tuple((others | columns).items()), tuple(speakers.items()))
    if "role" not in dict(layout.columns) and ANYBODY not in speakers:
        raise CaseFileError(
            _("--columns: say with role=COLUMN who speaks, or with user=* that only customers do.")
        )
    return layout


def matches(record: Any) -> bool:
    """Columns for who speaks and what was said, and none for the answer."""
    named = MESSAGE_HEADINGS.columns_of(record)
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
    return "id" in record or "id" in MESSAGE_HEADINGS.columns_of(record)


def parts(records: Iterator[Any]) -> Iterator[LogLine | Message]:
    """The rows as lines; rows of one conversation may stand apart, and some be about the whole of it."""
    return (_part(record, MESSAGE_HEADINGS.columns_of(record), {}, None) for record in records)


def _part(
    record: Any, columns: dict[str, str], codes: Mapping[str, str], number: int | None
) -> LogLine | Message:
    """A row as a line; `number` names the conversation of a row without one where nobody answers."""
    value = {field: record.get(column) for field, column in columns.items()}
    talk = value.get("id")
    # In a table about conversations their own id stands under `id`.
    if talk is None and "text" not in columns:
        talk = record.get("id")
    if number is not None and "role" not in columns:
        talk = talk or number
    about = LogLine(
        "", "", seconds(value.get("time")), str(talk or "1"),
        {columns["rating"]: value["rating"]} if value.get("rating") not in (None, "") else {},
        language=str(value.get("language") or ""),
    )  # fmt: skip
    if "text" not in columns or ("role" not in columns and ANYBODY not in codes):
        return about
    role = speaker(value["role"], codes) if "role" in columns else codes[ANYBODY]
    if not role or _is_hidden(columns, value):
        return _("rows of neither a customer nor the desk (notes, the system)")
    text = plain(text_of(decoded(value["text"])))
    # In a table, `error` means something else.
    return with_besides(about._replace(role=role, text=text), record)._replace(error="") if text else _EMPTY


_EMPTY = _("rows without a text")


def _is_hidden(columns: dict[str, str], value: dict[str, Any]) -> bool:
    column = normalised(columns.get("visible", ""))
    flag = str(value.get("visible")).strip().lower()
    # "internal: yes" hides a row, "public: no" does so as well.
    if any(word in column for word in ("internal", "private", "内部", "非公開")):
        return flag in ("true", "1", "yes", "はい", "内部")
    return flag in ("false", "0", "no", "いいえ", "非公開")
