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
words that are known; nearly every conversation has both; one column alone can be the text, one the
conversation; and no column holds right answers. Whatever falls short of that is `Unclear`.
"""

import re
import shlex
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any, NamedTuple

from simulator.cases.dialogues import LogLine, decoded, seconds, with_besides
from simulator.cases.fields import role_of, text_of
from simulator.cases.headings import MESSAGE_HEADINGS, NAMES, field_of, has_question, normalised
from simulator.cases.logs.values import plain
from simulator.core.errors import CaseFileError, UnknownName
from simulator.core.messages import Message, _, printable

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


class Unclear(Exception):
    """A table that looks like a log, but that does not say enough; `columns` are those that it may have."""

    def __init__(self, columns: Mapping[str, str]) -> None:
        super().__init__()
        self.columns = columns


def speaker(word: Any, codes: Mapping[str, str] = {}) -> str:
    """user, assistant or agent, also with something behind it: オペレーター（佐藤）, Agent 2, 顧客側."""
    text = "" if word is None else str(word).strip()
    role = codes.get(text.casefold()) or role_of(text)
    if not role and len(text) <= _LONGEST_SPEAKER:
        role = role_of(_ADDED.sub("", text))
    return role or (codes.get(ANYBODY, "") if text and normalised(text) not in _SILENT else "")


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
    talk = value.get("id")
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

# Characters of a value that are looked at; the longest word for a speaker, and how many a message names.
_MOST_LOOKED_AT, _LONGEST_WORD, _MOST_WORDS = 300, 20, 5
# Share of the rows in which a column has to have what it is taken for.
_NEARLY_ALL = 0.95
# Of conversations so many have both sides, and of two columns the text is so much longer.
_BOTH, _LONGER = 0.5, 2.0
# Of so many texts of the desk not most are questions.
_FEW_TEXTS, _MOST_ASKING = 3, 0.6
# Fields of a case that a table of questions has and a log does not.
_OF_QUESTIONS = frozenset({
    "references", "answer", "choices", "label", "answerable", "goal", "facts", "script", "recorded",
    "history",
})  # fmt: skip
_MONTH = r"(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*\.?"
# What dates and times begin with: 2026-01-05, 5/1/2026, 9:05, 1月5日, Mon, Jan 5, 5 January.
_DATE = re.compile(
    r"(?:(?:mon|tue|wed|thu|fri|sat|sun)[a-z]*\.?,?\s+)?"
    r"(?:\d{4}[-/年.]\d{1,2}[-/月.]\d{1,2}|\d{1,2}([/.])\d{1,2}\1\d{2,4}|\d{1,2}:\d\d|\d{1,2}月\d{1,2}日"
    rf"|{_MONTH}\s+\d{{1,2}}\b|\d{{1,2}}[ -]{_MONTH}(?:\W|$))",
    re.IGNORECASE,
)
# What a name of a conversation looks like, apart from measured values.
_HAS_DIGIT, _MEASURED = re.compile(r"\d"), re.compile(r"[-+]?\d*[.,]\d+%?|-\d+|\d+%")
# A text that somebody wrote has kana, or several words.
_WRITTEN = re.compile(r"[\u3041-\u3096\u30a1-\u30fa]|\w\s+\w")
_ASKS = re.compile(r"(?:[?？]|か。?|ください。?)\s*$")
_OF_IDS, _OF_SPEAKERS = (tuple(NAMES["hints"][name]) for name in ("id", "role"))
_OF_SHELLS = frozenset('"$`\\!')


class _Column(NamedTuple):
    """A column: its name, and its texts by row, stripped and cut, empty where a row has none."""

    name: str
    texts: tuple[str, ...]

    @property
    def filled(self) -> list[str]:
        return [text for text in self.texts if text]

    @property
    def field(self) -> str | None:
        """The field of a message that its name means."""
        return MESSAGE_HEADINGS.field_of(self.name)

    def share(self, fits: Callable[[str], Any]) -> float:
        """The share of the rows with a text for which `fits` says yes."""
        return sum(bool(fits(text)) for text in self.filled) / (len(self.filled) or 1)

    @property
    def is_full(self) -> bool:
        return len(self.filled) >= _NEARLY_ALL * len(self.texts)

    @property
    def is_time(self) -> bool:
        return self.share(lambda text: _DATE.match(text) and len(text) <= 40) >= _NEARLY_ALL

    @property
    def is_role(self) -> bool:
        """Whether customers and the desk speak in it, and hardly anybody who is not known."""
        if field_of(self.name) and self.field != "role":
            return False
        roles, _unknown = known_words(self.texts)
        is_known = self.share(lambda word: speaker(word) or normalised(word) in _SILENT) >= _NEARLY_ALL
        return self.is_full and has_both(roles) and is_known

    @property
    def is_text(self) -> bool:
        """Whether people wrote it: hardly ever the same, and no names, addresses or times."""
        field = field_of(self.name)
        if (field and self.field != "text" and field != "question") or self.is_time:
            return False
        is_written = self.share(_WRITTEN.search) >= (0.3 if self.field == "text" else 0.6)
        return is_written and len(self.filled) > 1 and len(set(self.filled)) >= 0.5 * len(self.filled)


def has_both(roles: Iterable[str]) -> bool:
    """Whether a customer and the desk are among them."""
    several = set(roles)
    return "user" in several and bool(several & {"assistant", "agent"})


def layout_of(records: Iterable[Mapping[str, Any]]) -> LogLayout | None:
    """The columns of a table with one message a row; None for a table that is none.

    Raises Unclear where it is one, or may be, and which column holds what cannot be told for certain.
    """
    columns = _columns(records)
    # A column "turn" may number the turns, and "text" hold the lines.
    asking = [column.name for column in columns if column.share(str.isdecimal) < 1 and column.field != "text"]
    if has_question(asking) or any(field_of(column.name) in _OF_QUESTIONS for column in columns):
        return None
    by_name = MESSAGE_HEADINGS.columns_of(column.name for column in columns)
    roles = [column for column in columns if column.is_role]
    if not roles:
        _look_for_speakers(columns, by_name)
        return None
    # Of several columns that say the same the one that tells most apart.
    role = max(roles, key=lambda column: len(known_words(column.texts)[0]))
    spoken = [*map(speaker, role.texts)]
    ids = _ids([column for column in columns if column not in roles], spoken, by_name)
    texts = [column for column in columns if column.is_text and column not in (*roles, *ids)]
    texts.sort(key=lambda column: (column.name != by_name.get("text"), -_length(column)))
    if not texts:
        return None
    # A customer has several conversations, a conversation has one customer.
    finest = max(ids, key=lambda column: len(set(column.texts)), default=None)
    chosen = {"id": finest.name if finest else "...", "role": role.name, "text": texts[0].name}
    said = [line for line, who in zip(texts[0].texts, spoken, strict=True) if who in ("assistant", "agent")]
    asked = sum(bool(_ASKS.search(line)) for line in said)
    is_clear = (
        finest is not None
        and all(len(set(zip(finest.texts, id_.texts, strict=True))) == len(set(finest.texts)) for id_ in ids)
        and len({tuple(speaker(word) == "user" for word in column.texts) for column in roles}) == 1
        and (
            texts[0].name == by_name.get("text")
            or _length(texts[0]) >= _LONGER * max(map(_length, texts[1:]), default=0)
        )
        and (len(said) < _FEW_TEXTS or asked <= _MOST_ASKING * len(said))
    )
    if not is_clear:
        raise Unclear(chosen | _time(columns, by_name, chosen))
    return LogLayout(_others(columns, by_name, chosen) | chosen)


def _length(column: _Column) -> int:
    return sum(map(len, column.texts))


def _columns(records: Iterable[Mapping[str, Any]]) -> list[_Column]:
    """The columns that hold texts, numbers or nothing, in their order."""
    rows = list(records)
    columns = []
    for name in dict.fromkeys(name for row in rows for name in row):
        values = [row.get(name) for row in rows]
        if not any(isinstance(value, (list, dict)) for value in values):
            texts = ("" if value is None else str(value)[:_MOST_LOOKED_AT].strip() for value in values)
            columns.append(_Column(str(name), tuple(texts)))
    return columns


def known_words(values: Iterable[Any]) -> tuple[set[str], list[str]]:
    """Who speaks in a column of speakers: the roles, and the words that are of nobody known, commonest first.

    Words of the system ("system", メモ) are neither.
    """
    words = Counter(" ".join(str(value).split()) for value in values if value not in (None, ""))
    roles = {word: speaker(word) for word in words}
    return {role for role in roles.values() if role}, [
        word for word, _n in words.most_common() if not roles[word] and normalised(word) not in _SILENT
    ]


def option(columns: Mapping[str, str]) -> str:
    """`--columns "id=call,role=spk,text=txt"`, to be copied: a name of a column cannot become a command."""
    given = printable(",".join(f"{ours}={theirs}" for ours, theirs in columns.items()))
    return f"--columns {shlex.quote(given)}" if _OF_SHELLS & set(given) else f'--columns "{given}"'


def _ids(columns: list[_Column], spoken: list[str], by_name: Mapping[str, str]) -> list[_Column]:
    """The columns that may name the conversation, by rows in common that have both sides.

    The usual name goes first, then those whose rows stand together.
    """
    candidates = []
    for column in columns:
        sides: dict[str, set[str]] = {}
        for text, who in zip(column.texts, spoken, strict=True):
            sides.setdefault(text, set()).add(who)
        is_other = (column.field or field_of(column.name)) not in (None, "id") or column.is_time
        looks = column.share(lambda text: _HAS_DIGIT.search(text) and not _MEASURED.fullmatch(text))
        is_name = len(sides) > 1 and (looks >= _NEARLY_ALL or _hints(column.name, _OF_IDS))
        if not column.is_full or (column.name != by_name.get("id") and (is_other or not is_name)):
            continue
        if sum(map(has_both, sides.values())) >= _BOTH * len(sides):
            candidates.append(column)
    together = [column for column in candidates if len(set(column.texts)) == len(list(groupby(column.texts)))]
    return [column for column in candidates if column.name == by_name.get("id")] or together or candidates


def _others(
    columns: Sequence[_Column], by_name: Mapping[str, str], chosen: Mapping[str, str]
) -> dict[str, str]:
    """Further columns that are known by their names or, for the time, by their cells."""
    others = {field: name for field, name in by_name.items() if field not in chosen}
    times = [
        column for column in columns
        if column.name not in chosen.values() and column.is_full and column.is_time
        and seconds(column.filled[0]) is not None
    ]  # fmt: skip
    if times and "time" not in others:
        # Of when the conversation began and when a line was said, the one that changes.
        others["time"] = max(times, key=lambda column: len(set(column.texts))).name
    return others


def _time(
    columns: Sequence[_Column], by_name: Mapping[str, str], chosen: Mapping[str, str]
) -> dict[str, str]:
    """The column of when a line was said, if there is one."""
    return {field: name for field, name in _others(columns, by_name, chosen).items() if field == "time"}


def _look_for_speakers(columns: Sequence[_Column], by_name: Mapping[str, str]) -> None:
    """Raises Unclear for a table with lines by speakers whose words are not known, or by nobody."""
    text = _likely_text(columns, by_name)
    for column in columns:
        is_hinted = _hints(column.name, _OF_SPEAKERS) or column.field == "role"
        if not is_hinted or not column.is_full or column.name == text:
            continue
        roles, unknown = known_words(column.filled)
        if "user" in roles and unknown:
            codes = {"agent": _words(unknown)}
            spoken = [speaker(word, {ANYBODY: "agent"}) for word in column.texts]
        elif 1 < len(unknown) <= _MOST_WORDS and max(map(len, unknown)) <= _LONGEST_WORD:
            codes = {"user": unknown[0], "assistant": _words(unknown[1:])}
            spoken = [
                speaker(word, {unknown[0].casefold(): "user", ANYBODY: "agent"}) for word in column.texts
            ]
        else:
            continue
        ids = _ids([other for other in columns if other.name not in (column.name, text)], spoken, by_name)
        finest = max(ids, key=lambda id_: len(set(id_.texts)), default=None)
        id_ = finest.name if finest else by_name.get("id", "...")
        chosen = {"id": id_, "role": column.name, "text": text}
        raise Unclear(chosen | _time(columns, by_name, chosen) | codes)
    if {"id", "text"} <= by_name.keys() and "role" not in by_name:
        raise Unclear({"id": by_name["id"], "text": text, "user": ANYBODY})


def _likely_text(columns: Sequence[_Column], by_name: Mapping[str, str]) -> str:
    """The column with the usual name of a text, else the longest that people wrote; none of dates."""
    others = [
        column for column in columns
        if not column.is_time and column.field != "time" and column.share(str.isdecimal) < 1
    ]  # fmt: skip
    likely = max(
        others,
        key=lambda column: (column.name == by_name.get("text"), column.is_text, _length(column)),
        default=None,
    )
    return likely.name if likely else "..."


def _words(words: Sequence[str]) -> str:
    return ANYBODY if len(words) > _MOST_WORDS else "|".join(words)


def _hints(name: str, words: Iterable[str]) -> bool:
    return any(word in normalised(name) for word in words)
