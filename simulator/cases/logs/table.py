"""Any table with one message a row: who speaks, what was said, and to which conversation it belongs.

    conversation_id,sender,message,time
    c1,customer,How much?,2026/1/5 9:05
    c1,bot,5 yen.,2026/1/5 9:06
        -> conversation c1: one turn

Columns are found by their usual names (headings.toml, `message`), in Japanese as well, by what stands in them
(`layout_of`), or given by --columns, which also says who the words of the column of speakers are. A row
without a speaker is about the whole conversation: a rating, a language. Rows that only the desk may see are
counted and left out, by a column such as 内部メモ or is_public.

By their cells columns are told like this: few words for speakers, long texts, and what several rows have in
common. A table of questions must never be taken for a log, so everything has to fit: both sides speak, by
words that are known, in most conversations; one column alone can be the text, one the conversation; and no
column holds right answers.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from simulator.cases.dialogues import LogLine, seconds, with_besides
from simulator.cases.fields import decoded, role_of, text_of
from simulator.cases.headings import MESSAGE_HEADINGS, NAMES, field_of, has_question, normalised
from simulator.cases.logs.values import get, plain
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
# Who is neither a customer nor the desk.
_SILENT = frozenset(map(normalised, NAMES["silent"]["words"]))


class LogLayout(NamedTuple):
    """Which column holds which field of a message, and who the words of the column of speakers are.

    `speakers` are words with user, assistant or agent, for words that nobody else knows. Without a column of
    speakers the word `ANYBODY` says who said all of it.
    """

    columns: Mapping[str, str]
    speakers: Mapping[str, str] = {}

    def parts(self, records: Iterator[Any]) -> Iterator[LogLine | Message]:
        """The rows as lines."""
        return (_part(record, self.columns, self.speakers, n) for n, record in enumerate(records, 1))


def speaker(word: Any, codes: Mapping[str, str] = {}) -> str:
    """user, assistant or agent, also with something behind it: オペレーター（佐藤）, Agent 2, 顧客側."""
    text = _word(word)
    role = codes.get(text.casefold()) or role_of(text)
    if not role and len(text) <= _LONGEST_SPEAKER:
        role = role_of(_ADDED.sub("", text))
    return role or (codes.get(ANYBODY, "") if text and normalised(text) not in _SILENT else "")


def _word(value: Any) -> str:
    """The word for a speaker, which an object has as its role, or as the one name that is filled.

    {"id": "b-1", "role": "bot"}                     -> bot
    {"application": null, "user": {"id": "u-1"}}     -> user
    """
    if isinstance(value, dict):
        said = [value[key] for key in ("role", "type", "name") if value.get(key) not in (None, "")]
        value = next(iter(said or [key for key, inside in value.items() if inside]), "")
    return "" if value is None else str(value).strip()


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
    if "role" not in columns and speakers.get(ANYBODY) == "user":
        others.pop("role", None)
    layout = LogLayout(others | columns, speakers)
    if "role" not in layout.columns and ANYBODY not in speakers:
        raise CaseFileError(
            _("--columns: say with role=COLUMN who speaks, or with user=* that only customers do.")
        )
    return layout


def matches(record: Any) -> bool:
    """Columns for who speaks and what was said, and none for the answer."""
    columns = MESSAGE_HEADINGS.columns_of(record)
    # A table with questions and answers has one row a turn, and is read as a question file.
    has_answer = any(
        normalised(str(key)) in {"answer", "回答", "response", "question", "質問"} for key in record
    )
    texts = (str, list, dict, type(None))
    return (
        {"role", "text"} <= columns.keys()
        and isinstance(record.get(columns["text"]), texts)
        and not has_answer
    )


def joins(record: Any) -> bool:
    """Whether this can be a row about a whole conversation, in a table of its own."""
    return "id" in record or "id" in MESSAGE_HEADINGS.columns_of(record)


def parts(records: Iterator[Any]) -> Iterator[LogLine | Message]:
    """The rows as lines; rows of one conversation may stand apart, and some be about the whole of it."""
    return (_part(record, MESSAGE_HEADINGS.columns_of(record), {}, 0) for record in records)


def _part(
    record: Any, columns: Mapping[str, str], codes: Mapping[str, str], number: int
) -> LogLine | Message:
    """A row as a line; `number` names the conversation of a row without one where nobody answers."""
    value = {field: record.get(column) for field, column in columns.items()}
    talk = get(value, "id.id") or value.get("id")
    # In a table about conversations their own id stands under `id`.
    if talk is None and "text" not in columns:
        talk = record.get("id")
    everybody = codes.get(ANYBODY) if "role" not in columns else None
    about = LogLine(
        "", "", seconds(value.get("time")), str(talk or (number if everybody else 1)),
        {columns["rating"]: value["rating"]} if value.get("rating") not in (None, "") else {},
        language=str(value.get("language") or ""),
    )  # fmt: skip
    if "text" not in columns or ("role" not in columns and not everybody):
        return about
    role = everybody or speaker(value["role"], codes)
    if not role or _is_hidden(columns, value):
        return _("rows of neither a customer nor the desk (notes, the system)")
    text = plain(text_of(decoded(value["text"])))
    # In a table, `error` means something else.
    return with_besides(about._replace(role=role, text=text), record)._replace(error="") if text else _EMPTY


_EMPTY = _("rows without a text")


def _is_hidden(columns: Mapping[str, str], value: dict[str, Any]) -> bool:
    column = normalised(columns.get("visible", ""))
    flag = str(value.get("visible")).strip().lower()
    # "internal: yes" hides a row, "public: no" does so as well.
    if any(word in column for word in ("internal", "private", "内部", "非公開")):
        return flag in ("true", "1", "yes", "はい", "内部")
    return flag in ("false", "0", "no", "いいえ", "非公開")


# Columns told by their cells

# Characters of a value that are looked at, and the share of the rows in which a column has to have what it is
# taken for.
_MOST_LOOKED_AT, _NEARLY_ALL = 300, 0.95
# Of conversations so many have both sides, and of two columns the text is so much longer.
_BOTH, _LONGER = 0.5, 2.0
# Of so many texts of the desk not most are questions.
_FEW_TEXTS, _MOST_ASKING = 3, 0.6
# Fields of a case that a table of questions has and a log does not.
_OF_QUESTIONS = frozenset({
    "references", "answer", "choices", "label", "answerable", "goal", "facts", "script", "recorded",
    "history",
})  # fmt: skip
_HAS_DIGIT = re.compile(r"\d")
# A text that somebody wrote has kana, or several words.
_WRITTEN = re.compile(r"[\u3041-\u3096\u30a1-\u30fa]|\w\s+\w")
_ASKS = re.compile(r"(?:[?？]|か。?|ください。?)\s*$")


class _Column(NamedTuple):
    """A column: its name, and its texts by row, stripped and cut, empty where a row has none."""

    name: str
    texts: tuple[str, ...]

    @property
    def filled(self) -> list[str]:
        return [text for text in self.texts if text]

    @property
    def is_full(self) -> bool:
        return len(self.filled) >= _NEARLY_ALL * len(self.texts)

    def share(self, fits: Callable[[str], Any]) -> float:
        """The share of the rows with a text for which `fits` says yes."""
        return sum(bool(fits(text)) for text in self.filled) / (len(self.filled) or 1)

    @property
    def length(self) -> int:
        return sum(map(len, self.texts))

    @property
    def is_time(self) -> bool:
        return self.share(lambda text: not text.isdecimal() and seconds(text) is not None) >= _NEARLY_ALL

    @property
    def is_role(self) -> bool:
        """Whether customers and the desk speak in it, and hardly anybody who is not known."""
        is_known = self.share(lambda word: speaker(word) or normalised(word) in _SILENT) >= _NEARLY_ALL
        return is_known and self.is_full and has_both(map(speaker, self.texts))

    @property
    def is_text(self) -> bool:
        """Whether people wrote it: hardly ever the same, and no names or times."""
        is_written = self.share(_WRITTEN.search) >= _BOTH and not self.is_time
        return is_written and len(set(self.filled)) >= _BOTH * len(self.filled)


def has_both(roles: Iterable[str]) -> bool:
    """Whether a customer and the desk are among them."""
    several = set(roles)
    return "user" in several and bool(several & {"assistant", "agent"})


def unknown_words(values: Iterable[Any]) -> list[str]:
    """The words in a column of speakers that are of nobody known, commonest first; "system" and メモ are."""
    words = Counter(" ".join(word.split()) for word in map(_word, values) if word)
    return [word for word, _n in words.most_common() if not speaker(word) and normalised(word) not in _SILENT]


def layout_of(rows: Iterable[Mapping[str, Any]]) -> LogLayout | None:
    """The columns of a table with one message a row; None where it is none, or that cannot be told."""
    columns = _columns(rows)
    by_name = MESSAGE_HEADINGS.columns_of(column.name for column in columns)
    # A column "turn" may number the turns, and "text" hold the lines.
    asking = [
        column.name
        for column in columns
        if column.name != by_name.get("text") and column.share(str.isdecimal) < 1
    ]
    if has_question(asking) or any(field_of(column.name) in _OF_QUESTIONS for column in columns):
        return None
    roles = [column for column in columns if column.is_role]
    # Of several columns that say the same the one that tells most apart.
    role = max(roles, key=lambda column: len({*map(speaker, column.texts)}), default=None)
    if role is None or len({tuple(speaker(word) == "user" for word in each.texts) for each in roles}) > 1:
        return None
    spoken = [*map(speaker, role.texts)]
    others = [column for column in columns if column not in roles]
    talk = _conversation(others, spoken, by_name)
    texts = [column for column in others if column.is_text and column != talk]
    texts.sort(key=lambda column: (column.name != by_name.get("text"), -column.length))
    if talk is None or not texts:
        return None
    text, *rest = texts
    if text.name != by_name.get("text") and any(text.length < _LONGER * other.length for other in rest):
        return None
    said = [line for line, who in zip(text.texts, spoken, strict=True) if who in ("assistant", "agent")]
    if len(said) >= _FEW_TEXTS and sum(bool(_ASKS.search(line)) for line in said) > _MOST_ASKING * len(said):
        return None
    # Of when the conversation began and when a line was said, the one that changes.
    times = [column for column in others if column.is_full and column.is_time]
    time = max(times, key=lambda column: len(set(column.texts)), default=None)
    named = {"id": talk.name, "role": role.name, "text": text.name}
    further = ({"time": time.name} if time else {}) | by_name
    return LogLayout(named | further | named)


def _columns(rows: Iterable[Mapping[str, Any]]) -> list[_Column]:
    """The columns that hold texts, numbers or nothing, in their order."""
    several, columns = list(rows), []
    for name in dict.fromkeys(name for row in several for name in row):
        values = [row.get(name) for row in several]
        if not any(isinstance(value, (list, dict)) for value in values):
            texts = ("" if value is None else str(value)[:_MOST_LOOKED_AT].strip() for value in values)
            columns.append(_Column(str(name), tuple(texts)))
    return columns


def _conversation(columns: list[_Column], spoken: list[str], by_name: Mapping[str, str]) -> _Column | None:
    """The column that names the conversation: rows that have it in common have both sides.

    The one with the usual name, else the finest: a customer has several conversations. None where one of two
    columns is not within the other.
    """
    names = []
    for column in columns:
        sides: dict[str, set[str]] = {}
        for text, who in zip(column.texts, spoken, strict=True):
            sides.setdefault(text, set()).add(who)
        is_both = sum(map(has_both, sides.values())) >= _BOTH * len(sides)
        if column.name == by_name.get("id"):
            return column if is_both else None
        is_name = len(sides) > 1 and column.share(_HAS_DIGIT.search) >= _NEARLY_ALL and not column.is_time
        if is_both and is_name and column.is_full and not MESSAGE_HEADINGS.field_of(column.name):
            names.append(column)
    finest = max(names, key=lambda column: len(set(column.texts)), default=None)
    is_within = finest and all(
        len(set(zip(finest.texts, column.texts, strict=True))) == len(set(finest.texts)) for column in names
    )
    return finest if is_within else None
