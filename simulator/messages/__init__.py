"""What the program says itself, in Japanese for whoever reads Japanese.

Messages are written in English where they arise, and translated at the one place where they leave: the
streams of the terminal, and the tables of a report. The files beside this one hold them as templates, `{1}`
where a value stands; a value that is a message itself is translated, too. What no template fits, such as
the words of a bot, a file or another program, stays as it is.
"""

import re
from collections.abc import Mapping
from functools import cache, lru_cache
from pathlib import Path
from typing import Any, NamedTuple

from simulator.prompts import read_toml
from simulator.types import Language

FOLDER = Path(__file__).parent
# Messages within messages: deeper than this nothing of ours is nested.
DEEPEST = 6
# Characters of a line that may be a message; reports and JSON are longer.
LONGEST = 4000

_PLACE = re.compile(r"\{(\d)\}")
_SENTENCES = re.compile(r"(?<=[.?!]) +(?=\S)")
_ERROR, _ERROR_JA = "error: ", "エラー："


class Template(NamedTuple):
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


def _filled(template: Template, values: list[str]) -> str:
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
def templates() -> tuple[Template, ...]:
    """All messages that have a Japanese form."""
    found: dict[str, str] = {}
    for file in sorted(FOLDER.glob("*.toml")):
        found |= read_toml(file)
    return tuple(Template(en, ja, tuple(_PLACE.split(en)[::2])) for en, ja in found.items())


class Translating:
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
