"""The program's own words in Japanese and English: its messages, and the words of its reports.

Messages are written in English where they arise, and translated at the one place where they leave: the
streams of the terminal, and the tables of a report. The files in messages/ hold them as templates, `{1}`
where a value stands; a value that is a message itself is translated, too. What no template fits, such as
the words of a bot, a file or another program, stays as it is.

The words of reports have keys: those of every report stand in reports.toml, both languages side by side,
and rows.toml holds what replaces some of them where a report is on rows instead of conversations.
"""

import math
import re
import tomllib
from collections.abc import Mapping
from functools import cache, lru_cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from simulator.core.messages import language_of as language_of
from simulator.core.messages import safe_text as safe_text
from simulator.core.shelves import canonical_judge
from simulator.core.templates import Texts, filled, read_toml
from simulator.core.types import Language

if TYPE_CHECKING:
    from simulator.stats.figures import Summary

MESSAGES_FOLDER = Path(__file__).with_name("messages")
REPORTS_FILE = Path(__file__).with_name("reports.toml")
ROWS_FILE = Path(__file__).with_name("rows.toml")
# Messages within messages: nothing of ours is nested deeper than this.
MAX_DEPTH = 6
# Characters of a line that may be a message; reports and JSON are longer.
MAX_LENGTH = 4000

_PLACE = re.compile(r"\{(\d)\}")
_SENTENCE_END = re.compile(r"(?<=[.?!]) +(?=\S)")
_ERROR, _ERROR_JA = "error: ", "エラー："


class MessagesTemplate(NamedTuple):
    """An English message and its Japanese; `literals` stand before, between and behind the values."""

    english: str
    japanese: str
    literals: tuple[str, ...]

    @property
    def weight(self) -> int:
        """How many of its characters are fixed: the heaviest template that fits is the most specific."""
        return sum(map(len, self.literals))

    def values(self, text: str) -> list[str] | None:
        """The values of its places, each as short as possible; None where it does not fit all of the text."""
        first, *others = self.literals
        if not others:
            return [] if text == first else None
        *between, last = others
        at, end = len(first), len(text) - len(last)
        if not text.startswith(first) or not text.endswith(last):
            return None
        values: list[str] = []
        for literal in between:
            if (place := text.find(literal, at, max(at, end))) < 0:
                return None
            values.append(text[at:place])
            at = place + len(literal)
        return [*values, text[at:end]] if at <= end else None

    def filled(self, values: list[str]) -> str:
        """The Japanese with these values, which are in the order of the English."""
        by_place = dict(zip(_PLACE.findall(self.english), values, strict=True))
        return _PLACE.sub(lambda place: by_place[place[1]], self.japanese)


@cache
def message_templates() -> tuple[MessagesTemplate, ...]:
    """All messages that have a Japanese form."""
    japanese: dict[str, str] = {}
    for file in sorted(MESSAGES_FOLDER.glob("*.toml")):
        japanese |= read_toml(file)
    return tuple(MessagesTemplate(en, ja, tuple(_PLACE.split(en)[::2])) for en, ja in japanese.items())


def translate(language: Language, message: str) -> str:
    """A message of the program in this language; anything else stays as it is."""
    return message if language == "en" or len(message) > MAX_LENGTH else _translated(message, 0)


@lru_cache(maxsize=1024)
def _translated(text: str, depth: int) -> str:
    if (whole := _translated_whole(text, depth)) is not None:
        return whole
    return _translated_parts(text, depth) if depth < MAX_DEPTH else text


def _translated_whole(text: str, depth: int) -> str | None:
    """By the most specific template that fits all of it; None where none does."""
    fitting = (
        (template, values)
        for template in message_templates()
        if (values := template.values(text)) is not None
    )
    if (best := max(fitting, key=lambda fit: fit[0].weight, default=None)) is None:
        return None
    template, values = best
    return template.filled(
        [_translated(value, depth + 1) for value in values] if depth < MAX_DEPTH else values
    )


def _translated_parts(text: str, depth: int) -> str:
    """What stands behind the place (file, option) that a message begins with; else sentence by sentence."""
    where, colon, message = text.partition(": ")
    if colon and (whole := _translated_whole(message, depth + 1)) is not None:
        return f"{_translated(where, depth + 1)}：{whole}"
    sentences = _SENTENCE_END.split(text)
    if len(sentences) > 1:
        translated = [_translated(sentence, depth + 1) for sentence in sentences]
        return _joined(translated) if translated != sentences else text
    if not colon:
        return text
    where_ja, message_ja = _translated(where, depth + 1), _translated(message, depth + 1)
    return f"{where_ja}：{message_ja}" if (where_ja, message_ja) != (where, message) else text


def _joined(sentences: list[str]) -> str:
    """No space after a Japanese full stop."""
    *others, last = sentences
    return "".join(sentence if sentence.endswith("。") else f"{sentence} " for sentence in others) + last


class TranslatingStream:
    """A stream of the terminal whose lines are translated as they are written."""

    def __init__(self, stream: Any) -> None:
        """Everything else is the stream's own."""
        self._stream = stream

    def write(self, text: str) -> int:
        """Writes the lines, each in Japanese where it is a message; returns the length of `text`."""
        if not isinstance(text, str):  # libraries offer bytes to learn whether a stream takes text
            return int(self._stream.write(text))
        self._stream.write("".join(map(_translated_line, text.splitlines(keepends=True))))
        return len(text)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


def _translated_line(line: str) -> str:
    """The line with its indent and line break; JSON and coloured lines stay as they are."""
    body = line.rstrip("\r\n")
    end, message = line[len(body) :], body.strip()
    if not message or len(message) > MAX_LENGTH or message[0] in "{[\x1b":
        return line
    label = _ERROR_JA if message.startswith(_ERROR) else ""
    indent = body[: len(body) - len(body.lstrip())]
    return f"{indent}{label}{_translated(message.removeprefix(_ERROR), 0)}{end}"


class Words:
    """The words of one language: `words("score")`, `words("of", n="3", all="4")`.

    `names` holds titles from the run itself (personas); other ids are looked up in the file, and an
    id that has no title is shown as it is. `rows`: the report is on a single-turn data set.
    """

    def __init__(
        self, language: Language, names: Mapping[str, str] | None = None, *, rows: bool = False
    ) -> None:
        self.language, self.rows = language, rows
        self._texts = _report_texts(language, rows)
        self._names = names or {}

    def __call__(self, key: str, /, **values: object) -> str:
        """The text of a key, with its variables filled; an unknown key is a bug and raises KeyError."""
        return filled(self.language, self._texts[key], values)

    def name(self, group: str, name: str) -> str:
        """The title of an id in a group (persona, judge, ended, failure, rule, role, mark)."""
        bare, beside, model = name.partition("@")
        if beside and group == "judge":
            return f"{self.name(group, bare)} ({safe_text(model)})"
        output, dot, judge = name.rpartition(".")
        if dot and output and group == "judge":  # of one output of an answer
            return f"{safe_text(output)}: {self.name(group, judge)}"
        key = f"{group}.{canonical_judge(name) if group == 'judge' else name}"
        return safe_text(self._names.get(key) or self._texts.get(key) or name)


def words_of(summary: "Summary", language: Language) -> Words:
    """The words of a language, with the run's own names of its personas."""
    names = {f"persona.{p.persona}": p.names.get(language, "") for p in summary.personas}
    return Words(language, names, rows=summary.rows)


@lru_cache(maxsize=4)
def _report_texts(language: Language, rows: bool) -> dict[str, str]:
    """All texts of reports.toml, those of a table as `table.key`; with `rows`, those of rows.toml instead."""
    texts: dict[str, str] = {}
    for table, entries in tomllib.loads(REPORTS_FILE.read_text(encoding="utf-8")).items():
        prefix = "" if table == "page" else f"{table}."
        texts |= {f"{prefix}{key}": pair[language] for key, pair in entries.items()}
        if rows:
            texts |= {f"{prefix}{key}": text for key, text in row_texts(table, language).items()}
    return texts


class TextLookup(Protocol):
    """A text of one language by its key, its variables filled."""

    def __call__(self, key: str, /, **values: object) -> str:
        """The text."""
        ...


def text_lookup(texts: Texts, table: str, language: Language, *, rows: bool) -> TextLookup:
    """The texts of one language; with `rows`, those of a table of rows.toml before all others."""
    return partial(_row_text, texts, table, language) if rows else partial(texts, language)


def _row_text(texts: Texts, table: str, language: Language, key: str, /, **values: object) -> str:
    own = row_texts(table, language).get(key)
    if own is None:
        return texts(language, key, **values)
    return filled(language, own, values)


@cache
def row_texts(table: str, language: Language) -> dict[str, str]:
    """The texts of a table of rows.toml, by key; empty where it has no such table."""
    tables = tomllib.loads(ROWS_FILE.read_text(encoding="utf-8"))
    return {key: pair[language] for key, pair in tables.get(table, {}).items()}


def points(value: float | None, *, against: float | None = None) -> str:
    """A value 0..1 on the scale to 100, without decimals; "–" for None.

    Decimals are shown only where rounding would put the value on the other side of `against`.
    """
    if value is None:
        return "–"
    below = against is not None and value < against - 1e-9
    for places in range(4):
        text = f"{math.floor(value * 100 * 10**places + 0.5 + 1e-9) / 10**places:.{places}f}"
        if against is None or (float(text) < against * 100 - 1e-7) == below:
            break
    return text


def target_points(target: float) -> str:
    """A target on the scale to 100, exactly as it was set."""
    return f"{100 * target:.6g}"
