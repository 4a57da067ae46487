"""What a cell means in each field of a case: one function a field; it raises ValueError with what it accepts.

Two kinds of cells are read: those of a table, where every value is text and a list stands inside one cell
("a|b", or '["a | b"]' for a text with a bar in it), and those of JSON, where a list is a list.

    references   "a|b" in a table            -> (("a", "b"),), both right answers to turn 1
    references   [["x"], [], ["y"]] in JSON  -> (("x",), (), ("y",)), by turn
    facts        "I moved.|unknown: my number" -> knows I moved., unknown my number
    answerable   ○, yes, 可, partial         -> True
    error        "Timed out after 30 s"      -> a timeout; "none" -> no error
"""

import ast
import contextlib
import json
import re
import unicodedata
from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeVar

from pydantic import JsonValue, ValidationError

from simulator.cases.headings import NAMES, by_word, is_empty, normalised
from simulator.cases.row import Row, RowFault
from simulator.core.messages import _, quote
from simulator.core.types import Answer, ChatMessage, Facts, Failure, Handover, Language
from simulator.text.choices import without_letters

T = TypeVar("T")

# Each takes a verdict from the judge, all of them in one reply.
_MOST_EXPECTED = 20
_BULLET = re.compile(r"\A(?:[*•・●○①-⑳]\s*|-\s+|[(（]?\d{1,2}[.)．）、]\s*(?=\D))")
# In these columns of a table a line break separates items; in others it belongs to the text.
_ONE_PER_LINE = frozenset(map(normalised, ("references", "ground_truths", "reference_answers")))
_BARS, _BARS_AND_LINES = r"\|", r"[|｜\n]"
_ANSWERED = frozenset(NAMES["logs"]["answered"])
_EXCEL_ERRORS, _NO_ERROR = (frozenset(NAMES["words"][name]) for name in ("excel_errors", "no_error"))
_ROLES: Mapping[str, str] = by_word(NAMES["speakers"])
_LANGUAGES: Mapping[str, Language] = by_word(NAMES["languages"])
_HANDOVERS: Mapping[str, Handover] = by_word(NAMES["handovers"])
_ANSWERABLE: Mapping[str, bool | None] = {
    word: {"yes": True, "no": False, "open": None}[meaning]
    for word, meaning in by_word(NAMES["answerable"]).items()
}
# What logs call a timeout: timed out, times-out, timeout, タイムアウト.
_TIMEOUT = re.compile(r"time[sd]?[ _-]*out|timeout|タイムアウト|時間切れ", re.IGNORECASE)
# Keys that hold a text of a message, likeliest first, and lists within each other that hold none any more.
_TEXTS = ("text", "content", "value", "input_text", "output_text", "message", "parts")
_DEEPEST = 12
# Keys that hold the letter of a choice.
_MARKS = ("key", "label", "letter", "id")
# Behind the working of GSM8K's answers stands the answer.
_WORKED_OUT = re.compile(r".*\n#### ?(\S[^\n]*)\s*", re.DOTALL)
# An array of texts as NumPy shows it; to Python they would be one text.
_QUOTED = r"""'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*\""""
_ARRAY = re.compile(rf"\[\s*(?:(?:{_QUOTED})\s*)+\]", re.DOTALL)
# JSON within JSON is decoded so often, and a Python literal (of a table made by pandas) is at most so long.
_LAYERS, _LONGEST_LITERAL = 3, 2_000_000
_SPEAKERS = "|".join(word for role in ("user", "assistant") for word in NAMES["history"][role])
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
    return _meaning(cell, re.split("[-_]", _word(cell.value))[0], _LANGUAGES, "ja, en")


def answerable(cell: FileCell) -> bool | None:
    """Whether the knowledge holds an answer, if only a partial one; None for an unclear question."""
    return _meaning(cell, _word(cell.value), _ANSWERABLE, "yes, no, 可, 不可, ○, ×")


def handover(cell: FileCell) -> Handover:
    """Whether the bot has to pass this customer to a person."""
    return _meaning(cell, _word(cell.value), _HANDOVERS, "required, forbidden, optional, 必要, 不要, 任意")


def _meaning(cell: FileCell, word: str, meanings: Mapping[str, T], usual: str) -> T:
    """What a word means; `usual` are the words that an error names."""
    if word not in meanings:
        raise ValueError(
            _("{cell} is not understood; write one of: {usual}", cell=quote(cell.value), usual=usual)
        )
    return meanings[word]


def words(cell: FileCell) -> tuple[str, ...]:
    """Short items (ids, tags), without repetitions; in a table separated by `|` or a line break."""
    return tuple(dict.fromkeys(_items(cell)))


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
    items = (_BULLET.sub("", item).strip() for item in _items(cell._replace(in_table=True)))
    sentences = tuple(dict.fromkeys(filter(None, items)))
    if (n := len(sentences)) > _MOST_EXPECTED:
        msg = _("{n} sentences of what is expected; at most {most} are read", n=n, most=_MOST_EXPECTED)
        raise ValueError(msg)
    return sentences


def choices(cell: FileCell) -> tuple[str, ...]:
    """The choices in their order; a JSON list may hold empty and repeated ones.

    Some data sets of Hugging Face have {"text": ["red", "blue"], "label": ["A", "B"]}, others
    {"A": "red", "B": "blue"} or [{"key": "A", "value": "red"}, ...]. Letters before the choices are left out.
    """
    items = _json(cell)
    if isinstance(items, dict):
        items = items.get("text") or [*items.values()]
    if not isinstance(items, list):
        return without_letters(_items(cell))
    return without_letters([text_of(item) if isinstance(item, dict) else _plain(item) for item in items])


def choice_marks(value: JsonValue) -> list[str]:
    """The letters or numbers that an object, or objects, give their choices; none of a list of texts."""
    items = decoded(value)
    if isinstance(items, dict):
        marks = items["label"] if isinstance(items.get("label"), list) else [*items]
    else:
        objects = items if isinstance(items, list) and all(isinstance(item, dict) for item in items) else []
        marks = [item.get(next(filter(item.__contains__, _MARKS), "")) for item in objects]
    return [normalised(str(mark)) for mark in marks if mark is not None]


def error(cell: FileCell) -> Failure | None:
    """How the bot failed instead of answering, according to a log; None when it did not fail.

    A text, or an object with kind, type, code or message. "none", "false", "0" and their like are no failure.
    """
    value = cell.value
    if isinstance(value, dict):
        parts = [value.get(key) for key in ("kind", "type", "code", "message")]
        value = ": ".join(_plain(part) for part in parts if not is_empty(part)) or json.dumps(value)
    if _word(value) in _NO_ERROR:
        return None
    description = " ".join(_plain(value).split())
    return Failure(kind="timeout" if _TIMEOUT.search(description) else "error", message=description)


def contexts(cell: FileCell) -> tuple[str, ...]:
    """Recorded passages: texts, or objects with a text; in a table separated by `|`."""
    items = _json(cell)
    return tuple(filter(None, map(_context, items))) if isinstance(items, list) else _items(cell, _BARS)


def script(cell: FileCell) -> tuple[str, ...]:
    """The customer's lines after the question; a line may occur more than once."""
    return _items(cell)


def recorded(cell: FileCell) -> tuple[Answer, ...]:
    """The bot's logged answer to each turn: texts, or objects with a text and its passages."""
    items = _json(cell)
    return tuple(map(_answer, items if isinstance(items, list) else _items(cell, _BARS)))


def references(cell: FileCell) -> tuple[tuple[str, ...], ...]:
    """The acceptable answers: a flat list has those of turn 1, a list of lists has one list per turn.

    An object is an answer in JSON, as is a list within the list of a turn. A turn without any is an empty
    tuple. Of a worked solution that ends in "#### 72", that is the answer.
    """
    value = _json(cell)
    if isinstance(value, str) and (final := _WORKED_OUT.fullmatch(value)):
        return ((final[1].strip(),),)
    if isinstance(value, dict):
        # An answer in JSON stays as it is written, whatever bars are in it.
        value = _answers_in(value) or [cell.value if isinstance(cell.value, str) else value]
    if not isinstance(value, list):
        # In `references` and its like a line break separates answers, in `reference` it belongs to one.
        separator = _BARS_AND_LINES if normalised(cell.column) in _ONE_PER_LINE else _BARS
        by_turn = [_items(cell, separator)]
    else:
        turns = value if any(isinstance(turn, list) for turn in value) else [value]
        several = (turn if isinstance(turn, list) else [turn] for turn in turns)
        by_turn = [tuple(filter(None, map(_right_answer, turn))) for turn in several]
    return tuple(by_turn) if any(by_turn) else ()


def _answers_in(value: JsonValue) -> list[JsonValue]:
    """The answers in an object that has nothing else in it; none of one that is an answer itself.

    {"answer": "5 yen"}, as in SQuAD {"text": ["5 yen", "¥5"], "answer_start": [0, 9]}, and as in TriviaQA
    {"value": "5 yen", "aliases": ["¥5"]}.
    """
    if isinstance(value, dict) and isinstance(aliases := value.get("aliases"), list) and "value" in value:
        return [value["value"], *aliases]
    names = [*value.keys() - {"answer_start"}] if isinstance(value, dict) else []
    held = value[names[0]] if isinstance(value, dict) and len(names) == 1 and names[0] in _ANSWERED else None
    # SQuAD has an empty list where the text does not say.
    return [held] if isinstance(held, str) else (held or [""]) if isinstance(held, list) else []


def _right_answer(value: JsonValue) -> str:
    inside = _answers_in(value)
    answer = inside[0] if len(inside) == 1 else value
    return (_json_text(answer) if isinstance(answer, (dict, list)) else _plain(answer)).strip()


def _json_text(value: JsonValue) -> str:
    return json.dumps(value, ensure_ascii=False)


def facts(cell: FileCell) -> Facts:
    """What the customer knows, and what they do not know: items that begin with `unknown:`."""
    value = _json(cell)
    if isinstance(value, dict):
        if extra := set(value) - {"knows", "unknown"}:
            raise ValueError(_("{name} is not known here; use knows and unknown", name=quote(min(extra))))
        return Facts(**{key: _items(FileCell(key, items)) for key, items in value.items()})
    items = _items(cell)
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
        # Text before the first speaker belongs to nobody: a header, or a speaker that is not known.
        before, *parts = _SPEAKER.split(value.strip())
        if before.strip():
            msg = _("{text} does not say who speaks; {history}", text=quote(before), history=_HISTORY)
            raise ValueError(msg)
        lines = zip(parts[::2], parts[1::2], strict=True)
        return tuple(ChatMessage(role=speaker(who), content=line.strip()) for who, line in lines)
    if not isinstance(value, list):
        raise ValueError(_("{value} is not a conversation; {history}", value=quote(value), history=_HISTORY))
    return tuple(map(_message, value))


def _message(value: JsonValue) -> ChatMessage:
    if not isinstance(value, dict) or not isinstance(value.get("content"), str):
        msg = _("{value} is not a line of a conversation; {history}", value=quote(value), history=_HISTORY)
        raise ValueError(msg)
    return ChatMessage(role=speaker(value.get("role")), content=value["content"])


def speaker(value: JsonValue) -> Literal["user", "assistant"]:
    """Who speaks in a dialogue, where a person at the desk counts as the bot. Raises ValueError."""
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


class _Arrays(ast.NodeTransformer):
    """Puts in the place of NumPy's arrays what they hold."""

    def visit_Call(self, node: ast.Call) -> ast.AST:
        """The first argument of `array(...)`; anything else stays, and is no literal."""
        return (
            node.args[0]
            if isinstance(node.func, ast.Name) and node.func.id == "array" and node.args
            else node
        )


def decoded(value: Any) -> Any:
    """What stands as JSON in a text, at most three layers deep; a text that is no object or list stays one.

    A table made by pandas holds Python literals, which are read as safely, and arrays: ['a' 'b'] alone, and
    within an object array(['a', 'b'], dtype=object).
    """
    for _layer in range(_LAYERS):
        if not isinstance(value, str) or value.strip()[:1] not in ("{", "[", '"'):
            break
        text = value.strip()
        try:
            value = json.loads(text)
        except (ValueError, RecursionError):
            if text[:1] == '"' or len(text) > _LONGEST_LITERAL:
                break
            if _ARRAY.fullmatch(text):
                text = f"[{','.join(re.findall(_QUOTED, text))}]"
            try:
                value = ast.literal_eval(_Arrays().visit(ast.parse(text, mode="eval")))
            except (ValueError, SyntaxError, MemoryError, RecursionError):
                break
    return value


def _json(cell: FileCell) -> JsonValue:
    """The list or object written inside a table cell, or the value itself."""
    if not isinstance(cell.value, str) or not cell.in_table or cell.value.strip()[:1] not in {"[", "{"}:
        return cell.value
    value: JsonValue = decoded(cell.value)
    if isinstance(value, (list, dict)):
        return value
    # A text may begin with a bracket (「[重要] 本日休業」); what begins like a list of texts and is none is a
    # mistake.
    if re.match(r"""\s*(\[\s*["\[{]|\{\s*")""", cell.value):
        msg = _("begins like a JSON list but is not one; inside a CSV cell write every quotation mark twice")
        raise ValueError(msg)
    return cell.value


def _items(cell: FileCell, separator: str = _BARS_AND_LINES) -> tuple[str, ...]:
    """The texts of a list, or of a table's cell the parts; a text elsewhere is one item."""
    value = _json(cell)
    parts: Iterable[str]
    if isinstance(value, list):
        parts = map(_plain, value)
    else:
        parts = re.split(separator, _plain(cell.value)) if cell.in_table else [_plain(cell.value)]
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
