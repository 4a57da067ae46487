"""The help page in Japanese: the layout of the English one, its texts from a catalogue, lines cut by width.

Help is written in English where options are declared; `simulator/messages/help/ja.toml` holds the Japanese
of every paragraph and every option. A full-width character takes two cells, and text without spaces may be
broken nearly anywhere, neither of which the library of the command line knows.
"""

import re
from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any

from typer.core import TyperCommand

from simulator.core.document import wrap
from simulator.core.templates import read_toml
from simulator.core.translations import FOLDER

# Before a paragraph: its lines are kept as they are.
_KEPT = "\b\n"
# What the command line itself says of an option, behind its help: `[default: 3]  [1<=x<=10]`.
_REMARKS = re.compile(r"(?:\s*\[(?:default: |required|x>=|[\d.]+<=x)[^]]*\])+$")
_DEFAULT, _LEAST, _RANGE = re.compile("default: (.+)"), re.compile("x>=(.+)"), re.compile("(.+)<=x<=(.+)")
_Page: Any = TyperCommand.context_class.formatter_class


@cache
def catalogue() -> dict[str, str]:
    """English to Japanese."""
    return read_toml(FOLDER / "help" / "ja.toml")


class JapanesePage(_Page):  # type: ignore[misc]
    """Writes a help page; where a text has no Japanese form, it stays English."""

    def write_usage(self, prog: str, args: str = "", prefix: str | None = None) -> None:
        """How the command is called."""
        super().write_usage(prog, " ".join(map(in_japanese, args.split())), prefix or "使い方：")

    def write_heading(self, heading: str) -> None:
        """The title of a list."""
        self.write(f"{in_japanese(heading)}：\n")

    def write_text(self, text: str) -> None:
        """Paragraphs, below the usage and at the end."""
        width = self.width - self.current_indent
        super().write_text("\n\n".join(_lines(paragraph, width) for paragraph in text.split("\n\n")))

    def write_dl(self, rows: Sequence[tuple[str, str]], col_max: int = 30, col_spacing: int = 2) -> None:
        """Names, and what each means beside it."""
        names = min(max(len(name) for name, _ in rows), col_max) + col_spacing
        width = self.width - names - self.current_indent
        super().write_dl([(name, _lines(text, width)) for name, text in rows], col_max, col_spacing)


def in_japanese(english: str) -> str:
    """A paragraph, title or help of an option, with what follows it in square brackets."""
    remarks = _REMARKS.search(english)
    text = english[: remarks.start()] if remarks else english
    said = catalogue().get(text, text)
    return f"{said}（{'、'.join(_remarks(remarks[0]))}）" if remarks else said


def _remarks(brackets: str) -> Iterator[str]:
    for remark in re.split(r"\]\s*\[|; ", brackets.strip().removeprefix("[").removesuffix("]")):
        if default := _DEFAULT.fullmatch(remark):
            said = catalogue().get(default[1])
            yield f"既定は{said}" if said else f"既定は {default[1]}"
        elif between := _RANGE.fullmatch(remark):
            yield f"{between[1]}〜{between[2]}"
        elif least := _LEAST.fullmatch(remark):
            yield f"{least[1]}以上"
        else:
            yield {"required": "必須"}.get(remark, remark)


def _lines(paragraph: str, width: int) -> str:
    """The paragraph in lines that fit, marked so that they are kept."""
    if paragraph.startswith(_KEPT):
        lines = [in_japanese(line) for line in paragraph.removeprefix(_KEPT).splitlines()]
    else:
        lines = wrap(in_japanese(" ".join(paragraph.split("\n"))), width, by_phrase=True)
    return _KEPT + "\n".join(lines)
