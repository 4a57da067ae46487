"""What the program says itself, in Japanese for whoever reads Japanese.

Messages are written in English where they arise, and translated at the one place where they leave: the
streams of the terminal, and the tables of a report. The files in messages/ hold them as templates, `{1}`
where a value stands; a value that is a message itself is translated, too. What no template fits, such as
the words of a bot, a file or another program, stays as it is.
"""

import math
import re
import tomllib
from collections.abc import Mapping
from functools import cache, lru_cache, partial
from pathlib import Path
from string import Template
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from simulator.core.shelves import our_name
from simulator.core.templates import Texts, one, read_toml
from simulator.core.types import Language

FOLDER = Path(__file__).with_name("messages")
# Messages within messages: deeper than this nothing of ours is nested.
DEEPEST = 6
# Characters of a line that may be a message; reports and JSON are longer.
LONGEST = 4000

_PLACE = re.compile(r"\{(\d)\}")
_SENTENCES = re.compile(r"(?<=[.?!]) +(?=\S)")
_ERROR, _ERROR_JA = "error: ", "エラー："


class MessagesTemplate(NamedTuple):
    """An English message and its Japanese; `literals` stand before, between and behind the values."""

    english: str
    japanese: str
    literals: tuple[str, ...]

    @property
    def weight(self) -> int:
        """How much of it is fixed."""
        return sum(map(len, self.literals))

    def values(self, text: str) -> list[str] | None:
        """What stands in its places, each as short as can be; None where it does not fit all of the text."""
        first, *others = self.literals
        if not others:
            return [] if text == first else None
        *between, last = others
        at, end = len(first), len(text) - len(last)
        if not text.startswith(first) or not text.endswith(last):
            return None
        found: list[str] = []
        for literal in between:
            if (place := text.find(literal, at, max(at, end))) < 0:
                return None
            found.append(text[at:place])
            at = place + len(literal)
        return [*found, text[at:end]] if at <= end else None


def language_of(environment: Mapping[str, str]) -> Language:
    """The language of the terminal, as every other program finds it: Japanese in a Japanese locale."""
    named = (environment.get(name) for name in ("LC_ALL", "LC_MESSAGES", "LANG"))
    return "ja" if (next(filter(None, named), "")).lower().startswith(("ja", "japanese")) else "en"


def told_in(language: Language, message: str) -> str:
    """A message of the program in this language; anything else stays as it is."""
    return message if language == "en" or len(message) > LONGEST else _said(message, 0)


@lru_cache(maxsize=1024)
def _said(text: str, depth: int) -> str:
    if (whole := _whole(text, depth)) is not None:
        return whole
    return _in_parts(text, depth) if depth < DEEPEST else text


def _whole(text: str, depth: int) -> str | None:
    """By the most specific template that fits all of it; None where none does."""
    fitting = ((each, values) for each in templates() if (values := each.values(text)) is not None)
    if (best := max(fitting, key=lambda found: found[0].weight, default=None)) is None:
        return None
    template, values = best
    return _filled(template, [_said(value, depth + 1) for value in values] if depth < DEEPEST else values)


def _filled(template: MessagesTemplate, values: list[str]) -> str:
    places = _PLACE.findall(template.english)
    by_place = dict(zip(places, values, strict=True))
    return _PLACE.sub(lambda place: by_place[place[1]], template.japanese)


def _in_parts(text: str, depth: int) -> str:
    """What stands behind the place (file, option) that a message begins with; else sentence by sentence."""
    where, colon, message = text.partition(": ")
    if colon and (whole := _whole(message, depth + 1)) is not None:
        return f"{_said(where, depth + 1)}：{whole}"
    pieces = _SENTENCES.split(text)
    if len(pieces) > 1:
        said = [_said(piece, depth + 1) for piece in pieces]
        return _joined(said) if said != pieces else text
    if not colon:
        return text
    said_there, said_then = _said(where, depth + 1), _said(message, depth + 1)
    return f"{said_there}：{said_then}" if (said_there, said_then) != (where, message) else text


def _joined(sentences: list[str]) -> str:
    """No space after a Japanese full stop."""
    return "".join(
        each if each.endswith("。") or at == len(sentences) - 1 else f"{each} "
        for at, each in enumerate(sentences)
    )


@cache
def templates() -> tuple[MessagesTemplate, ...]:
    """All messages that have a Japanese form."""
    found: dict[str, str] = {}
    for file in sorted(FOLDER.glob("*.toml")):
        found |= read_toml(file)
    return tuple(MessagesTemplate(en, ja, tuple(_PLACE.split(en)[::2])) for en, ja in found.items())


class TranslatingStream:
    """A stream of the terminal whose lines are translated as they are written."""

    def __init__(self, stream: Any) -> None:
        """Everything else is the stream's own."""
        self._stream = stream

    def write(self, text: str) -> int:
        """Writes the lines, each in Japanese where it is a message."""
        if not isinstance(text, str):  # libraries offer bytes to learn whether a stream takes text
            return int(self._stream.write(text))
        self._stream.write("".join(map(_line, text.splitlines(keepends=True))))
        return len(text)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


def _line(line: str) -> str:
    said = line.rstrip("\r\n")
    end, core = line[len(said) :], said.strip()
    if not core or len(core) > LONGEST or core[0] in "{[\x1b":
        return line
    is_error = core.startswith(_ERROR)
    told = _said(core.removeprefix(_ERROR), 0)
    indent = said[: len(said) - len(said.lstrip())]
    return f"{indent}{_ERROR_JA if is_error else ''}{told}{end}"


def points(value: float | None, *, against: float | None = None) -> str:
    """A value 0..1 on the scale to 100; decimals only where it would else be beyond `against`."""
    if value is None:
        return "–"
    below = against is not None and value < against - 1e-9
    for places in range(4):
        text = f"{math.floor(value * 100 * 10**places + 0.5 + 1e-9) / 10**places:.{places}f}"
        if against is None or (float(text) < against * 100 - 1e-7) == below:
            break
    return text


def goal(target: float) -> str:
    """A target on the scale to 100, exactly as it was set."""
    return f"{100 * target:.6g}"


FILE = Path(__file__).with_name("rows.toml")


class Say(Protocol):
    """A text of one language by its key, its variables filled."""

    def __call__(self, key: str, /, **values: str) -> str:
        """The text."""
        ...


@cache
def instead(table: str, language: Language) -> dict[str, str]:
    """The texts of a table that stand for others where rows are told of, by their keys."""
    found = tomllib.loads(FILE.read_text(encoding="utf-8"))
    return {key: pair[language] for key, pair in found.get(table, {}).items()}


def saying(texts: Texts, table: str, language: Language, *, rows: bool) -> Say:
    """The texts of one language, those of a table of rows.toml before all others where rows are told of."""
    return partial(_row_words_said, texts, table, language) if rows else partial(texts, language)


def _row_words_said(texts: Texts, table: str, language: Language, key: str, /, **values: str) -> str:
    own = instead(table, language).get(key)
    if own is None:
        return texts(language, key, **values)
    return Template(one(own, values) if language == "en" else own).substitute(values)


if TYPE_CHECKING:
    from simulator.stats.figures import Summary

WORDS_FILE = Path(__file__).with_name("reports.toml")

# A whole terminal sequence goes, not only its escape: "\x1b[31m" must not leave "[31m" behind.
# Then controls (but line break and tab), and marks that reverse the direction of what follows.
_SEQUENCES = r"(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]|\x1b[\]PX^_][^\x07\x1b]*(?:\x07|\x1b\\)?|\x1b[ -/]*[0-~]?"
_CONTROLS = r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff]"
_UNSAFE = re.compile(f"{_SEQUENCES}|{_CONTROLS}")
_LONE = re.compile("[\ud800-\udfff]")


def plain(text: str) -> str:
    """The text without control codes; half a surrogate pair becomes the replacement character."""
    text = text.replace("\r\n", "\n")
    if _UNSAFE.search(text):
        text = _UNSAFE.sub("", text)
    return _LONE.sub("\ufffd", text)


class Words:
    """The words of one language: `words("score")`, `words("of", n="3", all="4")`.

    `names` holds titles from the run itself (personas); other ids are looked up in the file, and an
    id that nobody has named is shown as it is. `rows`: the report is on a single-turn data set.
    """

    def __init__(
        self, language: Language, names: Mapping[str, str] | None = None, *, rows: bool = False
    ) -> None:
        self.language, self.rows = language, rows
        self._texts = _texts(language, rows)
        self._names = names or {}

    def __call__(self, key: str, /, **values: object) -> str:
        """The text of a key, with its variables filled; an unknown key is a bug and raises."""
        shown = {name: f"{v:,}" if isinstance(v, int) else str(v) for name, v in values.items()}
        text = self._texts[key]
        return Template(one(text, shown) if self.language == "en" else text).substitute(shown)

    def name(self, group: str, name: str) -> str:
        """The title of an id in a group (persona, judge, ended, failure, rule, role, mark)."""
        bare, beside, model = name.partition("@")
        if beside and group == "judge":
            return f"{self.name(group, bare)} ({plain(model)})"
        output, dot, judge = name.rpartition(".")
        if dot and output and group == "judge":  # of one output of an answer
            return f"{plain(output)}: {self.name(group, judge)}"
        known = f"{group}.{our_name(name) if group == 'judge' else name}"
        return plain(self._names.get(known) or self._texts.get(known) or name)


def words_of(summary: "Summary", language: Language) -> Words:
    """The words of a language, with the run's own names of its personas."""
    names = {f"persona.{p.persona}": p.names.get(language, "") for p in summary.personas}
    return Words(language, names, rows=summary.rows)


@lru_cache(maxsize=4)
def _texts(language: Language, rows: bool) -> dict[str, str]:
    """All texts of a language; those of a table are filed under `table.key`. Of rows, their own where any."""
    texts: dict[str, str] = {}
    for table, entries in tomllib.loads(WORDS_FILE.read_text(encoding="utf-8")).items():
        prefix = "" if table == "page" else f"{table}."
        texts |= {f"{prefix}{key}": pair[language] for key, pair in entries.items()}
        if rows:
            texts |= {f"{prefix}{key}": text for key, text in instead(table, language).items()}
    return texts
