"""What the columns and values of a question file mean.

First the headers that name a field and the rows with their errors; then one function per field, from a cell
to the type of the field; then what takes several columns: choices and their right one, and lists of turns.
The functions of fields raise ValueError with what they accept; `simulator.cases.cases` adds file and column.

Names are data: columns.toml has every header that means a field, and every word for yes, no, a language or a
speaker. A header is compared without width, case, spaces and a note in brackets:

    "User_Input (必須)"   -> userinput, a question
    "質問文", "Question"  -> question
    "Ground Truth"        -> references

Two kinds of cells are read: those of a table, where every value is text and a list stands inside one cell
("a|b", or '["a | b"]' for a text with a bar in it), and those of JSON, where a list is a list.

    references   "a|b" in a table            -> (("a", "b"),), both right answers to turn 1
    references   [["x"], [], ["y"]] in JSON  -> (("x",), (), ("y",)), by turn
    facts        "I moved.|unknown: my number" -> knows I moved., unknown my number
    answerable   ○, yes, 可, partial         -> True (partial with a tag)
    error        "Timed out after 30 s"      -> a timeout; "none" -> no error
"""

import contextlib
import json
import re
import tomllib
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from string import ascii_lowercase
from typing import Any, Literal, NamedTuple, TypeVar

from pydantic import JsonValue, ValidationError

from simulator.cases.files import MAX_COLUMNS
from simulator.core.errors import CaseFileError
from simulator.core.messages import Message, _, printable, quote
from simulator.core.types import Answer, ChatMessage, Facts, Failure, Handover, Language

T = TypeVar("T")

# The columns by the fields of a case, and the words in them.
NAMES = tomllib.loads(Path(__file__).with_name("columns.toml").read_text(encoding="utf-8"))
COLUMNS: dict[str, tuple[str, ...]] = {field: tuple(names) for field, names in NAMES["case"].items()}


def by_word(words: Mapping[str, Sequence[str]]) -> dict[str, Any]:
    """By every word what it means."""
    return {word: meaning for meaning, several in words.items() for word in several}


# A header that stands in brackets as a whole.
_IN_BRACKETS = re.compile(r"[【「『〔《<\[]([^【】「」『』〔〕《》<>\[\]]+)[】」』〕》>\]]")


@lru_cache(maxsize=4096)
def normalised(header: str) -> str:
    """A header without differences in width, case, spaces, `_`, `-`, a final dot and a note in brackets.

    Brackets around all of it, and a mark before it, make no difference either: 【質問】, ■質問.
    """
    plain = unicodedata.normalize("NFKC", header).casefold().strip()
    plain = plain.lstrip("■◆●▼◇□・") or plain
    if around := _IN_BRACKETS.fullmatch(plain):
        plain = around[1]
    plain = re.sub(r"[\s_\-*]", "", re.sub(r"(?<=[\w\s*])[(\[【][^()\[\]【】]*[)\]】]$", "", plain))
    return plain.rstrip(".:")


_FIELDS: dict[str, str] = {normalised(alias): field for alias, field in by_word(COLUMNS).items()}
_RANKS = {normalised(alias): rank for aliases in COLUMNS.values() for rank, alias in enumerate(aliases)}
_EXTRA = frozenset(map(normalised, NAMES["extra"]["names"]))
# Each is compared with every answer, and some judges have a model embed it.
_MOST_REFERENCES = 1000
# In these columns of a table a line break separates items; in others it belongs to the text.
_ONE_PER_LINE = frozenset(map(normalised, ("references", "ground_truths", "reference_answers")))


def field_of(header: str) -> str | None:
    """The field of a case that a header means, or None."""
    return _FIELDS.get(normalised(header))


def is_extra(header: str) -> bool:
    """Whether a column of public data sets is known to be unneeded, so that nobody is told about it."""
    return normalised(header) in _EXTRA


def columns_by_field(values: Mapping[str, JsonValue]) -> dict[str, str]:
    """By field the column that fills it in this row: the first of its aliases that is not empty.

    So a file may have both `reference` and 正解, and each row fills one of them. In the order of
    columns.toml, not in that of the file.
    """
    columns: dict[str, str] = {}
    for header, field in _fields_in(tuple(values)):
        if not is_missing(field, values[header]):
            columns.setdefault(field, header)
    if not has_question(columns.values()):
        columns.pop("question", None)
    return columns


@lru_cache(maxsize=64)
def _fields_in(headers: tuple[str, ...]) -> tuple[tuple[str, str], ...]:
    """The headers that mean a field, each with the field; of several for one field, the first alias leads."""
    pairs = [(header, field) for header in headers if (field := field_of(header))]
    return tuple(sorted(pairs, key=lambda pair: _RANKS[normalised(pair[0])]))


_MISSING, _EXCEL_ERRORS = (frozenset(NAMES["words"][name]) for name in ("missing", "excel_errors"))
# Of these fields such a word may be the value: a choice or a label "None".
_ANY_WORD = frozenset({"choices", "label", "error"})


def is_missing(field: str, value: JsonValue) -> bool:
    """Whether a field has no value: an empty one, not a number, or a word that stands for a missing value.

    "nan", "None", "#N/A", "null" and the like are what programs write into an empty cell.
    """
    if isinstance(value, float) and value != value:  # noqa: PLR0124 - not a number
        return True
    if isinstance(value, str) and field not in _ANY_WORD and value.strip() in _MISSING:
        return True
    return is_empty(value)


def is_empty(value: JsonValue) -> bool:
    """Whether a value is null, an empty list or object, or blank text."""
    return not value.strip() if isinstance(value, str) else value is None or value in ([], {})


def has_question(headers: Iterable[str]) -> bool:
    """Whether a column holds questions.

    A knowledge base has a `text` column too, so `text` counts only beside a label.
    """
    fields = [(field_of(header), normalised(header)) for header in headers]
    questions = {name for field, name in fields if field in {"question", "turns"}}
    return bool(questions - {"text"}) or (
        "text" in questions and any(field == "label" for field, _unused in fields)
    )


# NUL, and halves of a pair of surrogates: SQLite, UTF-8 and JSON of others cannot carry them.
_UNSTORABLE = re.compile("[\0\ud800-\udfff]")


class Row(NamedTuple):
    """One row: the line of the file it begins on (1-based) and its values by column name.

    `cells` is True for tables, where every value is text and a list is written inside one cell. `sheet` is
    the worksheet of a row: empty in a workbook with one worksheet, None in other files; it decides whether
    people are told a line or a row.
    """

    line: int
    values: dict[str, JsonValue]
    cells: bool = False
    sheet: str | None = None

    @property
    def place(self) -> Message:
        """Where the row is, as people see it: `line 3` in an editor, `row 3` in a spreadsheet."""
        if self.sheet is None:
            return _("line {line:d}", line=self.line)
        return _("row {row:d}", row=self.line)


class WorksheetRow(NamedTuple):
    """A row of a worksheet: its number, its texts by column (from 1), and why other cells have none."""

    number: int
    texts: dict[int, str]
    faults: Mapping[int, Message | str] = {}
    hidden: bool = False


class RowFault(CaseFileError):
    """An error in one row, for which just that row may be skipped.

    `questions.csv, line 14: column 'answerable': 'maybe' is neither yes nor no ...`. A reader of rows may
    yield it in the place of a row (`Rows`), so that a data set counts it and goes on; a question file raises
    the first.
    """

    def __init__(self, path: Path, row: Row | int, what: Message | str) -> None:
        """`row` may be the number of its line, `what` is a sentence."""
        row = Row(row, {}) if isinstance(row, int) else row
        sheet = printable(f"#{row.sheet}") if row.sheet else ""
        self.file, self.row, self.what = f"{path}{sheet}", row, what
        super().__init__(_("{file}, {place}: {what}", file=self.file, place=row.place, what=what))


class LeftOut(RowFault):
    """A row that people did not mean to be read: hidden, or prepared without a question.

    It is counted, and never raised.
    """

    def __init__(self, path: Path, row: Row | int, why: "Reason") -> None:
        super().__init__(path, row, _("left out"))
        self.why = why


# Why a row is left out.
Reason = Literal["hidden", "prepared"]


class CutOff(RowFault):
    """A row in the middle of which the file ends; how much is missing behind it, nobody knows."""


# Whether column names are those that a reader needs.
Fits = Callable[[Sequence[str]], bool]

# What a reader makes of a file: its rows, and in the place of one that cannot be read what is wrong with it.
Rows = Iterator[Row | RowFault]


def raise_faults(rows: Rows) -> Iterator[Row]:
    """The rows up to the first faulty one, which is raised."""
    for row in rows:
        if isinstance(row, LeftOut):
            continue
        if isinstance(row, RowFault):
            raise row
        yield row


def read_cell(path: Path, row: Row, cell: "FileCell", reader: Callable[["FileCell"], T]) -> T:
    """What a reader of cells makes of a cell; its ValueError becomes a RowFault that names the column."""
    try:
        if cell.in_table and str(cell.value).strip() in _EXCEL_ERRORS:
            raise ValueError(_("it shows {text}; fix the formula", text=quote(cell.value)))
        return reader(cell)
    except ValueError as error:
        column = quote(cell.column)
        what = _("column {column}: {problem:sentence}", column=column, problem=error)
        raise RowFault(path, row, what) from None


def longest_text(value: JsonValue) -> int:
    """How many characters the longest text in a value has, at any depth."""
    longest, pending = 0, [value]
    while pending:
        item = pending.pop()
        if isinstance(item, str):
            longest = max(longest, len(item))
        elif isinstance(item, list):
            pending.extend(item)
        elif isinstance(item, dict):
            pending.extend(item.values())
    return longest


def check_columns(path: Path, row: Row | int, n: int) -> None:
    """Raises RowFault for more columns than a spreadsheet has."""
    if n > MAX_COLUMNS:
        raise RowFault(path, row, _("{n} columns; at most {most} are read.", n=n, most=MAX_COLUMNS))


def column_names(path: Path, row: Row | int, cells: Sequence[str]) -> list[str]:
    """The names in a header row, stripped; "" for a further column of the same name, which is not read.

    Raises RowFault for a name that occurs twice where it fills a field: either of the two may be meant.
    """
    names: list[str] = []
    for name in map(str.strip, cells):
        if name and name in names:
            if field_of(name) or name in choice_columns(tuple(cells)):
                what = _("the column {name} occurs twice; rename one of them.", name=quote(name))
                raise RowFault(path, row, what)
            names.append("")
        else:
            names.append(name)
    return names


# Characters of a column name; what is longer is a question.
_LONGEST_NAME = 30


def is_lower_heading(upper: Sequence[str], lower: Sequence[str], fits: Fits, *, spans: bool = False) -> bool:
    """Whether the row below a heading is the row of column names, under groups of columns.

        問い合わせ  -     回答          a group over two columns
        分類        質問  正解          the names

    The lower row has the column that is needed, and names under columns where the upper one has none; `spans`
    says that a cell of the upper row is merged over several columns. A row of data is none: it would have to
    consist of column names.
    """
    names = [text.strip() for text in lower]
    if not fits(names) or any(len(name) > _LONGEST_NAME for name in names):
        return False
    fields = [field for name in names if name and (field := field_of(name))]
    under_none = any(
        name and not (upper[column].strip() if column < len(upper) else "")
        for column, name in enumerate(names)
    )
    return len(set(fields)) > 1 and (spans or under_none)


def is_storable(value: JsonValue) -> bool:
    r"""Whether no key or text holds NUL or half of a \u pair, which no file and no request can carry."""
    # A list instead of recursion, because the sender chooses the depth: 10,000 brackets are too deep for
    # a call each.
    pending = [value]
    while pending:
        item = pending.pop()
        if isinstance(item, list):
            pending.extend(item)
        elif isinstance(item, dict):
            pending.extend([*item.keys(), *item.values()])
        elif isinstance(item, str) and _UNSTORABLE.search(item):
            return False
    return True


_YES, _NO, _PARTLY, _OPEN, _UNKNOWN, _NO_ERROR = (
    frozenset(NAMES["words"][name]) for name in ("yes", "no", "partly", "open", "unknown", "no_error")
)
_LANGUAGES: Mapping[str, Language] = by_word(NAMES["languages"])
_HANDOVERS: Mapping[str, Handover] = by_word(NAMES["handovers"])
# What logs call a timeout: timed out, times-out, timeout, タイムアウト.
_TIMEOUT = re.compile(r"time[sd]?[ _-]*out|timeout|タイムアウト|時間切れ", re.IGNORECASE)
_CUSTOMER, _BOT = ("|".join(NAMES["history"][role]) for role in ("user", "assistant"))
# Who speaks, at the beginning of a line or behind a slash or a bar, before a colon of any width.
_SPEAKER = re.compile(rf"(?:^|\n|\s/\s|[|／｜])[ \t　]*({_CUSTOMER}|{_BOT})[ \t　]*[:：]", re.IGNORECASE)
_KNOWN_FACT = re.compile(r"(?:knows|known|知っている)[ \t　]*[:：]", re.IGNORECASE)
_UNKNOWN_FACT = re.compile(r"(?:unknown|知らない|不明|わからない|分からない)[ \t　]*[:：]", re.IGNORECASE)
_HISTORY = _(
    'write "User: ..." and "Assistant: ..." lines (ユーザー: / ボット:), or a JSON list of {{"role":'
    ' "user" or "assistant", "content": "..."}}'
)


class FileCell(NamedTuple):
    """A value, its column, and whether that is the column of a table, where every value is text."""

    column: str
    value: JsonValue
    in_table: bool = False


def identifier(cell: FileCell) -> str:
    """An id as written: 001 stays 001. It is never used as a path.

    Control characters and line ends are refused, because ids stand in terminals, file names of reports and
    keys of sheets.
    """
    key = text(cell)
    if any(unicodedata.category(character) in {"Cc", "Zl", "Zp"} for character in key):
        raise ValueError(_("an id cannot hold line breaks or control characters"))
    return key


def text(cell: FileCell) -> str:
    """A text, stripped; numbers are read as they are written.

    Raises ValueError for a list or an object: a question that is one is a mistake of the file.
    """
    return _plain(cell.value).strip()


def answer(cell: FileCell) -> str:
    """The bot's answer: a text, or a JSON object as text."""
    return (_json_text(cell.value) if isinstance(cell.value, dict) else _plain(cell.value)).strip()


def language(cell: FileCell) -> Language:
    """`ja` or `en`, also as 日本語, English, ja-JP."""
    key = _word(cell.value)
    code = _LANGUAGES.get(key) or _LANGUAGES.get(re.split(r"[-_]", key)[0])
    if code is None:
        raise ValueError(_("{cell} is not a language; use ja or en", cell=quote(cell.value)))
    return code


def answerable(cell: FileCell) -> bool | None:
    """Whether the knowledge holds an answer, if only a partial one; None for an unclear question.

    "partial" is True with the tag `partial`, "underspecified" None with the tag `underspecified`
    (`answerability_tags`).
    """
    word = _word(cell.value)
    if word in _UNKNOWN | _OPEN:
        return None
    if word not in _YES | _NO | _PARTLY:
        msg = _(
            "{cell} is neither yes nor no; use yes or no (可, 不可, ○, ×, unanswerable)",
            cell=quote(cell.value),
        )
        raise ValueError(msg)
    return word not in _NO


def answerability_tags(cell: FileCell) -> tuple[str, ...]:
    """A tag for an answerability between yes and no: `partial` or `underspecified`."""
    word = _word(cell.value)
    return ("partial",) if word in _PARTLY else ("underspecified",) if word in _OPEN else ()


def handover(cell: FileCell) -> Handover:
    """Whether the bot has to pass this customer to a person."""
    expected = _HANDOVERS.get(_word(cell.value))
    if expected is None:
        msg = _(
            "{cell} is not understood; use required, forbidden or optional (必要, 不要, 任意)",
            cell=quote(cell.value),
        )
        raise ValueError(msg)
    return expected


def words(cell: FileCell) -> tuple[str, ...]:
    """Short items (ids, tags), without repetitions; in a table separated by `|` or a line break."""
    return tuple(dict.fromkeys(_items(cell, r"[|｜\n]")))


def tools(cell: FileCell) -> tuple[str, ...]:
    """Names of tools, `!name` for one that must not be called; in a table also separated by commas."""
    value = _json(cell)
    if isinstance(value, list):  # definitions of tools, too, as a request has them
        inside = (item.get("function", item) if isinstance(item, dict) else item for item in value)
        value = [item.get("name") if isinstance(item, dict) else item for item in inside]
    return tuple(dict.fromkeys(_items(cell._replace(value=value), r"[|｜\n,，、;；]")))


def choices(cell: FileCell) -> tuple[str, ...]:
    """The choices in their order; a JSON list may hold empty and repeated ones."""
    items = _json_list(cell)
    return tuple(map(_plain, items)) if items is not None else _items(cell, r"[|｜\n]")


def error(cell: FileCell) -> Failure | None:
    """How the bot failed instead of answering, according to a log; None when it did not fail.

    A text, or an object with kind, type, code or message. "none", "false", "0" and their like are no failure.
    """
    value = cell.value
    if isinstance(value, dict):
        parts = [value.get(key) for key in ("kind", "type", "code", "message")]
        value = ": ".join(_plain(part) for part in parts if not is_empty(part)) or json.dumps(value)
    if _word(value) in _NO | _NO_ERROR:
        return None
    description = " ".join(_plain(value).split())
    kind = "timeout" if _TIMEOUT.search(description) else "error"
    return Failure(kind=kind, message=description)


def contexts(cell: FileCell) -> tuple[str, ...]:
    """Recorded passages: texts, or objects with a text; in a table separated by `|`."""
    items = _json_list(cell)
    return _items(cell, r"\|") if items is None else tuple(filter(None, map(_context, items)))


def script(cell: FileCell) -> tuple[str, ...]:
    """The customer's lines after the question; a line may occur more than once."""
    return _items(cell, r"[|｜\n]")


def recorded(cell: FileCell) -> tuple[Answer, ...]:
    """The bot's logged answer to each turn: texts, or objects with a text and its passages."""
    items = _json_list(cell)
    return tuple(map(_answer, _items(cell, r"\|") if items is None else items))


def references(cell: FileCell) -> tuple[tuple[str, ...], ...]:
    """The acceptable answers: a flat list has those of turn 1, a list of lists has one list per turn.

    An object is an answer in JSON, as is a list within the list of a turn. A turn without any is an empty
    tuple. Raises ValueError for more than `_MOST_REFERENCES`.
    """
    value = _json(cell)
    turns = value if isinstance(value, list) else None
    if isinstance(value, dict):  # as one text, so that a bar in it does not separate
        turns = [cell.value if isinstance(cell.value, str) else _json_text(value)]
    if turns is not None:
        turns = [list(map(_as_text, turn)) if isinstance(turn, list) else _as_text(turn) for turn in turns]
        cell = cell._replace(value=turns)
    if turns is None or not any(isinstance(turn, list) for turn in turns):
        # In `references` and its like a line break separates answers, in `reference` it belongs to one.
        flat = _items(cell, r"[|\n]" if normalised(cell.column) in _ONE_PER_LINE else r"\|")
        by_turn = [flat] if flat else []
    else:
        by_turn = [() if is_empty(turn) else _items(FileCell(cell.column, turn), "") for turn in turns]
    if (n := max(map(len, by_turn), default=0)) > _MOST_REFERENCES:
        msg = _("{n} right answers to one question; at most {most} are read", n=n, most=_MOST_REFERENCES)
        raise ValueError(msg)
    return tuple(by_turn)


def _as_text(value: JsonValue) -> JsonValue:
    return _json_text(value) if isinstance(value, (dict, list)) else value


def _json_text(value: JsonValue) -> str:
    return json.dumps(value, ensure_ascii=False)


def facts(cell: FileCell) -> Facts:
    """What the customer knows, and what they do not know: items that begin with `unknown:`."""
    value = _json(cell)
    if isinstance(value, dict):
        if extra := set(value) - {"knows", "unknown"}:
            raise ValueError(_("{name} is not known here; use knows and unknown", name=quote(min(extra))))
        return Facts(**{key: _items(FileCell(key, items), "") for key, items in value.items()})
    items = _items(cell, r"[|\n]")
    # Items that say neither are known: most customers' facts are.
    unknown = [item for item in items if _UNKNOWN_FACT.match(item)]
    return Facts(
        knows=tuple(_KNOWN_FACT.sub("", item, count=1).strip() for item in items if item not in unknown),
        unknown=tuple(_UNKNOWN_FACT.sub("", item, count=1).strip() for item in unknown),
    )


def history(cell: FileCell) -> tuple[ChatMessage, ...]:
    r"""The turns before the question: a list of {role, content}, or lines that begin with the speaker.

    "User: How much?\nAssistant: 5 yen."   ->   user "How much?", assistant "5 yen."
    """
    value = _json(cell)
    if isinstance(value, str):
        return tuple(
            ChatMessage(role=_role(speaker), content=line) for speaker, line in _lines_by_speaker(value)
        )
    if not isinstance(value, list):
        raise ValueError(_("{value} is not a conversation; {history}", value=quote(value), history=_HISTORY))
    return tuple(map(message, value))


def message(value: JsonValue) -> ChatMessage:
    """One line of a dialogue, from {"role": ..., "content": ...}."""
    if not isinstance(value, dict) or not isinstance(value.get("content"), str):
        msg = _("{value} is not a line of a conversation; {history}", value=quote(value), history=_HISTORY)
        raise ValueError(msg)
    return ChatMessage(role=_role(value.get("role")), content=_plain(value["content"]))


def _role(value: JsonValue) -> Any:
    speaker = _word(value)
    if re.fullmatch(_CUSTOMER, speaker):
        return "user"
    if re.fullmatch(_BOT, speaker):
        return "assistant"
    raise ValueError(_("{value} is not a known speaker; use user or assistant", value=quote(value)))


def _lines_by_speaker(dialogue: str) -> Iterable[tuple[str, str]]:
    # Text before the first speaker belongs to nobody: a header, or a speaker that is not known.
    before, *parts = _SPEAKER.split(dialogue.strip())
    if before.strip():
        raise ValueError(_("{text} does not say who speaks; {history}", text=quote(before), history=_HISTORY))
    return [(speaker, line.strip()) for speaker, line in zip(parts[::2], parts[1::2], strict=True)]


def _json(cell: FileCell) -> JsonValue:
    """The list or object written inside a table cell, or the value itself."""
    if not isinstance(cell.value, str) or not cell.in_table or cell.value.strip()[:1] not in {"[", "{"}:
        return cell.value
    try:
        value: JsonValue = json.loads(cell.value)
    except (ValueError, RecursionError):
        # A text may begin with a bracket (「[重要] 本日休業」); what begins like a list of texts and is none
        # is a mistake.
        if re.match(r"""\s*(\[\s*["\[{]|\{\s*")""", cell.value):
            msg = _(
                "begins like a JSON list but is not one; inside a CSV cell write every quotation mark twice"
            )
            raise ValueError(msg) from None
        return cell.value
    return value if isinstance(value, (list, dict)) else cell.value


def _json_list(cell: FileCell) -> list[JsonValue] | None:
    value = _json(cell)
    return value if isinstance(value, list) else None


def _items(cell: FileCell, separator: str) -> tuple[str, ...]:
    parts: Iterable[str]
    items = _json_list(cell)
    if items is not None:
        parts = map(_plain, items)
    else:
        value = _plain(cell.value)
        parts = re.split(separator, value) if cell.in_table and separator else [value]
    return tuple(part.strip() for part in parts if part.strip())


def _answer(value: JsonValue) -> Answer:
    if not isinstance(value, dict):
        return Answer(text=_plain(value).strip())
    # Logs have an error instead of a text; our own files have both keys.
    if "error" in value:
        value = {"text": "", **value, "error": _failure(value["error"])}
    try:
        return Answer.model_validate(value)
    except ValidationError as error:
        location = ".".join(map(str, error.errors()[0]["loc"]))
        msg = _(
            '{location} is not understood; write {{"text": "...", "passages": [{{"id", "text"}}]}}',
            location=quote(location),
        )
        raise ValueError(msg) from None


def _failure(value: JsonValue) -> JsonValue:
    """An error as this program writes it, or one that `error` reads in another log."""
    with contextlib.suppress(ValidationError):
        return Failure.model_validate(value).model_dump()
    failure = error(FileCell("error", value))
    return failure.model_dump() if failure else None


def _context(value: JsonValue) -> str:
    if isinstance(value, dict):
        value = next((value[key] for key in ("text", "content", "page_content") if key in value), value)
    return _plain(value).strip()


def _plain(value: JsonValue) -> str:
    if isinstance(value, str):
        return value
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, (int, float)):
        return str(value)
    raise ValueError(_("{value} is not a text", value=quote(value)))


def _word(value: JsonValue) -> str:
    return unicodedata.normalize("NFKC", _plain(value)).strip().casefold()


# Reads the value of a field from its cell, for every field whose meaning does not depend on other columns.
READERS: Mapping[str, Callable[[FileCell], Any]] = {
    "id": identifier,
    "question": text,
    "history": history,
    "language": language,
    "references": references,
    "passages": words,
    "answerable": answerable,
    "handover": handover,
    "goal": text,
    "facts": facts,
    "choices": choices,
    "label": text,
    "answer": answer,
    "error": error,
    "contexts": contexts,
    "tools": tools,
    "tags": words,
    "script": script,
    "recorded": recorded,
}


MIN_CHOICES, _MAX_CHOICES = 2, 26
# What may precede the letter or number of a choice in the name of its column; a bare number is not a choice.
CHOICE_PREFIXES = ("choice", "option", "opt", "選択肢", "肢", "")
_KANA = "アイウエオカキクケコ"
_FIRST_CHOICES = frozenset(
    {"a", *(f"{prefix}{first}" for prefix in CHOICE_PREFIXES[:-1] for first in "a01ア")}
)


@lru_cache(maxsize=256)
def choice_columns(headers: tuple[str, ...]) -> tuple[str, ...]:
    """The columns of the choices in their order (A, B; choice_0, choice_1; 選択肢ア, 選択肢イ), or none.

    At least two, without a gap, numbered in one way. A bare number is no choice: a column "1" may be
    anything.
    """
    # Reversed, so that of two headers that are read alike the first one counts.
    by_name = {normalised(header): header for header in reversed(headers)}
    if not _FIRST_CHOICES & by_name.keys():
        return ()
    for prefix in CHOICE_PREFIXES:
        for marks in _marks(prefix):
            names = [f"{prefix}{mark}" for mark in marks]
            count = next((at for at, name in enumerate(names) if name not in by_name), len(names))
            if count >= MIN_CHOICES:
                return tuple(by_name[name] for name in names[:count])
    return ()


def _marks(prefix: str) -> Sequence[Sequence[str]]:
    """The ways to number choices: by letter, and after a prefix also by number or kana."""
    by_letter = ascii_lowercase
    numbers = [str(number) for number in range(_MAX_CHOICES + 1)]
    return (by_letter, numbers[:_MAX_CHOICES], numbers[1:], _KANA) if prefix else (by_letter,)


Record = dict[str, JsonValue]

# The question of a case from a data set of graded answers without questions.
NO_QUESTION = "-"


def split_question(history: Sequence[ChatMessage]) -> tuple[str, tuple[ChatMessage, ...]]:
    """The question and the history before it, from a dialogue whose next answer was graded.

    The question is the customer's last line; when the dialogue does not end with one, it is `-`. Data sets of
    graded answers have `"question": null` and a history.
    """
    if history and history[-1].role == "user" and history[-1].content.strip():
        return history[-1].content.strip(), tuple(history[:-1])
    return NO_QUESTION, tuple(history)
