"""What columns are called: one table of headings, in Japanese and English (headings.toml).

A heading is compared without width, case, spaces and a note in brackets:

    "User_Input (必須)"   -> userinput, a question
    "質問文", "Question"  -> question
    "Ground Truth"        -> references

A field of a case with a further heading takes a word in headings.toml; a further field takes a line there, a
reader in `fields.READERS` and the field of `Case`.
"""

import re
import shlex
import tomllib
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from functools import lru_cache
from operator import itemgetter
from pathlib import Path
from string import ascii_lowercase
from typing import Any

from pydantic import JsonValue

from simulator.core.messages import printable

# The columns by the fields of a case, and the words in them.
NAMES = tomllib.loads(Path(__file__).with_name("headings.toml").read_text(encoding="utf-8"))
COLUMNS: dict[str, tuple[str, ...]] = {field: tuple(names) for field, names in NAMES["case"].items()}

# How whoever reads a file may say what its columns are; empty where nothing does.
_SAID_BY = ContextVar("columns_are_said_by", default="--columns ")
_OF_SHELLS = frozenset('"$`\\!')


def takes_columns() -> bool:
    """Whether --columns can say what a file's columns are, so that advice may name it."""
    return bool(_SAID_BY.get())


@contextmanager
def without_columns(instead: str = "") -> Iterator[None]:
    """Reads a file for a command without --columns: its columns have to be renamed, or be said otherwise."""
    before = _SAID_BY.set(instead)
    try:
        yield
    finally:
        _SAID_BY.reset(before)


def columns_option(columns: Mapping[str, str]) -> str:
    """`--columns "id=call,role=spk,text=txt"`, to be copied: a name of a column cannot become a command."""
    given = printable(",".join(f"{ours}={theirs}" for ours, theirs in columns.items()))
    return _SAID_BY.get() + (shlex.quote(given) if _OF_SHELLS & set(given) else f'"{given}"')


def by_word(words: Mapping[str, Sequence[str]]) -> dict[str, Any]:
    """By every word what it means."""
    return {word: meaning for meaning, several in words.items() for word in several}


# Soft hyphen, signs of no width, byte order mark.
_UNSEEN = r"\u00ad\u200b-\u200f\u2060\ufeff"
_NUMBERED = re.compile(r"^\s*(?:[①-⑳]|[(（]?\d{1,2}[.)．）])\s*(?=\S)")
_IN_TWO_LANGUAGES = re.compile(r"[/／\n]")
# A header that stands in brackets as a whole.
_IN_BRACKETS = re.compile(r"[【「『〔《<\[]([^【】「」『』〔〕《》<>\[\]]+)[】」』〕》>\]]")


@lru_cache(maxsize=4096)
def normalised(header: str) -> str:
    """A header without differences in width, case, spaces, `_`, `-`, a final dot and a note in brackets.

    Brackets around all of it, a mark or a number before it, and signs that nobody sees make no difference
    either: 【質問】, ■質問, ①質問. A name that begins with `__` is a program's own (`__expected` of
    promptfoo) and stays.
    """
    header = _NUMBERED.sub("", re.sub(f"[{_UNSEEN}※]", "", header))
    plain = unicodedata.normalize("NFKC", header).casefold().strip()
    if plain.startswith("__"):
        return plain
    plain = plain.lstrip("■◆●▼◇□・") or plain
    if around := _IN_BRACKETS.fullmatch(plain):
        plain = around[1]
    plain = re.sub(r"[\s_\-*]", "", re.sub(r"(?<=[\w\s*])[(\[【][^()\[\]【】]*[)\]】]$", "", plain))
    return plain.rstrip(".:")


class Headings:
    """The fields that headers mean, by a table of headings.toml."""

    def __init__(self, names: Mapping[str, Sequence[str]]) -> None:
        self._places = {
            normalised(name): (field, rank)
            for field, several in names.items()
            for rank, name in enumerate(several)
        }
        self.in_order = lru_cache(maxsize=256)(self._in_order)
        self._place = lru_cache(maxsize=4096)(self._place_of)

    def field_of(self, header: str) -> str | None:
        """The field that a header means, or None."""
        place = self._place(header)
        return place and place[0]

    def _place_of(self, header: str) -> tuple[str, int] | None:
        """The field that a header means, in one language or in two: 質問 / Question."""
        names = [header, *(_IN_TWO_LANGUAGES.split(header) if _IN_TWO_LANGUAGES.search(header) else ())]
        whole, *parts = (self._places.get(normalised(name)) for name in names)
        same = len({part and part[0] for part in parts}) == 1
        return whole or (parts[0] if same else None)

    def columns_of(self, headers: Iterable[str]) -> dict[str, str]:
        """By field the header that means it; of several, the one whose name leads in the table."""
        return {field: header for header, field in reversed(self.in_order(tuple(headers)))}

    def _in_order(self, headers: tuple[str, ...]) -> tuple[tuple[str, str], ...]:
        """The headers that mean a field, each with the field, in the order of the table's names."""
        places = [(header, self._place(header)) for header in headers]
        known = [(place[1], header, place[0]) for header, place in places if place]
        return tuple((header, field) for _rank, header, field in sorted(known, key=itemgetter(0)))


CASE_HEADINGS = Headings(COLUMNS)
MESSAGE_HEADINGS = Headings(NAMES["message"])
ARTICLE_HEADINGS = Headings(NAMES["article"])
# Characters of a column name; what is longer is a question.
_LONGEST_NAME = 30
_EXTRA = frozenset(map(normalised, NAMES["extra"]["names"]))


def field_of(header: str) -> str | None:
    """The field of a case that a header means, or None."""
    return CASE_HEADINGS.field_of(header)


def meanings(texts: Iterable[str]) -> set[str]:
    """What these texts mean as names of columns in files of any kind; nothing where one is no name."""
    several = [*texts]
    if any(len(text) > _LONGEST_NAME for text in several):
        return set()
    tables = (CASE_HEADINGS, MESSAGE_HEADINGS, ARTICLE_HEADINGS)
    fields = (next(filter(None, (table.field_of(text) for table in tables)), "") for text in several)
    return {*fields} - {""}


def is_extra(header: str) -> bool:
    """Whether a column of public data sets is known to be unneeded, so that nobody is told about it."""
    return normalised(header) in _EXTRA


def columns_by_field(values: Mapping[str, JsonValue], *, in_table: bool = False) -> dict[str, str]:
    """By field the column that fills it in this row: the first of its aliases that is not empty.

    So a file may have both `reference` and 正解, and each row fills one of them. In the order of
    headings.toml, not in that of the file. `in_table` as in `is_missing`.
    """
    columns: dict[str, str] = {}
    for header, field in CASE_HEADINGS.in_order(tuple(values)):
        if not is_missing(field, values[header], in_table=in_table):
            columns.setdefault(field, header)
    if "question" in columns and not _ask(tuple(columns.values())):
        del columns["question"]
    return columns


_MISSING = frozenset(NAMES["words"]["missing"])
# Of these fields such a word may be the value: a choice or a label "None".
_ANY_WORD = frozenset({"choices", "label", "error"})
_DASHES, _MAY_BE_DASHES = frozenset(NAMES["words"]["dashes"]), frozenset({"question", "answer", "answerable"})


def is_missing(field: str, value: JsonValue, *, in_table: bool) -> bool:
    """Whether a field has no value: an empty one, or in a table a word that stands for a missing value.

    "nan", "None", "#N/A", "null" and the like are what programs write into an empty cell, people a dash.
    """
    if in_table and isinstance(value, str) and field not in _ANY_WORD:
        word = value.strip()
        if word in _MISSING or (word in _DASHES and field not in _MAY_BE_DASHES):
            return True
    return is_empty(value)


# What nobody sees: also the mark by which DOS ended a text.
_BLANK = re.compile(rf"[\s\x1a{_UNSEEN}]*")


def is_empty(value: JsonValue) -> bool:
    """Whether a value is null, an empty list or object, or blank text."""
    if isinstance(value, str):
        # Nearly always the first letter shows that it is not.
        return not value[:1].isalnum() and _BLANK.fullmatch(value) is not None
    return value is None or value in ([], {})


def has_question(headers: Iterable[str]) -> bool:
    """Whether a column holds questions.

    A knowledge base has a `text` column too, so `text` counts only beside a label, and so does `sentence`.
    """
    return _holds_questions(tuple(headers))


@lru_cache(maxsize=256)
def _holds_questions(headers: tuple[str, ...]) -> bool:
    fields = [(field_of(header), normalised(header)) for header in headers]
    questions = {name for field, name in fields if field in {"question", "turns"}}
    return bool(questions - OF_LABELLED) or (
        bool(questions) and any(field == "label" for field, _unused in fields)
    )


# The rows of a file have the same columns.
_ask = lru_cache(maxsize=256)(has_question)

# Names of a column of questions that have labels.
OF_LABELLED = frozenset({"text", "sentence"})
MIN_CHOICES, _MAX_CHOICES = 2, 26
# What may precede the letter or number of a choice in the name of its column; a bare number is not a choice.
CHOICE_PREFIXES = ("choice", "option", "opt", "選択肢", "肢", "")
_KANA = "アイウエオカキクケコ"
_FIRST_CHOICES = frozenset(
    {"a", "ア", *(f"{prefix}{first}" for prefix in CHOICE_PREFIXES[:-1] for first in "a01ア")}
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
    """The ways to number choices: by letter or kana, and after a prefix also by number."""
    by_letter = ascii_lowercase
    numbers = [str(number) for number in range(_MAX_CHOICES + 1)]
    return (by_letter, _KANA, *((numbers[:_MAX_CHOICES], numbers[1:]) if prefix else ()))


@lru_cache(maxsize=64)
def has_choices(headers: tuple[str, ...]) -> bool:
    """Whether rows with these headers are multiple-choice questions."""
    return bool(choice_columns(headers)) or any(field_of(header) == "choices" for header in headers)
