"""What the values of a question file mean: one function per field, from a cell to the field's type.

Every function raises ValueError with what it accepts; `simulator.cases` adds file, line and column.
"""

import contextlib
import json
import re
import unicodedata
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

from pydantic import JsonValue, ValidationError

from simulator.core.types import Answer, Facts, Failure, Handover, Language, Message
from simulator.files.columns import is_empty, one_per_line
from simulator.files.quoting import shown

_YES = frozenset(
    {"yes", "y", "true", "t", "1", "answerable", "可", "可能", "回答可", "回答可能", "はい", "有", "あり"}
    | {"○", "◯", "〇", "◎", "⭕"}
)
_NO = frozenset(
    {"no", "n", "false", "f", "0", "unanswerable", "不可", "不可能", "回答不可", "回答不可能", "回答不能"}
    | {"いいえ", "無", "なし", "×", "✕", "✖", "❌", "x"}
)
_PARTLY = frozenset({"partial", "partially answerable", "一部", "一部可", "部分的", "△"})
_OPEN = frozenset({"underspecified", "曖昧"})
_UNKNOWN = frozenset({"unknown", "不明", "n/a", "-"})
_LANGUAGES: Mapping[str, Language] = {
    "ja": "ja", "jp": "ja", "jpn": "ja", "japanese": "ja", "日本語": "ja", "日": "ja", "和": "ja",
    "en": "en", "eng": "en", "english": "en", "英語": "en", "英": "en",
}  # fmt: skip
_HANDOVERS: Mapping[str, Handover] = {
    "required": "required", "yes": "required", "true": "required",
    "必須": "required", "必要": "required", "要": "required",
    "forbidden": "forbidden", "no": "forbidden", "false": "forbidden",
    "禁止": "forbidden", "不可": "forbidden", "不要": "forbidden",
    "optional": "optional", "任意": "optional", "可": "optional", "どちらでも": "optional",
}  # fmt: skip
_NO_ERROR = frozenset({"", "none", "null", "nan", "n/a", "-", "ok", "success", "成功", "正常"})
_TIMEOUT = re.compile(r"time[sd]?[ _-]*out|timeout|タイムアウト|時間切れ", re.IGNORECASE)
_CUSTOMER = "user|customer|human|ユーザー|ユーザ|利用者|お客様|お客さま|顧客|客|質問者"
_DESK = (
    "assistant|bot|chatbot|ai|agent|アシスタント|ボット|チャットボット"
    "|オペレーター|オペレータ|窓口|担当者|担当|回答者"
)
_SPEAKER = re.compile(rf"(?:^|\n|\s/\s|[|／｜])[ \t　]*({_CUSTOMER}|{_DESK})[ \t　]*[:：]", re.IGNORECASE)
_KNOWN_FACT = re.compile(r"(?:knows|known|知っている)[ \t　]*[:：]", re.IGNORECASE)
_UNKNOWN_FACT = re.compile(r"(?:unknown|知らない|不明|わからない|分からない)[ \t　]*[:：]", re.IGNORECASE)
_HISTORY = (
    'write "User: ..." and "Assistant: ..." lines (ユーザー: / ボット:), '
    'or a JSON list of {"role": "user" or "assistant", "content": "..."}'
)


class Cell(NamedTuple):
    """A value, the column it stands in, and whether that is a column of a table (where all is text)."""

    column: str
    value: JsonValue
    in_table: bool = False


def identifier(cell: Cell) -> str:
    """An id as written: 001 stays 001. It is a key only, never a path."""
    key = text(cell)
    if any(unicodedata.category(character) in {"Cc", "Zl", "Zp"} for character in key):
        msg = "an id cannot hold line breaks or control characters"
        raise ValueError(msg)
    return key


def text(cell: Cell) -> str:
    """A text without blanks around it; numbers are taken as they are written."""
    return _plain(cell.value).strip()


def answer(cell: Cell) -> str:
    """What the bot said: a text, or the JSON object that it answered with."""
    return (_json_text(cell.value) if isinstance(cell.value, dict) else _plain(cell.value)).strip()


def language(cell: Cell) -> Language:
    """`ja` or `en`, also as 日本語, English, ja-JP."""
    key = _word(cell.value)
    found = _LANGUAGES.get(key) or _LANGUAGES.get(re.split(r"[-_]", key)[0])
    if found is None:
        msg = f"{shown(cell.value)} is not a language; use ja or en"
        raise ValueError(msg)
    return found


def answerable(cell: Cell) -> bool | None:
    """Whether the knowledge holds an answer; a partial answer counts, an open question is None."""
    word = _word(cell.value)
    if word in _UNKNOWN | _OPEN:
        return None
    if word not in _YES | _NO | _PARTLY:
        msg = f"{shown(cell.value)} is neither yes nor no; use yes or no (可, 不可, ○, ×, unanswerable)"
        raise ValueError(msg)
    return word not in _NO


def answerability_tags(cell: Cell) -> tuple[str, ...]:
    """What a plain yes or no cannot say of a question, as a tag."""
    word = _word(cell.value)
    return ("partial",) if word in _PARTLY else ("underspecified",) if word in _OPEN else ()


def handover(cell: Cell) -> Handover:
    """Whether the bot has to pass this customer to a person."""
    found = _HANDOVERS.get(_word(cell.value))
    if found is None:
        msg = f"{shown(cell.value)} is not understood; use required, forbidden or optional (必要, 不要, 任意)"
        raise ValueError(msg)
    return found


def words(cell: Cell) -> tuple[str, ...]:
    """Short items (ids, tags): `|` or a line break between them in a table; each is kept once."""
    return tuple(dict.fromkeys(_items(cell, r"[|｜\n]")))


def choices(cell: Cell) -> tuple[str, ...]:
    """The options in their order; an empty or repeated one keeps its place in a JSON list."""
    listed = _listed(cell)
    return tuple(map(_plain, listed)) if listed is not None else _items(cell, r"[|｜\n]")


def error(cell: Cell) -> Failure | None:
    """How the bot failed instead of answering, as the log calls it; None where it calls it nothing."""
    value = cell.value
    if isinstance(value, dict):
        told = [value.get(key) for key in ("kind", "type", "code", "message")]
        value = ": ".join(_plain(each) for each in told if not is_empty(each)) or json.dumps(value)
    if _word(value) in _NO | _NO_ERROR:
        return None
    said = " ".join(_plain(value).split())
    return Failure(kind="timeout" if _TIMEOUT.search(said) else "error", message=said)


def contexts(cell: Cell) -> tuple[str, ...]:
    """Recorded passages: texts, or objects with a text; in a table `|` stands between them."""
    listed = _listed(cell)
    return _items(cell, r"\|") if listed is None else tuple(filter(None, map(_context, listed)))


def script(cell: Cell) -> tuple[str, ...]:
    """What the customer says after the question, line by line; the same line may come again."""
    return _items(cell, r"[|｜\n]")


def recorded(cell: Cell) -> tuple[Answer, ...]:
    """The bot's logged answer to each turn: texts, or objects with a text and its passages."""
    listed = _listed(cell)
    return tuple(map(_answer, _items(cell, r"\|") if listed is None else listed))


def references(cell: Cell) -> tuple[tuple[str, ...], ...]:
    """The acceptable answers: a flat list means any of them on turn 1, a list of lists one list per turn.

    An object is an answer in JSON, as is a list within the list of a turn.
    """
    cell = _with_objects(cell)
    listed = _listed(cell)
    if listed is None or not any(isinstance(item, list) for item in listed):
        flat = _items(cell, r"[|\n]" if one_per_line(cell.column) else r"\|")
        return (flat,) if flat else ()
    return tuple(_items(Cell(cell.column, item), "") if not is_empty(item) else () for item in listed)


def _with_objects(cell: Cell) -> Cell:
    """References with what is JSON among them as its text, which a bar does not cut."""
    value = _json(cell)
    if isinstance(value, dict):
        return cell._replace(value=[cell.value if isinstance(cell.value, str) else _json_text(value)])
    if not isinstance(value, list):
        return cell
    turns = [
        [_text_of(each) for each in turn] if isinstance(turn, list) else _text_of(turn) for turn in value
    ]
    return cell._replace(value=turns)


def _text_of(value: JsonValue) -> JsonValue:
    return _json_text(value) if isinstance(value, (dict, list)) else value


def _json_text(value: JsonValue) -> str:
    return json.dumps(value, ensure_ascii=False)


def facts(cell: Cell) -> Facts:
    """What the customer knows, and after `unknown:` what they do not know."""
    value = _json(cell)
    if isinstance(value, dict):
        if extra := set(value) - {"knows", "unknown"}:
            msg = f"{shown(min(extra))} is not known here; use knows and unknown"
            raise ValueError(msg)
        return Facts(**{key: _items(Cell(key, listed), "") for key, listed in value.items()})
    items = _items(cell, r"[|\n]")
    unknown = [item for item in items if _UNKNOWN_FACT.match(item)]
    return Facts(
        knows=tuple(_KNOWN_FACT.sub("", item, count=1).strip() for item in items if item not in unknown),
        unknown=tuple(_UNKNOWN_FACT.sub("", item, count=1).strip() for item in unknown),
    )


def history(cell: Cell) -> tuple[Message, ...]:
    """The turns before the question: a list of {role, content}, or lines that begin with who speaks."""
    value = _json(cell)
    if isinstance(value, str):
        return tuple(Message(role=_role(who), content=said) for who, said in _spoken(value))
    if not isinstance(value, list):
        msg = f"{shown(value)} is no conversation; {_HISTORY}"
        raise ValueError(msg)
    return tuple(map(message, value))


def message(value: JsonValue) -> Message:
    """One line of a dialogue out of {"role": ..., "content": ...}."""
    if not isinstance(value, dict) or not isinstance(value.get("content"), str):
        msg = f"{shown(value)} is no line of a conversation; {_HISTORY}"
        raise ValueError(msg)
    return Message(role=_role(value.get("role")), content=_plain(value["content"]))


def _role(value: JsonValue) -> Any:
    who = _word(value)
    if re.fullmatch(_CUSTOMER, who):
        return "user"
    if re.fullmatch(_DESK, who):
        return "assistant"
    msg = f"{shown(value)} is not who speaks; use user or assistant"
    raise ValueError(msg)


def _spoken(dialogue: str) -> Iterable[tuple[str, str]]:
    before, *parts = _SPEAKER.split(dialogue.strip())
    if before.strip():
        msg = f"{shown(before)} does not say who speaks; {_HISTORY}"
        raise ValueError(msg)
    return [(who, said.strip()) for who, said in zip(parts[::2], parts[1::2], strict=True)]


def _json(cell: Cell) -> JsonValue:
    """The list or object written inside a table cell, or the value itself."""
    if not isinstance(cell.value, str) or not cell.in_table or cell.value.strip()[:1] not in {"[", "{"}:
        return cell.value
    try:
        inside = json.loads(cell.value)
    except (ValueError, RecursionError):
        # 「[重要] 本日休業」 is a text, not a broken list.
        if re.match(r"""\s*(\[\s*["\[{]|\{\s*")""", cell.value):
            msg = "begins like a JSON list but is not one; inside a CSV cell write every quotation mark twice"
            raise ValueError(msg) from None
        return cell.value
    return inside if isinstance(inside, (list, dict)) else cell.value


def _listed(cell: Cell) -> list[JsonValue] | None:
    value = _json(cell)
    return value if isinstance(value, list) else None


def _items(cell: Cell, separator: str) -> tuple[str, ...]:
    parts: Iterable[str]
    listed = _listed(cell)
    if listed is not None:
        parts = map(_plain, listed)
    else:
        whole = _plain(cell.value)
        parts = re.split(separator, whole) if cell.in_table and separator else [whole]
    return tuple(part.strip() for part in parts if part.strip())


def _answer(value: JsonValue) -> Answer:
    if not isinstance(value, dict):
        return Answer(text=_plain(value).strip())
    if "error" in value:
        value = {"text": "", **value, "error": _failure(value["error"])}
    try:
        return Answer.model_validate(value)
    except ValidationError as error:
        where = ".".join(map(str, error.errors()[0]["loc"]))
        msg = f'{shown(where)} is not understood; write {{"text": "...", "passages": [{{"id", "text"}}]}}'
        raise ValueError(msg) from None


def _failure(value: JsonValue) -> JsonValue:
    """An error as this program writes it stays what it is; of a log's own the reader makes one."""
    with contextlib.suppress(ValidationError):
        return Failure.model_validate(value).model_dump()
    found = error(Cell("error", value))
    return found.model_dump() if found else None


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
    msg = f"{shown(value)} is not a text"
    raise ValueError(msg)


def _word(value: JsonValue) -> str:
    return unicodedata.normalize("NFKC", _plain(value)).strip().casefold()


# The field's value out of its cell, for every field whose meaning does not depend on other columns.
READERS: Mapping[str, Callable[[Cell], Any]] = {
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
    "tags": words,
    "script": script,
    "recorded": recorded,
}
