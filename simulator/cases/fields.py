"""From a row to its case: what a cell means in each field, and what a list of turns says of a case.

One function a field, from a cell to the field's type, which raises ValueError with what it accepts
(`READERS`); then `case_of`, which asks `headings` for the columns, reads each cell once and makes the case.
Two kinds of cells are read: those of a table, where every value is text and a list stands inside one cell
("a|b", or '["a | b"]' for a text with a bar in it), and those of JSON, where a list is a list.

    references   "a|b" in a table            -> (("a", "b"),), both right answers to turn 1
    references   [["x"], [], ["y"]] in JSON  -> (("x",), (), ("y",)), by turn
    facts        "I moved.|unknown: my number" -> knows I moved., unknown my number
    answerable   ○, yes, 可, partial         -> True
    error        "Timed out after 30 s"      -> a timeout; "none" -> no error

A column `turns` holds a whole dialogue, which is how conversations of logs come here, too:

    [{"question": "A?", "reference": "a", "answer": "x", "contexts": ["p"]}, {"question": "B?"}]
        -> question A?, script B?, references (a), (), recorded x with the passage p
    [{"role": "assistant", "content": "Hi"}, {"role": "user", "content": "How much?"},
     {"role": "assistant", "content": "4180 yen."}, {"role": "user", "content": "And for a house?"}]
        -> history Hi, question How much?, script And for a house?, recorded 4180 yen.

What the bot said is its recorded answer and never a right one: right answers are those that the file calls so
(`reference` beside a question, or on a line of either). A column `question` beside the turns loses none of
them, wherever in the dialogue that question stands.
"""

import contextlib
import json
import re
import unicodedata
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeVar

from pydantic import JsonValue, ValidationError

from simulator.cases.formats import choice_rows
from simulator.cases.headings import (
    COLUMNS,
    NAMES,
    by_word,
    columns_by_field,
    field_of,
    has_choices,
    has_question,
    is_empty,
    is_missing,
    normalised,
)
from simulator.cases.row import LeftOut, Row, RowFault
from simulator.core.errors import CaseFileError
from simulator.core.messages import _, both, printable, quote
from simulator.core.tool_calls import tool_calls_of
from simulator.core.types import (
    Answer,
    Case,
    ChatMessage,
    Facts,
    Failure,
    Handover,
    Language,
    Passage,
    ToolCall,
)
from simulator.text.typography import language_of

T = TypeVar("T")

# The question of a case from a data set of graded answers without questions.
NO_QUESTION = "-"
# Each is compared with every answer, and some judges have a model embed it.
_MOST_REFERENCES = 1000
# Each takes a verdict from the judge, all of them in one reply.
_MOST_EXPECTED = 20
_BULLET = re.compile(r"\A(?:[*•・●○]\s*|-\s+|[(（]?\d{1,2}[.)．）、]\s*(?=\D))")
# In these columns of a table a line break separates items; in others it belongs to the text.
_ONE_PER_LINE = frozenset(map(normalised, ("references", "ground_truths", "reference_answers")))
_YES, _NO, _PARTLY, _OPEN, _UNKNOWN, _NO_ERROR = (
    frozenset(NAMES["words"][name]) for name in ("yes", "no", "partly", "open", "unknown", "no_error")
)
_ROLES: Mapping[str, str] = by_word(NAMES["speakers"])
_LANGUAGES: Mapping[str, Language] = by_word(NAMES["languages"])
_HANDOVERS: Mapping[str, Handover] = by_word(NAMES["handovers"])
# What logs call a timeout: timed out, times-out, timeout, タイムアウト.
_TIMEOUT = re.compile(r"time[sd]?[ _-]*out|timeout|タイムアウト|時間切れ", re.IGNORECASE)
_SPEAKERS = "|".join(word for role in ("user", "assistant") for word in NAMES["history"][role])
# Keys that hold a text of a message, likeliest first, and lists within each other that hold none any more.
_TEXTS = ("text", "content", "value", "input_text", "output_text", "message", "parts")
_DEEPEST = 12
# Who speaks, at the beginning of a line or behind a slash or a bar, before a colon of any width.
_SPEAKER = re.compile(rf"(?:^|\n|\s/\s|[|／｜])[ \t　]*({_SPEAKERS})[ \t　]*[:：]", re.IGNORECASE)
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


_EXCEL_ERRORS = frozenset(NAMES["words"]["excel_errors"])


def read_cell(path: Path, row: Row, cell: FileCell, reader: Callable[[FileCell], T]) -> T:
    """What a reader of cells makes of a cell; its ValueError becomes a RowFault that names the column."""
    try:
        if cell.in_table and str(cell.value).strip() in _EXCEL_ERRORS:
            raise ValueError(_("it shows {text}; fix the formula", text=quote(cell.value)))
        return reader(cell)
    except ValueError as error:
        column = quote(cell.column)
        what = _("column {column}: {problem:sentence}", column=column, problem=error)
        raise RowFault(path, row, what) from None


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
    """Whether the knowledge holds an answer, if only a partial one; None for an unclear question."""
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


def names(cell: FileCell) -> tuple[str, ...]:
    """Names of tools or personas, `!name` for one that must not be; in a table also separated by commas."""
    value = _json(cell)
    if isinstance(value, list):  # definitions of tools, too, as a request has them
        inside = (item.get("function", item) if isinstance(item, dict) else item for item in value)
        value = [item.get("name") if isinstance(item, dict) else item for item in inside]
    return tuple(dict.fromkeys(_items(cell._replace(value=value), r"[|｜\n,，、;；]")))


def expect(cell: FileCell) -> tuple[str, ...]:
    """What is expected of the bot, a sentence each; in one text separated by `|` or a line break.

    What an item of a list begins with is left out. Raises ValueError for more than `_MOST_EXPECTED`.
    """
    items = (_BULLET.sub("", item).strip() for item in _items(cell._replace(in_table=True), r"[|｜\n]"))
    sentences = tuple(dict.fromkeys(filter(None, items)))
    if (n := len(sentences)) > _MOST_EXPECTED:
        msg = _("{n} sentences of what is expected; at most {most} are read", n=n, most=_MOST_EXPECTED)
        raise ValueError(msg)
    return sentences


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
        msg = _("{n} reference answers to one question; at most {most} are read", n=n, most=_MOST_REFERENCES)
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
    return ChatMessage(role=_role(value.get("role")), content=value["content"])


def _role(value: JsonValue) -> Literal["user", "assistant"]:
    """Who speaks in a dialogue, where a person at the desk counts as the bot."""
    if role := role_of(value):
        return "user" if role == "user" else "assistant"
    raise ValueError(_("{value} is not a known speaker; use user or assistant", value=quote(value)))


def role_of(name: Any) -> str:
    """user, assistant or agent; "" for everybody else: system, tools, events, notes.

    By the words of headings.toml, without spaces, case, "message" and "chunk" at the end.
    """
    return _role_of_word(str(name)) if name else ""


@lru_cache(maxsize=4096)
def _role_of_word(name: str) -> str:
    word = re.sub(r"[\s_-]", "", name).casefold()
    return _ROLES.get(word) or _ROLES.get(word.removesuffix("chunk").removesuffix("message"), "")


def text_of(content: Any, depth: int = 0) -> str:
    """The text of a message, which may be a string, an object, or a list of parts; "" where it holds none."""
    if depth > _DEEPEST or content is None or isinstance(content, bool):
        return ""
    if isinstance(content, (str, int, float)):
        return str(content).strip()
    if isinstance(content, list):
        return "\n".join(filter(None, (text_of(part, depth + 1) for part in content)))
    if not isinstance(content, dict):
        return ""
    # What a model thinks, calls or shows is no text that the customer reads.
    if str(content.get("type", "")).startswith(("tool", "function", "reasoning", "image", "file")):
        return ""
    return next(filter(None, (text_of(content[key], depth + 1) for key in _TEXTS if key in content)), "")


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
    "tools": names,
    "personas": names,
    "expect": expect,
    "tags": words,
    "script": script,
    "recorded": recorded,
}


# Keys of a line that say who speaks, and those that hold what is said, likeliest first; and who says nothing.
_WHO, _SAID = ("role", "speaker", "from", "sender"), ("content", "text", "value", "message")
_UNSPOKEN = frozenset({"system", "developer", "tool", "function"})
# What a turn of a log calls the tools that the bot used.
CALLED = "tool_calls"


@dataclass
class _Turn:
    """What a list of turns says of one of them; `has_answer` where it has a place for the bot's answer."""

    question: str | None = None
    answer: str = ""
    has_answer: bool = False
    references: tuple[str, ...] = ()
    passages: tuple[str, ...] = ()
    contexts: tuple[str, ...] = ()
    answerable: JsonValue = None
    error: Failure | None = None
    called: tuple[ToolCall, ...] | None = None

    def add(self, values: Mapping[str, JsonValue]) -> None:
        """Adds what an object says beside question and answer."""
        columns = columns_by_field(values)
        cells = {name: FileCell(name, values[column]) for name, column in columns.items()}
        if "references" in cells:
            right = references(cells["references"]._replace(column="reference"))
            self.references += tuple(text for texts in right for text in texts)
        self.passages += words(cells["passages"]) if "passages" in cells else ()
        self.contexts += contexts(cells["contexts"]) if "contexts" in cells else ()
        if "answerable" in cells:
            self.answerable = cells["answerable"].value
        if "error" in cells:
            self.error = error(cells["error"])
        if isinstance(called := values.get(CALLED), list):
            self.called = tool_calls_of(called)

    @property
    def recorded(self) -> Answer:
        """The answer with the passages whose texts the dialogue has; ids alone do not count."""
        ids = self.passages
        # Ids of other passages than the texts would name the wrong ones.
        if len(ids) != len(self.contexts):
            ids = tuple(map(str, range(1, len(self.contexts) + 1)))
        passages = tuple(Passage(id=id_, text=text) for id_, text in zip(ids, self.contexts, strict=True))
        return Answer(text=self.answer, passages=passages, error=self.error, tools=self.called)


def is_dialogue(value: JsonValue) -> bool:
    """Whether a value is a list of turns, rather than their number or something of another program."""
    if not isinstance(value, list) or not value or not all(isinstance(turn, dict) for turn in value):
        return False
    return any(_speaker(turn) or _has(turn, "question") for turn in value if isinstance(turn, dict))


def fields_of_turns(cell: FileCell, question: str = "", *, has_answer: bool = False) -> dict[str, Any]:
    """The fields that a list of turns stands for; `answerable` as it is written.

    `question` is that of the row's own column, if there is one, and `has_answer` whether the row has an
    answer to it. One that the dialogue has is a line of it; one with its own answer comes after the dialogue;
    one that the bot's first line answers comes before it; any other says what the dialogue is about.

    The first question is the question, later ones are the script. References and recorded answers are per
    turn, passages are those of all turns, `answerable` is that of the first question. Raises ValueError.
    """
    value = cell.value
    if not isinstance(value, list) or not all(isinstance(turn, dict) for turn in value):
        msg = _(
            '{value} is not a list of questions; write [{{"question": "...", "reference": "..."}}]',
            value=quote(value),
        )
        raise ValueError(msg)
    opening, turns = _turns([turn for turn in value if isinstance(turn, dict)])
    fields: dict[str, Any] = {}
    if question and question not in [turn.question for turn in turns]:
        if has_answer:
            return {"question": question, "history": (*opening, *_lines(turns))}
        if opening:
            first = "\n".join(line.content for line in opening)
            opening, turns = (), [_Turn(question, first, has_answer=True), *turns]
        else:
            fields["goal"] = question
    if not turns:
        raise ValueError(_("the customer says nothing"))
    # The first turn may be without one: a conversation that the bot began.
    for number, turn in enumerate(turns[1:], 2):
        if turn.question is None:
            raise ValueError(_("entry {number:d} has no question", number=number))
    fields |= {
        "script": tuple(turn.question for turn in turns[1:] if turn.question),
        "references": tuple(turn.references for turn in turns),
        "passages": tuple(dict.fromkeys(id_ for turn in turns for id_ in turn.passages)),
        "answerable": turns[0].answerable,
    }
    # Answers are by turn: one that is missing keeps its place, and is skipped when it is graded.
    last = max((number for number, turn in enumerate(turns, 1) if turn.has_answer or turn.error), default=0)
    fields["recorded"] = tuple(
        turn.recorded if turn.has_answer or turn.error else Answer(text="") for turn in turns[:last]
    )
    return fields | {"history": opening, "question": turns[0].question}


def _turns(values: Sequence[Mapping[str, JsonValue]]) -> tuple[tuple[ChatMessage, ...], list[_Turn]]:
    """The bot's lines before the first question, and the turns, of objects with either a turn or a line.

    Consecutive lines of one speaker are one turn; what the system or a tool says is left out.
    """
    opening: list[ChatMessage] = []
    turns: list[_Turn] = []
    has_lines = any(map(_speaker, values))
    for value in values:
        if not has_lines:
            question, answer = _said(value, "question"), _said(value, "answer")
            turns.append(_Turn(question, answer or "", has_answer=answer is not None))
        elif str(_speaker(value)).strip().lower() in _UNSPOKEN:
            continue
        else:
            line = _line(value)
            last = turns[-1] if turns else None
            if line.role == "user" and (last is None or last.has_answer):
                turns.append(_Turn(line.content.strip()))
            elif line.role == "user" and last:
                # Two lines of the customer in a row: one turn, for a bot that answers once.
                last.question = _joined(last.question, line.content)
            elif last:
                last.answer, last.has_answer = _joined(last.answer, line.content), True
            else:
                opening.append(line)
                continue
        turns[-1].add(value)
    return tuple(opening), turns


def _has(turn: Mapping[str, JsonValue], field: str) -> bool:
    """Whether a turn has a value of a field, under its own name or another one of it."""
    return not is_empty(turn.get(field)) or field in columns_by_field(turn)


def _said(turn: Mapping[str, JsonValue], field: str) -> str | None:
    """The text of a field of a turn; None where it has none. Raises ValueError for what is no text.

    What somebody says is a line, also where an empty cell would be written like it: "None", "nan".
    """
    if not _has(turn, field):
        return None
    column = field if not is_empty(turn.get(field)) else columns_by_field(turn)[field]
    return text(FileCell(field, turn[column]))


def _joined(before: str | None, content: str) -> str:
    return f"{before}\n{content}".strip() if before else content.strip()


def _speaker(turn: Mapping[str, JsonValue]) -> JsonValue:
    """Who speaks in a turn that is one line, as it is written; None in one that holds question and answer."""
    return next((turn[key] for key in _WHO if turn.get(key)), None)


def _line(turn: Mapping[str, JsonValue]) -> ChatMessage:
    """A line, by any of the names that logs have for who speaks and for what is said. Raises ValueError."""
    said: JsonValue = next((turn[key] for key in _SAID if turn.get(key) is not None), None)
    if isinstance(said, (list, dict)):
        said = text_of(said)
    return message({"role": _speaker(turn), "content": "" if said is None and "error" in turn else said})


def _lines(turns: Sequence[_Turn]) -> Iterator[ChatMessage]:
    """The turns as lines of a history."""
    for turn in turns:
        if turn.question:
            yield ChatMessage(role="user", content=turn.question)
        if turn.answer:
            yield ChatMessage(role="assistant", content=turn.answer)


# The fields that a row prepared for later questions may have; with any other one its question was forgotten.
_OF_PREPARED_ROWS = frozenset({"id", "language", "tags", "answerable", "handover", "error"})


def case_of(
    path: Path,
    row: Row,
    number: str,
    *,
    language: Language | None = None,
    asks: bool = True,
    values: bool = False,
) -> Case:
    """The case of one row; `number` is the id of a row without one. Raises RowFault.

    `asks` is False where a prompt makes the question of a row, so that a row may do without one; with
    `values` the columns that fill no field are kept as text.

    Columns of choices become one list first, with the right one as label. An error in the log replaces the
    recorded answer to turn 1. The language is that of the row, `language`, or that of the question's script.
    """
    # Before the cells are read: of A, B, C and Answer, `answer` is the right choice, not what a bot said.
    if has_choices(tuple(row.values)) and (reader := choice_rows()):
        row = reader.row(path, row)
    columns = columns_by_field(row.values)
    others = _values(row, columns) if values else {}
    can_ask = not asks and any(others.values())
    if not can_ask and {"question", "turns"}.isdisjoint(columns):
        _check_question(path, row, columns)
    fields = _fields(path, row, columns)
    if "question" not in fields:
        if not can_ask:
            _check_question(path, row, fields)
        fields["question"], fields["history"] = split_question(fields.get("history", ()))
        if not asks and fields["question"] == NO_QUESTION:
            # The only value of the row, or all of them with their names.
            filled = {column: value for column, value in others.items() if value}
            named = [f"{column}: {value}" for column, value in filled.items()]
            fields["question"] = "\n".join(named if len(named) > 1 else filled.values()) or NO_QUESTION
    # A log with both an error and a text has a failure: what the customer saw first is unknown.
    if failure := fields.pop("error", None):
        fields["recorded"] = (Answer(text="", error=failure), *fields.get("recorded", ())[1:])
    if others:
        fields["values"] = others
    # Last, so that a row's own id and language win.
    fields.setdefault("id", number)
    fields.setdefault("language", language or _language(fields))
    return Case(**fields)


def _fields(path: Path, row: Row, columns: Mapping[str, str]) -> dict[str, Any]:
    """The fields of a case that a row fills, including those that its turns imply.

    A cell of the row's own wins over what its turns say: a column `language` beside `turns` is the language.
    Of a column `question` beside them the turns make what it is in the dialogue (`fields_of_turns`).
    """
    cells = {name: FileCell(column, row.values[column], row.cells) for name, column in columns.items()}
    if row.cells and {"answer", "recorded"}.isdisjoint(map(field_of, row.values)):
        cells.pop("error", None)  # in a table without answers, `error` means something else
    turns, implied = cells.pop("turns", None), dict[str, Any]()
    # A column of that name may hold something else, where there is a question.
    if turns is not None and ("question" not in cells or is_dialogue(turns.value)):
        question = read_cell(path, row, cells.pop("question"), text) if "question" in cells else ""
        has_answer = not {"answer", "recorded"}.isdisjoint(cells)
        implied = read_cell(
            path, row, turns, partial(fields_of_turns, question=question, has_answer=has_answer)
        )
        if not is_empty(written := implied.pop("answerable", None)):
            cells.setdefault("answerable", FileCell("answerable", written))
        implied = {name: value for name, value in implied.items() if value}
    return implied | {name: read_cell(path, row, cell, READERS[name]) for name, cell in cells.items()}


def _check_question(path: Path, row: Row, names: Collection[str]) -> None:
    """Raises RowFault for a row without a question that should have one; `names` are the fields it has."""
    questions = [column for column in row.values if has_question([column])]
    # A recorded answer whose data set says `"question": null`; in a table that is a forgotten question.
    is_null = any(is_missing("question", row.values[name]) for name in questions)
    if "answer" in names and not row.cells and is_null:
        return
    if questions and set(names) <= _OF_PREPARED_ROWS:
        raise LeftOut(path, row, "prepared")
    raise _no_question(path, row, questions)


def _values(row: Row, columns: Mapping[str, str]) -> dict[str, str]:
    """The columns that fill no field, as text (lists and objects as JSON).

    In a case that this program wrote, they are in `values`.
    """
    used = {column for name, column in columns.items() if name != "error"}
    others: dict[str, str] = {}
    for column, value in row.values.items():
        if column == "values" and isinstance(value, dict):
            others |= {key: _text(item) for key, item in value.items()}
        elif column not in used and not (
            (field_of(column) or column in Case.model_fields) and is_empty(value)
        ):
            others[column] = _text(value)
    return others


def _text(value: JsonValue) -> str:
    if isinstance(value, str):
        return value.strip()
    return "" if value is None else json.dumps(value, ensure_ascii=False)


def _language(fields: Mapping[str, Any]) -> Language:
    """The language of the question, or of the answer in a data set without questions."""
    question = str(fields["question"])
    return language_of(question if question != NO_QUESTION else str(fields.get("answer", "")))


_OF_CUSTOMERS = tuple(NAMES["hints"]["user"])


def _no_question(path: Path, row: Row, questions: Sequence[str]) -> CaseFileError:
    if questions:
        what = _("column {questions} is empty; every row needs a question.", questions=quote(questions[0]))
        return RowFault(path, row, what)
    columns = tuple(quote(column) for column in list(row.values)[:20])
    every = [name for name in COLUMNS["question"] if name != "text"]
    names = both(", ".join(filter(str.isascii, every)), ", ".join(every))
    # What people would ask is the customer's, or the longest text of a row.
    unknown = [column for column in row.values if not field_of(column)] or [*row.values]
    unknown = [
        column for column in unknown if any(word in normalised(column) for word in _OF_CUSTOMERS)
    ] or unknown
    called = {column.strip().upper(): column for column in unknown}
    example = f"question={max(unknown, key=lambda column: len(str(row.values[column])), default='...')}"
    for asked, right in (("Q", "A"), ("問", "答")):
        if {asked, right} <= called.keys():
            example = f"question={called[asked]},references={called[right]}"
    what = _(
        'no question column. Found: {columns}. Write --columns "{example}", or name one of them: {names}.',
        columns=columns,
        names=names,
        example=printable(example),
    )
    return RowFault(path, row._replace(line=row.line if row.heading is None else row.heading), what)


def split_question(history: Sequence[ChatMessage]) -> tuple[str, tuple[ChatMessage, ...]]:
    """The question and the history before it, from a dialogue whose next answer was graded.

    The question is the customer's last line; when the dialogue does not end with one, it is `-`. Data sets of
    graded answers have `"question": null` and a history.
    """
    if history and history[-1].role == "user" and history[-1].content.strip():
        return history[-1].content.strip(), tuple(history[:-1])
    return NO_QUESTION, tuple(history)
