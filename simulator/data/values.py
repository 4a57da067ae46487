"""What the values of a question file mean: one function per field, from a cell to the field's type.

Every function raises ValueError with what it accepts; `simulator.data.cases` adds file, line and column.
"""

import contextlib
import json
import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

from pydantic import JsonValue, ValidationError

from simulator.core.errors import CaseFileError
from simulator.core.types import Answer, Facts, Failure, Handover, Language, Message
from simulator.data.files import printable, shown
from simulator.text.choices import LETTERS, letters, place_of, place_of_text

# A field of a case, then headers that mean it. Where a row fills several of them, the earliest counts.
_HEADERS = """
id          id case_id question_id qid no #
id          番号 質問番号 項番 通番 識別子
question    question 質問 質問文 質問内容 問い 問題 問題文 設問
question    問い合わせ 問合せ 問い合わせ内容 問合せ内容 お問い合わせ お問い合わせ内容 お問合せ お問合せ内容
question    ご質問 ご質問内容 ご相談内容 相談内容 お客様の質問 お客様からの質問
question    発話 user_input query input prompt text
turns       turns ターン
history     history chat_history 履歴 会話履歴 対話履歴 これまでの会話
language    language lang locale 言語
references  references reference 正解 正解例 正答 正解文 模範回答 模範解答 期待回答 期待する回答
references  正しい回答 正しい答え 解答 解答例 回答例 望ましい回答 あるべき回答
references  想定回答 参照回答 ground_truth ground_truths reference_answer reference_answers
references  expected expected_answer expected_output gold_answer correct_answer
passages    passages gold_passage_ids gold_passages passage_ids passage_id gold_ids relevant_ids
passages    根拠ID 根拠文書ID 正解文書 正解文書ID 文書ID 参照ID
answerable  answerable answerability 回答可否 回答可能 回答可
handover    handover handoff escalation
handover    有人対応 有人引き継ぎ 有人引継ぎ 引き継ぎ 引継ぎ エスカレーション
goal        goal 目的 顧客の目的 要望 ゴール
facts       facts 事実 前提 前提情報 顧客情報 顧客の事情
choices     choices options 選択肢
label       label ラベル 正解ラベル
answer      answer 回答 回答文 応答 ボットの回答 response actual_output bot_answer prediction
error       error エラー エラー内容
contexts    contexts context 根拠 根拠文 根拠文書 文脈 コンテキスト 検索結果 参照文
contexts    retrieved_contexts retrieval_context
script      script 台本 followups follow_ups 以後の発言 続きの発言
recorded    recorded recorded_answers 記録回答 記録した回答
tags        tags tag 分類 タグ カテゴリ カテゴリー 種別 区分 category categories subject topic 科目 教科
"""


def _table() -> dict[str, tuple[str, ...]]:
    table: dict[str, tuple[str, ...]] = {}
    for line in _HEADERS.strip().splitlines():
        field, *names = line.split()
        table[field] = (*table.get(field, ()), *names)
    return table


COLUMNS: Mapping[str, tuple[str, ...]] = _table()

# In these columns of a table a line break begins another item; elsewhere it belongs to the text.
ONE_PER_LINE = frozenset({"references", "ground_truths", "reference_answers"})

# Columns of public data sets that are known not to concern a rehearsal.
EXTRAS = frozenset(
    {
        "dataset", "group", "meta", "metadata", "scale", "labels", "published_scores", "annotators",
        "distractor_passage_ids", "context_ids", "movie_title", "passage_prefix", "level", "sentences",
        "values",
    }
)  # fmt: skip


@lru_cache(maxsize=4096)
def normalised(header: str) -> str:
    """A header without what people vary: width, case, spaces, `_`, `-`, a final dot, a note in brackets."""
    plain = unicodedata.normalize("NFKC", header).casefold()
    plain = re.sub(r"[\s_\-*]", "", re.sub(r"(?<=[\w\s*])[(\[【][^()\[\]【】]*[)\]】]$", "", plain))
    return plain.rstrip(".:")


_FIELDS = {normalised(alias): field for field, aliases in COLUMNS.items() for alias in aliases}
_RANKS = {normalised(alias): rank for aliases in COLUMNS.values() for rank, alias in enumerate(aliases)}
_EXTRAS = frozenset(map(normalised, EXTRAS))
_ONE_PER_LINE = frozenset(map(normalised, ONE_PER_LINE))


def field_of(header: str) -> str | None:
    """The field of a case that a header means, or None."""
    return _FIELDS.get(normalised(header))


def is_extra(header: str) -> bool:
    """Whether a column is known to be of no concern to a rehearsal."""
    return normalised(header) in _EXTRAS


def one_per_line(header: str) -> bool:
    """Whether a cell under this header lists one item per line."""
    return normalised(header) in _ONE_PER_LINE


def columns_by_field(values: Mapping[str, JsonValue]) -> dict[str, str]:
    """For each field the column of this row that fills it: the first of its aliases that is not empty."""
    found: dict[str, str] = {}
    for header, field in _fields_in(tuple(values)):
        if not is_empty(values[header]):
            found.setdefault(field, header)
    if not has_question(found.values()):
        found.pop("question", None)
    return found


@lru_cache(maxsize=64)
def _fields_in(headers: tuple[str, ...]) -> tuple[tuple[str, str], ...]:
    """The headers that mean a field, each with it; of several for one field, the one that counts first."""
    known = [(header, field_of(header) or "") for header in headers if field_of(header)]
    return tuple(sorted(known, key=lambda each: _RANKS[normalised(each[0])]))


def is_empty(value: JsonValue) -> bool:
    """Whether a value says nothing: null, an empty list or object, or blank text."""
    return not value.strip() if isinstance(value, str) else value is None or value in ([], {})


def has_question(headers: Iterable[str]) -> bool:
    """Whether some column says what the customer asks.

    A knowledge base has a `text` column too, so that one asks only beside a label.
    """
    named = [(field_of(header), normalised(header)) for header in headers]
    asked = {name for field, name in named if field in {"question", "turns"}}
    return bool(asked - {"text"}) or ("text" in asked and any(field == "label" for field, _ in named))


_UNSTORABLE = re.compile("[\0\ud800-\udfff]")


class Row(NamedTuple):
    """One row: the line of the file it begins on (1-based) and its values by column name.

    `cells` is true for tables, where every value is text and a list is written inside one cell.
    `sheet` is the worksheet a row stands in: empty when there is no other, None when there are none.
    """

    line: int
    values: dict[str, JsonValue]
    cells: bool = False
    sheet: str | None = None

    @property
    def place(self) -> str:
        """Where the row is, as people see it: `line 3` in an editor, `row 3` in a spreadsheet."""
        return f"line {self.line}" if self.sheet is None else f"row {self.line}"


class RowFault(CaseFileError):
    """What is wrong with one row: a reader that is told to go on leaves out that row only."""

    def __init__(self, file: str, row: Row, what: str) -> None:
        super().__init__(f"{file}, {row.place}: {what}")
        self.file, self.row, self.what = file, row, what


# Who is told of a faulty row before the next one is read; by default it stops the reading.
Wrong = Callable[[RowFault], None]


def stop(found: RowFault) -> NoReturn:
    """The first faulty row is the last."""
    raise found


def fault(path: Path, row: Row | int, what: str) -> RowFault:
    """The error for something wrong in a row, or on a line, of a file."""
    at = Row(row, {}) if isinstance(row, int) else row
    sheet = printable(f"#{at.sheet}") if at.sheet else ""
    return RowFault(f"{path}{sheet}", at, what)


def is_storable(value: JsonValue) -> bool:
    r"""Whether no key or text holds NUL or half of a \u pair, which no file and no request can carry."""
    # A list instead of recursion, because depth is the sender's choice.
    waiting = [value]
    while waiting:
        item = waiting.pop()
        if isinstance(item, list):
            waiting.extend(item)
        elif isinstance(item, dict):
            waiting.extend([*item.keys(), *item.values()])
        elif isinstance(item, str) and _UNSTORABLE.search(item):
            return False
    return True


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


FEWEST, MOST = 2, 26
# What may stand before the letter or number of a choice in its column's name; a bare number is no choice.
_PREFIXES = ("choice", "option", "opt", "選択肢", "肢", "")
_KANA = "アイウエオカキクケコ"
# Without column names a table is taken for questions of at most so many choices.
_MOST_UNNAMED = 10
# Files of the original sets are named for their subject and their part.
_PARTS = ("_test", "_dev", "_val", "_train")
_TELLS_RIGHT = ("label", "references", "answer")


_FIRST = frozenset({"a", *(f"{prefix}{first}" for prefix in _PREFIXES[:-1] for first in "a01ア")})


@lru_cache(maxsize=256)
def choice_columns(headers: tuple[str, ...]) -> tuple[str, ...]:
    """The columns of the choices in their order (A, B; choice_0, choice_1; 選択肢ア, 選択肢イ), or none."""
    found = {normalised(header): header for header in reversed(headers)}
    if not _FIRST & found.keys():
        return ()
    for prefix in _PREFIXES:
        for marks in _marks(prefix):
            names = [f"{prefix}{mark}" for mark in marks]
            run = next((at for at, name in enumerate(names) if name not in found), len(names))
            if run >= FEWEST:
                return tuple(found[name] for name in names[:run])
    return ()


def _marks(prefix: str) -> Sequence[Sequence[str]]:
    """In which ways choices are counted: by letter, and after a word also by number or kana."""
    by_letter = LETTERS.lower()
    numbers = [str(number) for number in range(MOST + 1)]
    return (by_letter, numbers[:MOST], numbers[1:], _KANA) if prefix else (by_letter,)


def with_choices(path: Path, row: Row) -> Row:
    """The row with its columns of choices as one list and the right one as its label; any other row as it is.

    Raises RowFault for a right answer that is none of the choices.
    """
    columns = choice_columns(tuple(row.values))
    if not columns or not has_question(row.values):
        return row
    choices = _filled(path, row, columns)
    fields = columns_by_field(row.values)
    said = next((fields[field] for field in _TELLS_RIGHT if field in fields), None)
    place = None if said is None else _place(path, row, said, choices, columns[: len(choices)])
    if place is None and not _are_surely_choices(columns):
        return row
    if said is not None and place is None:
        allowed = f"{LETTERS[0]} to {LETTERS[len(choices) - 1]}, or the choice's own text"
        what = f"column {shown(said)}: {shown(row.values[said])} is none of the choices; write {allowed}."
        raise fault(path, row, what)
    kept = {key: value for key, value in row.values.items() if key not in (*columns, said)}
    label: dict[str, JsonValue] = {} if place is None else {"label": choices[place]}
    return row._replace(values={**kept, "choices": list(choices), **label})


def _are_surely_choices(columns: Sequence[str]) -> bool:
    """Whether columns are choices even where none of them is right.

    Columns a, b and c may be anything, and two bots' answers may stand side by side as A and B.
    """
    return normalised(columns[0]) != "a" or (columns[0].strip().isupper() and len(columns) > FEWEST)


def _filled(path: Path, row: Row, columns: Sequence[str]) -> list[str]:
    """The choices of this row: the last ones may be empty, for questions have different numbers of them."""
    texts = [text(Cell(column, row.values[column], row.cells)) for column in columns]
    while texts and not texts[-1]:
        texts.pop()
    if len(texts) < FEWEST or not all(texts):
        empty = columns[texts.index("") if "" in texts else len(texts)]
        raise fault(
            path, row, f"column {shown(empty)} is empty; a question needs at least two choices, without gaps."
        )
    return texts


def _place(path: Path, row: Row, column: str, choices: Sequence[str], columns: Sequence[str]) -> int | None:
    """The place of the right choice: as its column is marked, else by its letter, text or number from 0."""
    value = row.values[column]
    if type(value) is int:
        return value if 0 <= value < len(choices) else None
    given = text(Cell(column, value, row.cells))
    said = normalised(given.strip("()[]（）「」 ."))
    names = [normalised(each) for each in columns]
    marked = next(
        (at for at, name in enumerate(names) if said and name in (said, *(p + said for p in _PREFIXES))), None
    )
    return _agreed(
        path, row, column, given, choices, marked if marked is not None else _number(said, choices)
    )


def _agreed(  # noqa: PLR0917 - where it stands, and what it may mean
    path: Path, row: Row, column: str, given: str, choices: Sequence[str], marked: int | None
) -> int | None:
    """The place that is meant; a number that is one choice's text and stands for another one is refused."""
    by_text = place_of_text(given, choices)
    if marked is not None and by_text not in (None, marked) and not given.strip().isalpha():
        one, other = LETTERS[marked], LETTERS[by_text or 0]
        may = f"{shown(given)} may be choice {one} or the text of {other}"
        raise fault(path, row, f"column {shown(column)}: {may}; write the letter.")
    return place_of(given, choices) if marked is None else marked


def _number(said: str, choices: Sequence[str]) -> int | None:
    return int(said) if said.isascii() and said.isdecimal() and int(said) < len(choices) else None


def settle(path: Path, row: Row, fields: dict[str, Any], cells: Mapping[str, Cell]) -> None:
    """Which of a row's choices is right, as its label, where the row has no label of its own.

    Its answer or its only reference says so: by text, letter or number (from 0). An answer that names no
    choice is one that was recorded. A label that is a number stands for a choice, too.
    """
    choices = fields.get("choices", ())
    if not choices:
        return
    if "label" in cells:
        if str(cells["label"].value) not in choices:
            _set_label(fields, _numbered(path, row, cells["label"], choices))
    elif any(field_of(header) == "label" for header in row.values):
        return
    elif "answer" in cells and _set_label(
        fields, _answered(path, row, cells["answer"], fields["answer"], choices)
    ):
        del fields["answer"]
    elif len(told := fields.get("references", ((),))[0]) == 1:
        place = _agreed(path, row, cells["references"].column, told[0], choices, _number(told[0], choices))
        if _set_label(fields, place):
            fields["references"] = ((fields["label"],),)


def _set_label(fields: dict[str, Any], place: int | None) -> bool:
    if place is not None:
        fields["label"] = fields["choices"][place]
    return place is not None


def _answered(path: Path, row: Row, cell: Cell, said: str, choices: Sequence[str]) -> int | None:
    place = _numbered(path, row, cell, choices)
    if place is not None:
        return place
    return _agreed(path, row, cell.column, said, choices, _number(said, choices))


def _numbered(path: Path, row: Row, cell: Cell, choices: Sequence[str]) -> int | None:
    """The place that a number stands for; None for a text."""
    if type(cell.value) is not int:
        return None
    if not 0 <= cell.value < len(choices):
        what = f"column {shown(cell.column)}: there is no choice {cell.value}; the first is 0."
        raise fault(path, row, what)
    return cell.value


def unnamed_columns(cells: Sequence[str]) -> list[str]:
    """The column names of a table that has none, by its first row (question, A, B, ..., answer), or none."""
    count = len(cells) - 2
    is_one = FEWEST <= count <= _MOST_UNNAMED and cells[-1].strip() in tuple(letters(count))
    named = [cell for cell in cells if not is_empty(cell) and field_of(cell)]
    filled = all(map(str.strip, cells)) and len(cells[0].strip()) > 1
    return ["question", *letters(count), "answer"] if is_one and filled and not named else []


def subject_of(path: Path) -> str:
    """The subject that a file of MMLU or JMMLU is named for: `anatomy` of anatomy_test.csv."""
    name = path.name.partition(".")[0]
    return next((name.removesuffix(part) for part in _PARTS if name.endswith(part)), name)


Record = dict[str, JsonValue]

# Stands where a data set of graded answers keeps no question.
NO_QUESTION = "-"


def question_of(history: Sequence[Message]) -> tuple[str, tuple[Message, ...]]:
    """The question and the history before it, of a dialogue whose last line was graded.

    The question is the customer's line that the dialogue ends with; without one it is `-`.
    """
    if history and history[-1].role == "user" and history[-1].content.strip():
        return history[-1].content.strip(), tuple(history[:-1])
    return NO_QUESTION, tuple(history)


def from_turns(value: JsonValue) -> Record:
    """The columns that a list of turns stands for.

    The question is the first one asked, the later ones are the script; references and recorded
    answers are per turn, passages are those of all turns; `answerable` is what every turn agrees
    on. Turns are {question, reference} or {role, content}.
    """
    if not isinstance(value, list) or not all(isinstance(turn, dict) for turn in value):
        msg = f'{shown(value)} is no list of turns; write [{{"question": "...", "reference": "..."}}]'
        raise ValueError(msg)
    opening, turns = _exchanges([turn for turn in value if isinstance(turn, dict)])
    if not turns:
        msg = "no turn in which the customer says something"
        raise ValueError(msg)
    fields = [_fields(turn) for turn in turns]
    verdicts = {str(field["answerable"]) for field in fields if "answerable" in field}
    record: Record = {
        "question": fields[0].get("question"),
        "script": list(_script(fields)),
        "references": [list(_references(field)) for field in fields],
        "passages": list(dict.fromkeys(id_ for field in fields for id_ in _passages(field))),
        "answerable": verdicts.pop() if len(verdicts) == 1 else None,
        "recorded": _recorded(fields),
    }
    return {**record, "history": opening} if opening else record


def _fields(turn: Record) -> Record:
    return {field: turn[column] for field, column in columns_by_field(turn).items()}


def _script(turns: list[Record]) -> Iterator[JsonValue]:
    for number, turn in enumerate(turns[1:], 2):
        if "question" not in turn:
            msg = f"turn {number} has no question"
            raise ValueError(msg)
        yield text(Cell("question", turn["question"]))


def _references(turn: Record) -> Iterator[JsonValue]:
    for per_turn in references(Cell("reference", turn.get("references", []))):
        yield from per_turn


def _passages(turn: Record) -> tuple[str, ...]:
    return words(Cell("passages", turn.get("passages", [])))


def _contexts(turn: Record) -> tuple[str, ...]:
    return contexts(Cell("contexts", turn.get("contexts", [])))


def _recorded(turns: list[Record]) -> list[JsonValue]:
    """What the bot answered, up to the last answer; a turn without one in between gets an empty text."""
    answers: list[Record] = []
    for number, turn in enumerate(turns, 1):
        failed = error(Cell("error", turn["error"])) if "error" in turn else None
        if "answer" in turn or failed:
            said = text(Cell("answer", turn.get("answer")))
            answers += [{"text": ""}] * (number - 1 - len(answers))
            answers.append({"text": said, "passages": _retrieved(turn)})
            answers[-1] |= {"error": failed.model_dump()} if failed else {}
    return list(answers)


def _retrieved(turn: Record) -> list[JsonValue]:
    """The passages behind an answer where the dialogue has their texts; ids alone are no passages."""
    texts = _contexts(turn)
    ids = _passages(turn)
    if len(ids) != len(texts):
        ids = tuple(map(str, range(1, len(texts) + 1)))
    return [{"id": id_, "text": passage} for id_, passage in zip(ids, texts, strict=True)]


def _exchanges(turns: list[Record]) -> tuple[list[JsonValue], list[Record]]:
    """What the desk said before the customer did, and then each question with the reply to it.

    Several lines of one speaker in a row are one turn.
    """
    if not any("role" in turn for turn in turns):
        return [], turns
    opening: list[JsonValue] = []
    exchanges: list[Record] = []
    for turn in turns:
        said = message(turn if "error" not in turn else {**turn, "content": turn.get("content") or ""})
        if said.role == "assistant" and not exchanges:
            opening.append({"role": "assistant", "content": said.content})
        elif said.role == "assistant":
            _reply(exchanges[-1], said.content, turn)
        elif exchanges and "answer" not in exchanges[-1]:
            exchanges[-1]["question"] = f"{exchanges[-1]['question']}\n{said.content}"
        else:
            exchanges.append({"question": said.content})
    return opening, exchanges


def _reply(exchange: Record, content: str, turn: Record) -> None:
    """Adds a line of the desk: it is what was answered, and what a right answer would be."""
    given = _fields(turn)
    said = f"{exchange['answer']}\n{content}" if exchange.get("answer") else content
    exchange |= {"answer": said, "reference": said}
    exchange |= {"error": given["error"]} if "error" in given else {}
    exchange["passages"] = _together(exchange.get("passages"), _passages(given))
    exchange["contexts"] = _together(exchange.get("contexts"), _contexts(given))


def _together(before: JsonValue, now: Iterable[str]) -> list[JsonValue]:
    return [*(before if isinstance(before, list) else ()), *now]
